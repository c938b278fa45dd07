"""The pages that are notebooks run on a fresh installation, and their statements are true."""

import contextlib
import io
import runpy
from typing import Any

import pytest
from matplotlib import pyplot

from spectral_latent.evaluation import many_to_one
from tests.documents import ROOT


def run(name: str) -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / f"docs/tutorial_{name}.py"))


def test_an_english_parser() -> None:
    ran = run("english")
    one, other = ran["readings"]
    assert one.tree != other.tree and 0.3 < max(ran["readings"].shares) < 0.7
    posterior = {part.label: p for part, p in ran["posteriors"] if (part.first, part.end) == (2, 7)}
    assert 0.3 < posterior["NP"] < 0.7  # the man with the telescope
    assert {"was", "were"} < {word for word, _ in max(ran["states"], key=lambda state: state.share).words}


def test_a_garden_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    ran = run("surprisal")
    ended = {name: found.total[-2] for name, found in ran["found"].items()}
    assert ended["garden path"] > ended["with a comma"] + 2
    assert ran["surprisal"].seen.tolist() == [word != "zorblatt" for word in ran["odd"]]
    pyplot.close("all")


def test_hidden_markov_models() -> None:
    ran = run("sequences")
    perplexity = ran["perplexity"]
    assert perplexity["truth"] < perplexity["moments-em"] <= perplexity["em"] * 1.02 < perplexity["truth"] * 1.04
    assert next(iter(ran["following"])) == 1


def test_uses_of_sequence_models() -> None:
    ran = run("logs")
    assert ran["precision"] > 0.9
    assert next(iter(ran["following"])) == "GET /item/# 200"
    # Words that one tag of the treebank shares often share a state.
    gold = [tag for row in ran["tagged"] for _, tag in row]
    found = [state for row in ran["states"] for state in row]
    assert many_to_one(gold, found) > 60.0
    assert ran["picture"].count("->") >= 4
