"""The pages that are notebooks run on a fresh installation, and their statements are true."""

import contextlib
import io
import runpy
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from spectral_latent.evaluation import many_to_one
from tests.documents import ROOT


@cache
def run(name: str) -> dict[str, Any]:
    """Run a page, and return its names, with what it prints as `printed`."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        return runpy.run_path(str(ROOT / f"docs/{name}.py")) | {"printed": printed.getvalue()}


@pytest.fixture(autouse=True)
def in_docs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Draw on no screen, and let pages import each other."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.syspath_prepend(ROOT / "docs")
    yield
    from matplotlib import pyplot  # not at the head of the module, because every process that collects tests imports it

    pyplot.close("all")


def test_an_english_parser() -> None:
    ran = run("tutorial_english")
    one, other = ran["readings"]
    assert one.tree != other.tree and max(ran["readings"].shares) < 0.9
    assert ran["readings"]._repr_html_().count("<svg") == 2
    posterior = {part.label: p for part, p in ran["posteriors"] if (part.first, part.end) == (2, 7)}
    assert 0.1 < posterior["NP"] < 0.9  # the man with the telescope
    assert [bar.get_width() for bar in ran["bars"]] == [p for _, p in ran["posteriors"]]
    assert {"was", "were"} < {word for word, _ in max(ran["states"], key=lambda state: state.share).words}


def test_a_garden_path() -> None:
    ran = run("tutorial_surprisal")
    ended = {name: found.total[-2] for name, found in ran["found"].items()}
    assert ended["garden path"] > ended["with a comma"] + 2
    assert ran["surprisal"].seen.tolist() == [word != "zorblatt" for word in ran["odd"]]


@pytest.mark.slow
def test_hidden_markov_models() -> None:
    ran = run("tutorial_sequences")
    perplexity = ran["perplexity"]
    assert perplexity["truth"] < perplexity["moments-em"] <= perplexity["em"] * 1.02 < perplexity["truth"] * 1.04
    assert next(iter(ran["following"])) == 1


@pytest.mark.slow
def test_uses_of_sequence_models() -> None:
    ran = run("tutorial_logs")
    assert ran["precision"] > 0.9
    assert next(iter(ran["following"])) == "GET /item/# 200"
    # Words that one tag of the treebank shares often share a state.
    gold = [tag for row in ran["tagged"] for _, tag in row]
    found = [state for row in ran["states"] for state in row]
    assert many_to_one(gold, found) > 60.0


def test_the_course_of_coins() -> None:
    ran = run("course_1_coins")
    truth = np.sort(ran["heads"])
    assert ran["found"].value == pytest.approx(truth, abs=0.04)
    assert ((ran["low"] <= truth + 0.01) & (truth - 0.01 <= ran["high"])).all()
    assert ran["four_heads"] == pytest.approx(ran["share"] @ ran["heads"] ** 4, abs=0.01)


def test_the_course_of_chains() -> None:
    ran = run("course_2_chain")
    assert ran["distance"] < 0.1
    assert ran["found"] == pytest.approx(ran["expected"], abs=0.03)


def test_the_course_of_trees() -> None:
    ran = run("course_3_tree")
    right, wrong = ran["spectra"].values()
    assert wrong[3] > 5 * right[2]
    assert np.abs(ran["estimate"] - ran["p"]).sum() < np.abs(ran["counts"] - ran["p"]).sum()


@pytest.mark.slow
def test_the_course_of_grammars() -> None:
    page = run("course_4_grammar")
    hidden = {a for a, values in page["sigma"].items() if len(values) > 1 and values[1] > 0.1}
    assert hidden == {"P", "PP"} and page["accuracy"]["spectral"] > max(page["accuracy"]["plain"] + 0.1, 0.8)


@pytest.mark.slow
def test_models_with_states_come_close_to_the_truth() -> None:
    ran = run("tutorial_trees")
    log, right = ran["mean_log"], ran["right"]
    assert ran["positive"].mean() > 0.95
    for name in ("spectral", "clusters-em"):
        assert log["truth"] - log[name] < 0.15 * (log["truth"] - log["plain"])
        assert right[name] > right["truth"] - 0.03
    assert right["plain"] < 0.5 * right["truth"]
    assert "─╼ ancestor" in ran["printed"]


@pytest.mark.slow
def test_the_course_of_samples() -> None:
    ran = run("course_5_sample")
    names = [symbol.last for symbol in ran["prepared"].coarse.symbols]
    assert dict(zip(names, ran["ranks"].tolist(), strict=True)) == {name: 1 + (name in ("P", "PP")) for name in names}
    assert (np.diff(ran["model"].objective) > -1e-6).all()
