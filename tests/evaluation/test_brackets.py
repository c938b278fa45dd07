"""Bracket scores against the printed output of EVALB, a literal rendering of its loops, and worked examples."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora import parse_brackets, read_text
from spectral_latent.evaluation import BracketScores, score_brackets

ROOTS = ("ROOT", "S1", "VROOT")
DELETED = ("TOP", "-NONE-", ",", ":", "``", "''", ".")


def shown(scores: BracketScores) -> list[str]:
    values = (scores.recall, scores.precision, scores.f1, scores.exact, scores.no_crossing, scores.tagging_accuracy)
    return [f"{value:.2f}" for value in values]


@pytest.mark.parametrize(
    ("max_length", "sentences", "printed"),
    [
        (None, 423, ["84.70", "83.97", "84.33", "24.35", "53.19", "94.06"]),
        (40, 391, ["85.88", "85.43", "85.65", "25.83", "56.78", "93.93"]),
    ],
)
def test_figures_that_evalb_printed(
    shared_file: Callable[[str], Path], max_length: int | None, sentences: int, printed: list[str]
) -> None:
    gold, predicted = (parse_brackets(read_text(shared_file(f"evalb-check/{name}.mrg"))) for name in ("gold", "parsed"))
    scores = score_brackets(zip(gold, predicted, strict=True), max_length)
    assert shown(scores) == printed
    assert (scores.sentences, scores.errors, scores.skipped) == (sentences, 0, 0)


def evalb(gold: Phrase, predicted: Phrase) -> BracketScores:
    """One sentence, by the loops of EVALB: lists of brackets, matched greedily, crossings by pairs."""

    def read(tree: Phrase) -> tuple[list[str], list[str], list[tuple[int, int, str]]]:
        words: list[str] = []
        tags: list[str] = []
        brackets: list[tuple[int, int, str]] = []

        def visit(node: Phrase) -> None:
            first = len(words)
            for child in node.children:
                if isinstance(child, Phrase):
                    visit(child)
                elif node.label not in DELETED:
                    words.append(child)
                    tags.append(node.label)
            label = node.label.split("-")[0].split("=")[0]
            if not node.is_preterminal() and first < len(words) and label not in (*DELETED, *ROOTS):
                brackets.append((first, len(words), label))

        visit(tree)
        return words, tags, brackets

    def same(a: str, b: str) -> bool:
        return a == b or {a, b} == {"ADVP", "PRT"}

    words1, tags1, brackets1 = read(gold)
    words2, tags2, brackets2 = read(predicted)
    if not words2:
        return BracketScores(sentences=1, skipped=1)
    if words1 != words2:
        return BracketScores(sentences=1, errors=1)
    free = list(brackets2)
    for a in brackets1:
        for b in free:
            if a[:2] == b[:2] and same(a[2], b[2]):
                free.remove(b)
                break
    matched = len(brackets2) - len(free)
    crossing = any(a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1] for a in brackets1 for b in brackets2)
    return BracketScores(
        sentences=1,
        gold=len(brackets1),
        predicted=len(brackets2),
        matched=matched,
        complete=int(len(brackets1) == len(brackets2) == matched),
        uncrossed=int(not crossing),
        words=len(words1),
        correct_tags=sum(map(same, tags1, tags2)),
    )


TAGS = st.sampled_from(["NN", "VB", "-LRB-", "PRT", "ADVP", *DELETED[1:]])
LABELS = st.sampled_from(["TOP", *ROOTS, "NP", "NP-SBJ", "NP=2", "VP", "VP-", "ADVP", "PRT-1", "PRN", ":"])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Phrase, Phrase]:
    """Two random trees over the same words, most of whose tags are the same."""
    words = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=8))
    tags = [draw(TAGS) for _ in words]
    other = [draw(TAGS) if draw(st.integers(0, 9)) == 0 else tag for tag in tags]

    def tree(leaves: list[Phrase]) -> Phrase:
        cuts = sorted(draw(st.sets(st.integers(1, len(leaves) - 1), max_size=2))) if len(leaves) > 1 else []
        if not cuts:
            node = Phrase(draw(LABELS), tuple(leaves))
        else:
            spans = zip([0, *cuts], [*cuts, len(leaves)], strict=True)
            node = Phrase(draw(LABELS), tuple(tree(leaves[i:j]) for i, j in spans))
        return Phrase(draw(LABELS), (node,)) if draw(st.booleans()) else node

    def tagged(tags: list[str]) -> list[Phrase]:
        return [Phrase(tag, (word,)) for tag, word in zip(tags, words, strict=True)]

    return tree(tagged(tags)), tree(tagged(other))


@given(st.lists(pairs(), max_size=3))
def test_sentences_by_the_loops_of_evalb(sentences: list[tuple[Phrase, Phrase]]) -> None:
    assert score_brackets(sentences) == sum((evalb(*pair) for pair in sentences), BracketScores())
    golds = [(gold, gold) for gold, _ in sentences]
    if score_brackets(golds).gold:
        assert shown(score_brackets(golds)) == ["100.00"] * 6


def test_errors_and_skipped_sentences_count_for_nothing_else() -> None:
    gold = "(S (NN a)) (S (NN a)) (S (NN a) (. .)) (S (NN a))"
    found = "(S (NN a)) (S (NN b)) (S (NN a) (NN .)) (S (. a))"
    scores = score_brackets(zip(parse_brackets(gold), parse_brackets(found), strict=True))
    assert (scores.sentences, scores.errors, scores.skipped, scores.valid) == (4, 2, 1, 1)
    assert (scores.gold, scores.predicted, scores.words) == (1, 1, 1)
    assert shown(scores) == ["100.00"] * 6


def test_words_beside_phrases_are_refused() -> None:
    mixed = Phrase("NP", ("the", Phrase("NN", ("dog",))))
    with pytest.raises(ValueError, match="'the' is not the only child of a tag"):
        score_brackets([(mixed, mixed)])


def test_deep_trees() -> None:
    tree = Phrase("NN", ("a",))
    for _ in range(50_000):
        tree = Phrase("S", (tree, Phrase("NN", ("b",))))
    assert score_brackets([(tree, tree)]).f1 == 100.0
