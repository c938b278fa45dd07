"""Parsers of several grammars, whose arcs are averaged."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spectral_latent.dependency import Attachment, DependencyModel, DependencyOptions, DependencySentence, preset
from spectral_latent.estimation import EstimatorOptions
from tests.conformance.treebank import DEPENDENCIES

SMALL = DependencyOptions(estimator=EstimatorOptions("clusters-em", n_states=3, iterations=2))
SEVERAL = [SMALL, replace(SMALL, attachment=Attachment("left"))]
BARE = [tree.without_tree() for tree in DEPENDENCIES[:6]]


@pytest.fixture(scope="module")
def model() -> DependencyModel:
    return DependencyModel.train(DEPENDENCIES, SEVERAL)


def test_posteriors_and_probabilities_are_means_over_the_grammars(model: DependencyModel) -> None:
    alone = [DependencyModel((member,), model.relations) for member in model.members]
    for sentence in BARE:
        both = np.mean([one.posteriors(sentence) for one in alone], axis=0)
        np.testing.assert_allclose(model.posteriors(sentence), both, atol=1e-12)
    logs = np.array([one.score(DEPENDENCIES[:6]).log for one in alone])
    np.testing.assert_allclose(model.score(DEPENDENCIES[:6]).log, np.log(np.exp(logs).mean(axis=0)), rtol=1e-10)


def test_members_are_the_grammars_that_their_options_train_alone(model: DependencyModel) -> None:
    for member, options in zip(model.members, SEVERAL, strict=True):
        (own,) = DependencyModel.train(DEPENDENCIES, options).members
        np.testing.assert_array_equal(member.operators.leaf, own.operators.leaf)
        assert member.symbols == own.symbols


@pytest.mark.parametrize("projective", [True, False])
def test_the_tree_of_the_averages_has_the_most_posterior(model: DependencyModel, projective: bool) -> None:
    alone = [DependencyModel((member,), model.relations) for member in model.members]

    def posterior(tree: DependencySentence) -> float:
        arcs = model.posteriors(tree)
        return float(sum(arcs[head, word] for word, head in enumerate(tree.heads or ())))

    for sentence in BARE:
        best = model.parse(sentence, projective=projective).tree
        for one in alone:
            assert posterior(best) >= posterior(one.parse(sentence, projective=projective).tree) - 1e-9


def test_a_grammar_that_does_not_derive_a_sentence_has_no_part_in_the_mean(model: DependencyModel) -> None:
    first, other = model.members
    empty = replace(other.operators, leaf=np.zeros_like(other.operators.leaf))
    both = replace(model, members=(first, other.with_operators(empty)))
    alone = DependencyModel((first,), model.relations)
    for sentence in BARE:
        np.testing.assert_allclose(both.posteriors(sentence), alone.posteriors(sentence), atol=1e-12)


def test_words_without_tags_get_the_likeliest_of_the_averages(model: DependencyModel) -> None:
    blank = ("_",) * len(BARE[0].forms)
    sentence = BARE[0].with_tags("upos", blank).with_tags("xpos", blank)
    parse = model.parse(sentence)
    assert "_" not in parse.tree.upos and parse.sign == 1
    assert parse.log == pytest.approx(float(model.score([parse.tree]).log[0]))


def test_a_file_and_processes_change_nothing(model: DependencyModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = DependencyModel.load(tmp_path / "model")
    assert list(loaded.parse_all(BARE, 3, jobs=2)) == list(model.parse_all(BARE, 3))


def test_grammars_that_do_not_fit_together_are_refused() -> None:
    for name, other in (
        ("tags", replace(SMALL, tags="xpos")),
        ("words", replace(SMALL, words="upos")),
        ("attachment.symbols_have_tags", replace(SMALL, attachment=Attachment(symbols_have_tags=False))),
    ):
        with pytest.raises(ValueError, match=f"the grammars of one parser must have the same {name}, not"):
            DependencyModel.train(DEPENDENCIES, [SMALL, other])
    with pytest.raises(ValueError, match="at least one grammar"):
        DependencyModel.train(DEPENDENCIES, [])


def test_accurate_averages_and_fast_does_not() -> None:
    assert len(preset("fast")) == 1 < len(preset("accurate"))
    assert {options.attachment.first_side for options in preset("accurate")} == {"left", "right"}
