"""`spectral-latent train`: what is written, and what is refused."""

import logging
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.corpora import read_brackets

Run = Callable[..., Any]


@pytest.mark.parametrize("text", ["(NN dog)", "(S (NN rain) (VBZ falls))", "( (S (NP (NN rain)) (VP (VBZ falls))) )"])
def test_one_tree(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "one.mrg").write_text(text)
    result = run("train", "constituency", tmp_path / "one.mrg", "-o", tmp_path / "model")
    assert result.exit_code == 0
    words = [token.rstrip(")") for token in text.split() if not token.startswith("(") and token.rstrip(")")]
    parsed = run("parse", tmp_path / "model", stdin=" ".join(words))
    assert parsed.stdout.strip() == text.removeprefix("( ").removesuffix(" )")


def test_a_symbol_seen_once(run: Run, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "once.mrg").write_text("(S (X (FW etc)) (VP (VBZ falls)) (. .))")
    result = run("train", "constituency", treebank, tmp_path / "once.mrg", "-o", tmp_path / "model", "-q")
    assert (result.exit_code, result.output) == (0, "")
    parsed = run("parse", tmp_path / "model", stdin="etc falls .")
    assert parsed.stdout == "(S (X (FW etc)) (VP (VBZ falls)) (. .))\n"


def test_settings(run: Run, treebank: Path, tmp_path: Path) -> None:
    for number, extra in enumerate((["--n-states", "2"], ["--n-states", "2", "--jobs", "2", "--seed", "7"])):
        result = run("train", "constituency", treebank, "-o", tmp_path / str(number), *extra)
        assert result.exit_code == 0
        assert "Training on 18 trees" in result.stderr
    models = [ConstituencyModel.load(tmp_path / name) for name in "01"]
    assert [model.options.estimator.states.n_states for model in models] == [2, 2]
    assert (models[0].members[0].operators.packed.data == models[1].members[0].operators.packed.data).all()


def test_a_source_of_weight_two_is_as_the_source_twice(run: Run, treebank: Path, tmp_path: Path) -> None:
    (tmp_path / "more.mrg").write_text("(S (X (FW etc)) (VP (VBZ falls)) (. .))")
    spectral = ["--estimator", "spectral", "--n-states", "2"]
    weights = ["--weight", "1", "--weight", "2", "--weight", "0"]
    more = tmp_path / "more.mrg"
    result = run("train", "constituency", treebank, more, treebank, "-o", tmp_path / "a", *spectral, *weights)
    assert result.exit_code == 0, result.output
    run("train", "constituency", treebank, more, more, "-o", tmp_path / "b", *spectral)
    arrays = [ConstituencyModel.load(tmp_path / name).members[0].operators.packed.data for name in "ab"]
    np.testing.assert_allclose(*arrays, rtol=2e-3, atol=1e-4)
    assert run("info", tmp_path / "a", treebank, more, treebank, "--verify").exit_code == 0


def test_a_corpus_of_nltk(run: Run, require_corpus: Callable[[str], Any], tmp_path: Path) -> None:
    require_corpus("treebank")
    result = run("train", "constituency", "nltk:treebank:dev", "-o", tmp_path / "model", "--n-states", "2")
    assert result.exit_code == 0, result.stderr


