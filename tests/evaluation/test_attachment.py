"""Attachment scores against NLTK's evaluator, against counting, and on what MSTParser wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.parse import DependencyEvaluator

from spectral_latent.dependency import DependencySentence
from spectral_latent.evaluation import AttachmentScore, score_attachments
from spectral_latent_nltk import sentence_to_nltk

FORM = st.sampled_from(["a", "b.", ",", "--", "“", "。", "$", "+", "%"])
RELATION = st.sampled_from(["_", "x", "x:y", "x:z", "y"])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[DependencySentence, DependencySentence]:
    """A sentence with two annotations of its heads and relations."""
    size = draw(st.integers(1, 5))
    words = DependencySentence.of(draw(st.lists(FORM, min_size=size, max_size=size)))
    others = [st.sampled_from([head for head in range(size + 1) if head != word]) for word in range(1, size + 1)]
    first, second = (words.with_heads(draw(st.tuples(*others)), draw(st.tuples(*[RELATION] * size))) for _ in range(2))
    return first, second


def by_nltk(gold: list[DependencySentence], predicted: list[DependencySentence]) -> tuple[float, float]:
    graphs = ([sentence_to_nltk(sentence) for sentence in sentences] for sentences in (predicted, gold))
    las, uas = DependencyEvaluator(*graphs).eval()
    return 100 * uas, 100 * las


@given(st.lists(pairs(), min_size=1, max_size=4))
def test_score_is_a_count_and_nltk_agrees(sentences: list[tuple[DependencySentence, DependencySentence]]) -> None:
    gold, predicted = ([pair[side] for pair in sentences] for side in (0, 1))
    score = score_attachments(iter(gold), iter(predicted))
    words = [
        (
            form not in {",", "--", "“", "。", "%"},
            heads[0] == heads[1],
            relations[0] == relations[1],
            len({name.partition(":")[0] for name in relations}) == 1,
        )
        for a, b in sentences
        for form, heads, relations in zip(
            a.forms, zip(a.heads, b.heads, strict=True), zip(a.relations, b.relations, strict=True), strict=True
        )
    ]
    kept = [word[:3] for word in words if word[0]]
    assert score == AttachmentScore(
        sentences=len(sentences),
        complete_sentences=sum(a.heads == b.heads for a, b in sentences),
        words=len(words),
        heads=sum(has_head for _, has_head, _, _ in words),
        arcs=sum(has_head and has_relation for _, has_head, has_relation, _ in words),
        universal_arcs=sum(has_head and has_universal for _, has_head, _, has_universal in words),
        words_no_punctuation=len(kept),
        heads_no_punctuation=sum(has_head for _, has_head, _ in kept),
        arcs_no_punctuation=sum(has_head and has_relation for _, has_head, has_relation in kept),
    )
    assert score == sum((score_attachments([a], [b]) for a, b in sentences), AttachmentScore())
    assert score.complete * score.sentences == pytest.approx(100 * score.complete_sentences)
    assert score.uas * score.words == pytest.approx(100 * score.heads)
    assert score.las * score.words == pytest.approx(100 * score.arcs)
    assert score.las_universal * score.words == pytest.approx(100 * score.universal_arcs)
    if kept:
        assert (score.uas_no_punctuation, score.las_no_punctuation) == pytest.approx(by_nltk(gold, predicted))


def test_sentences_must_agree() -> None:
    one, other = (DependencySentence.of(["a", form]).with_heads((2, 0)) for form in "bc")
    single, blank = DependencySentence.of(["a"]).with_heads((0,)), one.with_heads(None)
    for gold, predicted, place in (
        ([one, one], [one, other], "sentence 2"),
        ([one], [single], "sentence 1"),
        ([one, one], [one], "shorter"),
        ([one], [one, one], "longer"),
        ([blank], [one], "sentence 1 of the gold"),
        ([one], [blank], "sentence 1 of the prediction"),
    ):
        with pytest.raises(ValueError, match=place):
            score_attachments(gold, predicted)
