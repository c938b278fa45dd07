"""Templates against counts made one event at a time."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase, clean
from spectral_latent.constituency.conversion import find_head
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, FeatureTable, NBest, Tree, TreeTemplates, templates
from tests.reranking.nbest_lists import dependency_lists, phrase_lists

LISTS = st.lists(phrase_lists(), max_size=3) | st.lists(dependency_lists(), max_size=3)


def events_of_heads(sentence: DependencySentence) -> Iterator[str]:
    tags = ["ROOT", *sentence.xpos]
    heads = [None, *(sentence.heads or ())]
    for word, dependants in enumerate(sentence.dependants()):
        left = max((other for other in dependants if other < word), default=None)
        right = min((other for other in dependants if other > word), default=None)
        around = ["-" if other is None else tags[other] for other in (left, right)]
        yield f"siblings:{around[0]} {tags[word]} {around[1]}"
        for other in dependants:
            above = heads[word]
            side = "left" if other < word else "right"
            yield f"grandparent:{side} {tags[other]} {tags[word]} {'-' if above is None else tags[above]}"


def head_tag(phrase: Phrase) -> str:
    if phrase.is_preterminal():
        return phrase.label
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    return head_tag(children[find_head(phrase.label, [child.label for child in children])])


def events_of_phrase(phrase: Phrase, above: str = "-") -> Iterator[str]:
    if phrase.is_preterminal():
        return
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    labels = [child.label for child in children]
    yield " ".join([f"rule:{phrase.label}", *labels])
    yield " ".join([f"parent-rule:{above}", phrase.label, *labels])
    head = find_head(phrase.label, labels)
    for i, child in enumerate(children):
        yield from events_of_phrase(child, phrase.label)
        if i != head:
            side = "left" if i < head else "right"
            tags = f"{head_tag(children[head])} {head_tag(child)}"
            yield f"heads:{phrase.label} {labels[head]} {labels[i]} {tags} {side}"


def counted(tree: Tree) -> Counter[str]:
    if isinstance(tree, DependencySentence):
        return Counter(events_of_heads(tree))
    cleaned = clean(tree)
    assert cleaned is not None
    return Counter(events_of_phrase(cleaned))


def rows(table: FeatureTable) -> list[Counter[str]]:
    return [Counter(dict(zip(table.names, map(int, row), strict=True))) for row in table.values.toarray()]


@given(LISTS, st.integers(0, 3))
def test_counts(lists: list[NBest], cutoff: int) -> None:
    expected = [[counted(candidate.tree) for candidate in nbest.candidates] for nbest in lists]
    names = {name for counts in expected for count in counts for name in count}
    kept = sorted(
        name for name in names if sum(len({count[name] for count in counts}) > 1 for counts in expected) >= cutoff
    )
    chosen = TreeTemplates.train(lists, cutoff)
    table = chosen.table(lists)
    assert list(table.names) == kept == list(chosen.names)
    assert not table.measured.any()
    for row, count in zip(rows(table), (count for counts in expected for count in counts), strict=True):
        assert +row == Counter({name: n for name, n in count.items() if name in kept})


@given(st.lists(dependency_lists(min_size=1), min_size=2, max_size=4))
def test_other_lists_have_only_the_features_of_training(lists: list[NBest]) -> None:
    chosen = TreeTemplates.train(lists[:1], cutoff=0)
    names = set(chosen.names)
    for nbest, row in zip(lists[1:], rows_of_first(chosen, lists[1:]), strict=True):
        full = counted(nbest.candidates[0].tree)
        assert +row == Counter({name: n for name, n in full.items() if name in names})


def fitted_table(lists: list[NBest], cutoff: int = 0) -> FeatureTable:
    return TreeTemplates.train(lists, cutoff).table(lists)


def rows_of_first(templates: TreeTemplates, lists: list[NBest]) -> list[Counter[str]]:
    table = templates.table(lists)
    return [rows(table)[at] for at in table.start[:-1]]


def test_lists_are_looked_at_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    words = DependencySentence.of(["a", "b", "c"], ["A", "B", "C"])
    trees = [words.with_heads(heads) for heads in ((0, 1, 1), (2, 0, 2), (2, 3, 0))]
    lists = [NBest.of(map(Candidate, trees[: 1 + i % 3]), str(i)) for i in range(7)]
    whole = fitted_table(lists, cutoff=1)
    monkeypatch.setattr(templates, "_BATCH", 2)
    parts = fitted_table(lists, cutoff=1)
    assert whole.names == parts.names and np.array_equal(whole.values.toarray(), parts.values.toarray())


def test_universal_tags_where_there_are_no_others() -> None:
    words = DependencySentence.of(["a"], ["X"]).with_heads((0,))._replace(xpos=("_",), upos=("NOUN",))
    table = fitted_table([NBest.of([Candidate(words)])])
    assert table.names == ("grandparent:right NOUN ROOT -", "siblings:- NOUN -", "siblings:- ROOT NOUN")


def test_two_formalisms() -> None:
    words = DependencySentence.of(["dog"]).with_heads((0,))
    lists = [NBest.of([Candidate(Phrase("N", ("dog",)))]), NBest.of([Candidate(words)])]
    with pytest.raises(ValueError, match="phrases in some lists, dependencies in others; make"):
        TreeTemplates.train(lists)


def test_deep_trees() -> None:
    tree = Phrase("N", ("dog",))
    for _ in range(2500):
        tree = Phrase("NP", (Phrase("VP", (tree,)),))
    table = fitted_table([NBest.of([Candidate(tree)])])
    assert rows(table) == [
        Counter(
            {"rule:NP VP": 2500, "rule:VP NP": 2499, "rule:VP N": 1, "parent-rule:- NP VP": 1, "parent-rule:NP VP N": 1}
            | {"parent-rule:NP VP NP": 2499, "parent-rule:VP NP VP": 2499}
        )
    ]
