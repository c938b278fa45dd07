"""`spectral-latent train`: what is written, what is told, and what is left out."""

import logging
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spectral_latent import dependency
from spectral_latent.cli.train import TRAIN
from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.dependency import DependencyModel
from spectral_latent.sequence import LatentTagger
from tests.cli.conftest import ROW, Run


def test_weights_of_sources_and_symbols_seen_once(run: Run, treebank: Path, tmp_path: Path) -> None:
    """A weight of two is as the source twice."""
    more = tmp_path / "more.mrg"
    more.write_text("(S (X (FW etc)) (VP (VBZ falls)) (. .))")
    command = ("train", "constituency", treebank, more)
    spectral = ["--estimator", "spectral", "--n-states", "2"]
    weights = ["--weight", "1", "--weight", "2", "--weight", "0"]
    result = run(*command, treebank, "-o", tmp_path / "a", *spectral, *weights)
    assert result.exit_code == 0, result.output
    run(*command, more, "-o", tmp_path / "b", *spectral)
    arrays = [ConstituencyModel.load(tmp_path / name).members[0].operators.packed.data for name in "ab"]
    np.testing.assert_allclose(*arrays, rtol=2e-3, atol=1e-4)
    assert run("parse", tmp_path / "a", stdin="etc falls .").stdout == "(S (X (FW etc)) (VP (VBZ falls)) (. .))\n"


def test_presets_have_their_options_and_told_steps(run: Run, treebank: Path, files: Path, tmp_path: Path) -> None:
    """`fast` is the default, and may have other states."""
    for name, extra in (("default", []), ("named", ["--preset", "fast"]), ("few", ["--n-states", "3"])):
        assert run("train", "constituency", treebank, "-o", tmp_path / name, *extra).exit_code == 0
    default, named, few = (ConstituencyModel.load(tmp_path / name) for name in ("default", "named", "few"))
    assert default.fingerprint == named.fingerprint
    (fast,) = preset("fast")
    assert default.members[0].options == fast
    assert few.members[0].options == replace(fast, estimator=fast.estimator.with_settings(n_states=3))
    result = run("train", "constituency", treebank, "-o", tmp_path / "best", "--preset", "best", "--seed", "4")
    told = result.stderr.splitlines()
    assert [line for line in told if line.startswith("folds")] == [f"folds {n}/4" for n in (1, 2, 3, 4)]
    # Each tree has an outer bracket and a trace; folds clean the trees again, which is not counted.
    assert [line.split(maxsplit=1) for line in told].count(["18", "top brackets removed"]) == 1
    options = [member.options for member in ConstituencyModel.load(tmp_path / "best").members]
    assert [each.estimator.states.seed for each in options] == [4] * 6
    assert len({each.binarisation for each in options}) == 6
    accurate = ("-o", tmp_path / "accurate", "--preset", "accurate", "--seed", "4")
    assert run("train", "dependency", files / "gold.conllu", *accurate, "-q").exit_code == 0
    seeds = [member.options.estimator.states.seed for member in DependencyModel.load(tmp_path / "accurate").members]
    assert seeds == [4 + each.estimator.states.seed for each in dependency.preset("accurate")] != [4] * len(seeds)


