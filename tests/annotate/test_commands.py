"""The commands suggest, check, repair and annotate."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from spectral_latent import ConstituencyModel, load
from spectral_latent.corpora import constituency_trees, parse_brackets
from spectral_latent_annotate import check_trees
from spectral_latent_annotate._commands import main
from tests.cli.conftest import TREES, Run, runner


@pytest.fixture(scope="module")
def run() -> Run:
    return runner(main)


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("treebank") / "all.mrg"
    path.write_text("\n".join(TREES), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(treebank: Path) -> Path:
    path = treebank.parent / "model"
    ConstituencyModel.train(constituency_trees(treebank)).save(path)
    return path


def test_suggestions_have_the_posteriors_of_the_model_and_marks(run: Run, model: Path) -> None:
    text = "They see it .\nDogs with houses left the .\n"
    done = run("suggest", model, "--json", stdin=text)
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    posteriors = load(model).posteriors(rows[0]["words"])
    assert {(*part[:4],): part[4] for part in rows[0]["parts"]} == {
        tuple(part): pytest.approx(posteriors[part], abs=1e-4)
        for part in posteriors
        if [*part] in [each[:4] for each in rows[0]["parts"]]
    }
    marked = run("suggest", model, stdin=text).stdout.splitlines()
    files = [model.parent / name for name in ("a.txt", "b.txt")]
    for file, line in zip(files, text.splitlines(), strict=True):
        file.write_text(line, encoding="utf-8")
    assert run("suggest", model, *files).stdout.splitlines() == marked
    several = [json.loads(line) for line in run("suggest", model, *files, "--json").stdout.splitlines()]
    assert [row["number"] for row in several] == ["a.txt:1", "b.txt:1"]
    assert run("suggest", model, stdin="").stdout == "" != run("suggest", model, stdin="").stderr
    for row, line in zip(rows, marked, strict=True):
        assert line.replace("?", "") == row["tree"]
        certain = [part for part in row["parts"] if part[4] >= 0.9]
        assert len(re.findall(r"\([^\s?]+ ", line)) >= len(certain) > 0
    ranked = [json.loads(line) for line in run("suggest", model, "--json", "--rank", stdin=text).stdout.splitlines()]
    assert [row["expected_errors"] for row in ranked] == sorted((row["expected_errors"] for row in rows), reverse=True)


def test_doubts_are_listed_with_their_words(run: Run, treebank: Path, tmp_path: Path) -> None:
    trees = treebank.read_text(encoding="utf-8").splitlines() * 4
    wrong = trees[0].replace("(VBP see)", "(NN see)")
    (tmp_path / "all.mrg").write_text("\n".join([*trees, wrong]), encoding="utf-8")
    done = run("check", tmp_path / "all.mrg", "--first", "3")
    assert done.exit_code == 0, done.output
    header, *rows = (line.split("\t") for line in done.stdout.splitlines())
    doubts = check_trees(constituency_trees(tmp_path / "all.mrg"))
    assert len(rows) == min(3, len(doubts))
    assert len(header) == len(rows[0]) == 8
    assert [str(len(trees) + 1), "NN", "see"] in [[row[0], row[2], row[7]] for row in rows]


def test_broken_strings_are_mended(run: Run, model: Path) -> None:
    lines = "They see it .\t(S (NP They (VP see (NP it\nDogs left it .\t)(\n"
    done = run("repair", model, stdin=lines)
    assert done.exit_code == 0, done.output
    mended = list(parse_brackets(done.stdout))
    assert [list(tree.words()) for tree in mended] == [["They", "see", "it", "."], ["Dogs", "left", "it", "."]]
    for broken in ("They see it .\n", "\t(S)\n"):
        refused = run("repair", model, stdin="They see .\t(S\n" + broken)
        assert refused.exit_code == 1 and "line 2" in refused.output


def test_formats_and_outputs_are_those_of_all_commands(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    told = run("suggest", model, treebank)
    assert told.exit_code == 0 and len(told.stdout.splitlines()) == len(TREES) and "not used" in told.stderr
    kept = model.read_bytes()
    (tmp_path / "text").write_text("They see it .\n", encoding="utf-8")
    refused = run("suggest", model, tmp_path / "text", "-o", model)
    assert refused.exit_code == 1 and "name another output" in refused.output and model.read_bytes() == kept
    assert run("suggest", model, tmp_path / "text", "-o", tmp_path / "out").exit_code == 0
    (tree,) = parse_brackets((tmp_path / "out").read_text(encoding="utf-8"))
    assert list(tree.words()) == ["They", "see", "it", "."]
    assert len(run("suggest", model, "--text", stdin="They see it. They left.").stdout.splitlines()) == 2
    assert run("repair", tmp_path / "absent", tmp_path / "text").exit_code == 1
    refused = run("suggest", model, tmp_path / "text", "--rank", "errors")
    assert refused.exit_code == 2 and "takes no value" in refused.output


def _annotate(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    run = "from spectral_latent_annotate._commands import main; main(prog_name='spectral-latent-annotate')"
    command = [sys.executable, "-c", run, "annotate", "trees.mrg", "text.txt", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes)


def test_the_page_is_served_until_it_is_ended_and_nothing_is_lost(treebank: Path, tmp_path: Path) -> None:
    pytest.importorskip("flask")
    (tmp_path / "trees.mrg").write_text(treebank.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "text.txt").write_text("They see it .\nThey left .\n", encoding="utf-8")
    first = _annotate(tmp_path, "--port", "0", "--order", "surest")
    assert first.stdout is not None
    address, _, token = first.stdout.readline().split()[0].partition("?token=")
    second = _annotate(tmp_path, "--port", "0")
    _, told = second.communicate()
    assert second.returncode == 1 and "another process" in told and "Traceback" not in told
    with urllib.request.urlopen(f"{address}api/next?token={token}") as answer:
        number = json.load(answer)["number"]
    with urllib.request.urlopen(f"{address}api/sentences/{number}?token={token}") as answer:
        tree = json.load(answer)["tree"]
    body = json.dumps({"tree": tree}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{address}api/sentences/{number}", body, headers)
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["done"] == 19
    first.send_signal(signal.SIGKILL)
    _, told = first.communicate()
    assert "never seen" not in told
    assert len(list(constituency_trees(tmp_path / "trees.mrg"))) == 19
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits it if we were told to ignore it
    again = _annotate(tmp_path, "--port", "0")
    signal.signal(signal.SIGINT, ours)
    assert again.stdout is not None and again.stdout.readline().startswith("http://127.0.0.1:")
    again.send_signal(signal.SIGINT)
    again.communicate()
    assert again.returncode in (0, 130)