def test_warnings_are_one_line(run: Run, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def trees(source: str, changes: Any, *_: Any, **_settings: Any) -> Any:
        warnings.warn("something was mended", stacklevel=2)
        return read_brackets(source, changes)

    monkeypatch.setattr("spectral_latent.corpora.constituency_trees", trees)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("train", "constituency", treebank, "-o", tmp_path / "model")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: something was mended\nTraining on")


@pytest.mark.parametrize("preset", ["fast", "accurate"])
def test_changes_are_counted_once_and_printed(run: Run, treebank: Path, tmp_path: Path, preset: str) -> None:
    """Each tree has an outer bracket and a trace; folds of the preset accurate clean the trees again."""
    given = ("train", "constituency", treebank, "-o", tmp_path / "model", "--preset", preset)
    printed = [line.split(maxsplit=1) for line in run(*given).stderr.splitlines()]
    assert printed.count(["18", "top brackets removed"]) == printed.count(["18", "empty elements removed"]) == 1
    assert ["6", "function labels and indices cut from phrases"] in printed


def test_presets(run: Run, treebank: Path, tmp_path: Path) -> None:
    result = run("train", "constituency", treebank, "-o", tmp_path / "model", "--preset", "best", "--seed", "4")
    assert result.exit_code == 0, result.output
    assert "6 grammars, the first with " in result.stderr
    told = result.stderr.splitlines()
    assert [line for line in told if line.startswith("folds")] == [f"folds {n}/4" for n in (1, 2, 3, 4)]
    options = [member.options for member in ConstituencyModel.load(tmp_path / "model").members]
    assert [each.estimator.states.seed for each in options] == [4] * 6
    assert len({each.binarisation for each in options}) == 6
    for extra, message in (
        (["--estimator", "em"], "--preset includes"),
        (["--choose-states", str(treebank)], "--choose-states left"),
    ):
        refused = run("train", "constituency", treebank, "-o", tmp_path / "other", "--preset", "fast", *extra)
        assert refused.exit_code == 2 and message in refused.stderr


def test_text_is_parsed_and_learnt_from(run: Run, treebank: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.tok"
    text.write_text("They see it .\n\nThey see sheep .\n")
    plain, taught = tmp_path / "plain", tmp_path / "taught"
    assert run("train", "constituency", treebank, "-o", plain).exit_code == 0
    told = run("train", "constituency", treebank, "-o", taught, "--text", text)
    assert told.exit_code == 0 and "sentences without trees 2/2\n" in told.stderr and "Warning" not in told.stderr
    silver = tmp_path / "silver.mrg"
    silver.write_text(run("parse", plain, text).stdout)
    by_hand = tmp_path / "by_hand"
    weights = ("--weight", "1", "--weight", "0.25")
    assert run("train", "constituency", treebank, silver, "-o", by_hand, *weights).exit_code == 0
    fingerprints = [ConstituencyModel.load(model).fingerprint for model in (taught, by_hand)]
    assert fingerprints[0] == fingerprints[1]
    words = ConstituencyModel.load(taught).members[0].lexicon.words
    assert "sheep" in words and "sheep" not in ConstituencyModel.load(plain).members[0].lexicon.words
    raw = tmp_path / "raw.txt"
    raw.write_text("They see it .\nThey didn't see it.\nThey see dogs, sheep.\n")
    warned = run("train", "constituency", treebank, "-o", tmp_path / "of_raw", "--text", raw).stderr
    assert warned.count("Warning: sentence ") == 1
    assert "Warning: sentence 2 has no spaces between words and marks" in warned and "give --text" not in warned
    assert (
        run("train", "constituency", treebank, "-o", text, "--text", text).exit_code == 1
    )  # which would be overwritten


def test_the_preset_fast_is_the_default_and_may_have_other_states(run: Run, treebank: Path, tmp_path: Path) -> None:
    for name, extra in (("default", []), ("named", ["--preset", "fast"]), ("few", ["--n-states", "3"])):
        assert run("train", "constituency", treebank, "-o", tmp_path / name, *extra).exit_code == 0
    default, named = (ConstituencyModel.load(tmp_path / name) for name in ("default", "named"))
    assert default.fingerprint == named.fingerprint
    (fast,) = preset("fast")
    assert default.members[0].options == fast
    few = ConstituencyModel.load(tmp_path / "few").members[0].options
    assert few == replace(fast, estimator=fast.estimator.with_settings(n_states=3))


def test_a_quiet_command_leaves_the_log_as_it_was(run: Run, tmp_path: Path) -> None:
    log = logging.getLogger("spectral_latent")
    before = log.level
    run("train", "constituency", tmp_path / "missing", "-o", tmp_path / "model", "-q")
    assert log.level == before
    refused = run("train", "constituency", tmp_path / "missing", "-o", tmp_path / "model", "-q", "--n-states", "none")
    assert refused.exit_code == 2
    assert log.level == before


def test_the_end_tells_what_was_made_how_good_it_is_and_what_comes_next(
    run: Run, treebank: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    result = run("train", "constituency", treebank, "-o", model, "--n-states", "2", "--dev", treebank)
    assert result.exit_code == 0
    assert "f1 " in result.stdout and "100.00" in result.stdout
    *_, following = result.stderr.splitlines()
    assert f"{model}: 20 symbols of up to 1 state, 16 words, from 18 trees, " in result.stderr
    assert following == f'Next: echo "The cat sat on the mat ." | spectral-latent parse {model}'
    quiet = run("train", "constituency", treebank, "-o", model, "--n-states", "2", "-q")
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_trees_that_cannot_be_read_are_listed_or_left_out(run: Run, tmp_path: Path) -> None:
    lines = 12 * ["(S (NN dogs) (VB bark))"]
    lines[1] = "(S (NN dogs) (VB bark)"
    lines[7] = "(S (NN dogs) bark)"
    source = tmp_path / "some.mrg"
    source.write_text("\n".join(lines))
    refused = run("train", "constituency", source, "-o", tmp_path / "model")
    assert refused.exit_code == 1
    assert re.findall(r"some\.mrg, line (\d+): ", refused.stderr) == ["2", "8"]
    assert "--skip-bad" in refused.stderr.splitlines()[-1]
    trained = run("train", "constituency", source, "-o", tmp_path / "model", "--skip-bad")
    assert trained.exit_code == 0
    assert re.search(r"2  trees that cannot be read left out\n.*some\.mrg, line 2; .*some\.mrg, line 8", trained.stderr)
    assert "from 10 trees" in trained.stderr


@pytest.mark.parametrize("command", ["evaluate", "score", "train"])
def test_every_command_that_reads_trees_leaves_wrong_ones_out(
    run: Run, model: Path, tagger: Path, treebank: Path, tmp_path: Path, command: str
) -> None:
    right = treebank.read_text().strip()
    source = tmp_path / "some.mrg"
    source.write_text(f"{right}\n(S (NP (PRP They)) left)\n")
    before, after = {
        "evaluate": (["evaluate"], []),
        "score": (["score"], []),
        "train": (["train", "constituency", treebank, "-o", tmp_path / "new", "--dev"], []),
    }[command]
    models = [] if command == "train" else [model]
    if command != "train":
        assert run(*before, model, source, *after).exit_code == 1
    left = run(*before, *models, source, *after, "--skip-bad")
    assert left.exit_code == 0, left.stderr
    assert re.search(r"1  trees that cannot be read left out\n +the first: .*some\.mrg, line \d+\n", left.stderr)
    if command in ("score", "evaluate"):
        whole = run(*before, model, treebank, "-q", *(["--json"] if command == "score" else []))
        again = run(*before, model, source, "--skip-bad", "-q", *(["--json"] if command == "score" else []))
        drop = re.compile(r"sentences.per.second.*")
        assert drop.sub("", again.stdout) == drop.sub("", whole.stdout)
    if command == "evaluate":
        refused = run("evaluate", tagger, source, "--skip-bad")
        assert refused.exit_code and "--skip-bad is for a constituency parser" in refused.stderr


def test_the_reading_of_historical_trees_can_be_given(run: Run, tmp_path: Path) -> None:
    plain, marked = "(S (NP (NN dog)) (VP (VB go)))\n", "(S (NP-SBJ 0) (VP (VB go)))\n"
    (tmp_path / "late.mrg").write_text(400 * plain + marked)
    (tmp_path / "early.mrg").write_text("( (S (NP (NN dog)) (VP (VB go) (CODE here))) (ID X,1))\n" * 12)
    for form in ("historical", "penn"):
        for name in ("late", "early"):
            args = (tmp_path / f"{name}.mrg", "-o", tmp_path / f"{name}.{form}", "--format", form)
            assert run("train", "constituency", *args).exit_code == 0
    seen = {path.name: {*load(path).members[0].lexicon.words} for path in tmp_path.glob("*.[hp]*")}
    assert seen["late.historical"] == {"dog", "go"} and "0" in seen["late.penn"]
    assert seen["early.historical"] == {"dog", "go"} and "here" in seen["early.penn"]
    (tmp_path / "early.mrg").write_text(
        "( (S (NP (NN dog)) (VP (VB go))) (ID X,1))\n( (S (NP (NN dog)) go) (ID X,2))\n"
    )
    refused = run("train", "constituency", tmp_path / "early.mrg", "-o", tmp_path / "none")
    assert "--format penn" in refused.stderr