def test_text_is_parsed_and_learnt_from(run: Run, treebank: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.tok"
    text.write_text("They see it .\n\nThey see sheep .\n")
    plain, taught = tmp_path / "plain", tmp_path / "taught"
    assert run("train", "constituency", treebank, "-o", plain).exit_code == 0
    told = run("train", "constituency", treebank, "-o", taught, "--text", text)
    assert told.exit_code == 0 and "2/2\n" in told.stderr and "Warning" not in told.stderr
    silver = tmp_path / "silver.mrg"
    silver.write_text(run("parse", plain, text).stdout)
    by_hand = tmp_path / "by_hand"
    weights = ("--weight", "1", "--weight", "0.25")
    assert run("train", "constituency", treebank, silver, "-o", by_hand, *weights).exit_code == 0
    fingerprints = [ConstituencyModel.load(model).fingerprint for model in (taught, by_hand)]
    assert fingerprints[0] == fingerprints[1]
    assert "sheep" in ConstituencyModel.load(taught).members[0].lexicon.words
    raw = tmp_path / "raw.txt"
    raw.write_text("They see it .\nThey didn't see it.\nThey see dogs, sheep.\n")
    warned = run("train", "constituency", treebank, "-o", tmp_path / "of_raw", "--text", raw).stderr
    assert warned.count("Warning: sentence 2 ") == warned.count("Warning") == 1


@pytest.mark.parametrize("kind", TRAIN)
def test_the_help_says_what_is_learnt_from_words_alone(run: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "some.tok").write_text("They see it .\nThe dogs left .\n" * 6)
    trained = run("train", kind, tmp_path / "some.tok", "-o", tmp_path / "model", "-q")
    assert ("*.tok" in run("train", kind, "--help").stdout) == (trained.exit_code == 0)


def test_the_end_tells_what_was_made_and_a_quiet_command_nothing(run: Run, treebank: Path, tmp_path: Path) -> None:
    command = ("train", "constituency", treebank, "-o", tmp_path / "model", "--n-states", "2")
    log = logging.getLogger("spectral_latent")
    before = log.level
    quiet = run(*command, "-q")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    for extra in ([], ["--n-states", "none"]):
        assert run("train", "constituency", tmp_path / "missing", "-o", tmp_path / "new", "-q", *extra).exit_code
        assert log.level == before
    result = run(*command, "--dev", treebank)
    assert "100.00" in result.stdout and "18 trees" in result.stderr
    assert f", {(tmp_path / 'model').stat().st_size / 1e6:.3f} MB" in result.stderr
    following = result.stderr.splitlines()[-1]
    assert following == f'Next: echo "The cat sat on the mat ." | spectral-latent parse {tmp_path / "model"}'


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
    assert trained.exit_code == 0 and "from 10 trees" in trained.stderr
    assert re.search(r"some\.mrg, line 2; .*some\.mrg, line 8", trained.stderr)
    for command in (("evaluate", tmp_path / "model"), ("score", tmp_path / "model")):
        assert run(*command, source).exit_code == 1
        left = run(*command, source, "--skip-bad")
        assert left.exit_code == 0 and "2  trees that cannot be read left out" in left.stderr, left.stderr
    assert len(run("score", tmp_path / "model", source, "--skip-bad").stdout.splitlines()) == 10


DOGS = ROW.format(1, "Dogs", "NOUN", "NNS", "_", "_") + ROW.format(2, "bark", "VERB", "VBP", "_", "_") + "\n"


@pytest.mark.parametrize(
    ("removed", "options", "column", "tags", "gaps"),
    [
        ([], [], "upos", "NOUN VERB", 0),
        ([], ["--column", "xpos"], "xpos", "NNS VBP", 0),
        (["NNS"], ["--column", "xpos"], "xpos", "NOUN VBP", 1),
        (["NOUN"], [], "upos", "NNS VERB", 1),
        (["NOUN", "NNS"], [], "upos", "X VERB", 1),
    ],
)
def test_columns_of_tags(
    run: Run, tmp_path: Path, removed: list[str], options: list[str], column: str, tags: str, gaps: int
) -> None:
    """The column is kept in the model; a word without a tag there gets that of the other column, or X."""
    text = DOGS
    for tag in removed:
        text = text.replace(tag, "_")
    (tmp_path / "a.conllu").write_text(text)
    result = run("train", "tagger", tmp_path / "a.conllu", "-o", tmp_path / "model", *options)
    model = LatentTagger.load(tmp_path / "model")
    assert (model.tags, model.tagset) == (tags.split(), column)
    assert result.stderr.count("1 of 2") == gaps
