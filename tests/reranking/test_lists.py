"""N-best lists in every format: read as they were written, from other parsers, and their errors one by one."""

import itertools
import json
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.parse import DependencyGraph
from nltk.tree import ProbabilisticTree, Tree

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import CorpusError, parse_brackets
from spectral_latent.corpora.conllu import parse_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, NBest, NBestFormat, best_trees, nbest_format, parse_nbest
from spectral_latent_nltk import to_nbest
from tests.reranking.nbest_lists import dependency_lists, phrase_lists, written

NAME = st.sampled_from(["1", "2", "7", "wsj_0001.3", "é"])


def several(
    lists: Callable[..., st.SearchStrategy[NBest]], least_scores: int = 0, min_size: int = 0
) -> st.SearchStrategy[list[NBest]]:
    """Lists of different names, with the same number of scores."""
    names = st.lists(NAME, unique=True, min_size=1)
    return st.tuples(names, st.integers(least_scores, 2)).flatmap(
        lambda drawn: st.tuples(*(lists(drawn[1], min_size=min_size, id=name) for name in drawn[0])).map(list)
    )


def with_ends(text: str, data: st.DataObject) -> str:
    """The same with other line ends, a byte order mark, and more or fewer empty lines at the end."""
    text = text.rstrip("\n") + "\n" * data.draw(st.integers(0, 3))
    text = text.replace("\n", data.draw(st.sampled_from(["\n", "\r\n"])))
    return data.draw(st.sampled_from(["", "\ufeff"])) + text


def without_comments(nbest: NBest) -> NBest:
    trees = [candidate.tree for candidate in nbest.candidates]
    bare = [tree._replace(comments=()) if isinstance(tree, DependencySentence) else tree for tree in trees]
    candidates = [candidate._replace(tree=tree) for candidate, tree in zip(nbest.candidates, bare, strict=True)]
    return NBest(nbest.id, nbest.words, tuple(candidates))


DRAWN = {
    "bllip": several(phrase_lists, least_scores=1),
    "trees": several(phrase_lists).map(
        lambda lists: [nbest for nbest in lists if nbest.n_scores or not nbest.id.isdigit()] or [NBest.of([])]
    ),
    "conllu": several(dependency_lists, min_size=1),
    "json": several(phrase_lists) | several(dependency_lists),
}


@pytest.mark.parametrize("form", DRAWN)
@given(st.data())
def test_lists_are_read_as_they_were_written(form: NBestFormat, data: st.DataObject) -> None:
    """In CoNLL-U, names and scores stand in comments."""
    lists = data.draw(DRAWN[form])
    text = with_ends(written(lists, form), data)
    if form == "json":
        for line in text.removeprefix("\ufeff").strip().split("\n"):
            json.loads(line, parse_constant=pytest.fail)  # standard JSON, without Infinity
    again = list(parse_nbest(text))
    assert list(map(without_comments, again)) == lists
    assert nbest_format(text) == form
    assert list(parse_nbest(written(again, form))) == again


def test_json_keeps_what_features_need() -> None:
    """All columns of CoNLL-U up to the relations; comments are not among them."""
    (sentence,) = parse_conllu(ROWS.format(2, 0))
    sentence = sentence._replace(feats=("Number=Plur", "_"), relations=("nsubj", "root"), comments=("by hand",))
    text = written([NBest.of([Candidate(sentence, -1.5)], "a")], "json")
    (nbest,) = parse_nbest(text)
    assert nbest.candidates[0] == Candidate(sentence._replace(comments=()), -1.5)
    bare = written([NBest.of([Candidate(DependencySentence.of(["Yes"]).with_heads((0,)))])], "json")
    assert json.loads(bare) == {"sent_id": "1", "words": ["Yes"], "candidates": [{"heads": [0]}]}


def test_json_has_the_words_of_its_trees() -> None:
    """As `parse --json` writes them: brackets and spaces within words are others in a tree."""
    entry = {"words": ["(", "10 000"], "candidates": [{"tree": "(NP (-LRB- -LRB-) (CD 10_000))", "score": "-inf"}]}
    (nbest,) = parse_nbest(json.dumps(entry))
    assert list(nbest.words) == list(nbest.candidates[0].tree.words()) == ["-LRB-", "10_000"]
    with pytest.raises(CorpusError):
        list(parse_nbest(json.dumps({**entry, "words": ["(", "10"]})))


RUN = "(S1 (NN run))"
BERKELEY = f"-1.5\t( {RUN} )\n-2.5\t( (S1 (VB run)) )\n\n-Infinity\t(())\n\n-3.25\t((S1 (UH no)))\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BERKELEY, [("1", [(-1.5,), (-2.5,)]), ("2", []), ("3", [(-3.25,)])]),
        (
            f"2 a\n-1\n{RUN}\n-2\n{RUN}\n\n0 b\n\n1 c d\n-3E1\n{RUN}",
            [("a", [(-1,), (-2,)]), ("b", []), ("c d", [(-30,)])],
        ),
        (f"1\tx\n\n0.5 -9\n{RUN}\n", [("x", [(0.5, -9)])]),
        (f"s1 -1 {RUN}\ns1 -2 {RUN}\ns2 -3 {RUN}\n", [("s1", [(-1,), (-2,)]), ("s2", [(-3,)])]),
        (f"1 -1 {RUN}\n1 -2 {RUN}\n\n2\t-3\t{RUN}\n", [("1", [(-1,), (-2,)]), ("2", [(-3,)])]),
        (f"7 ||| {RUN} ||| -1.5\n8 ||| {RUN} ||| 2.0 1.0\n", [("7", [(-1.5,)]), ("8", [(2.0, 1.0)])]),
        (f"-1.5 {RUN}\n{'-2.5':>8} {RUN}\n \n73 {RUN}", [("1", [(-1.5,), (-2.5,)]), ("2", [(73,)])]),
        (f"{RUN} -1.5\n{RUN}\t-2.5\n", [("1", [(-1.5,), (-2.5,)])]),
        (f"{RUN}\n{RUN}\n\n\n{RUN}\n", [("1", [(), ()]), ("2", [()])]),
        (f"wsj.1 {RUN}\nwsj.2 (())\n", [("wsj.1", [()]), ("wsj.2", [])]),
    ],
)
def test_as_other_parsers_write_trees(text: str, expected: list[tuple[str, list[tuple[float, ...]]]]) -> None:
    lists = list(parse_nbest(text))
    assert [(nbest.id, [candidate.scores for candidate in nbest.candidates]) for nbest in lists] == expected
    assert lists[0].candidates[0].tree == Phrase("S1", (Phrase("NN", ("run",)),))


ROWS = "1\tDogs\tdog\tNOUN\tNNS\t_\t{}\t_\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t{}\t_\t_\t_\n\n"


def test_as_other_parsers_write_heads() -> None:
    text = f"# sent_id = a\n# score = -1.5\n{ROWS.format(2, 0)}# sent_id = a\n#score=-2e0\n{ROWS.format(0, 1)}"
    text += f"# text = Dogs bark\n# sent_id = b\n{ROWS.format(2, 0)}"
    first, second = parse_nbest(text)
    assert [(candidate.score, candidate.tree.heads) for candidate in first.candidates] == [  # type: ignore[union-attr]
        (-1.5, (2, 0)),
        (-2.0, (0, 1)),
    ]
    assert (second.id, second.candidates[0].score, second.words) == ("b", None, ("Dogs", "bark"))
    ranked = "".join(f"# sent_id = c-{rank}\n# rank = {rank}\n{ROWS.format(2, 0)}" for rank in (1, 2))
    assert [(nbest.id, len(nbest)) for nbest in parse_nbest(ranked)] == [("c", 2)]  # as the command `parse` writes them
    (again,) = parse_nbest('{"words": ["Dogs", "bark"], "candidates": [{"heads": [2, 0], "score": 73.5}]}')
    assert (again.id, again.words) == ("1", ("Dogs", "bark"))
    assert (again.candidates[0].score, again.candidates[0].tree.heads) == (73.5, (2, 0))  # type: ignore[union-attr]


FAILURES = {
    "bllip": (f"2 a\n-1\n{RUN}\n-inf\n(())\n\n1 b\n0\n( ( ) )\n", [("a", 1), ("b", 0)]),
    "trees": (f"-1\t{RUN}\n-inf\t(())\n\n-inf ( () )\n", [("1", 1), ("2", 0)]),
}


@pytest.mark.parametrize("form", FAILURES)
def test_a_parser_that_failed_has_no_candidate(form: NBestFormat) -> None:
    text, expected = FAILURES[form]
    assert nbest_format(text) == form
    assert [(nbest.id, len(nbest)) for nbest in parse_nbest(text)] == expected


BAD = [
    (f"2 a\n-1\n{RUN}\n\n1 b\n-1\n{RUN}\n", 6, "a tree is missing: the list that begins in line 1"),
    (f"1 a\n-1\n{RUN}\nx\n", 4, "'x'"),
    (f"1 a\nx\n{RUN}\n", 2, "'x'"),
    (f"1 a\nnan\n{RUN}\n", 2, "'nan'"),
    ("1 a\n-1\n(S1 (NN run)\n", 3, "never closed"),
    (f"-1 {RUN}\n-2 (S1 (NN ran))\n", 2, "sentence 1, candidate 2: word 1 is 'ran'"),
    (f"-1 {RUN}\n\n-1 {RUN}\n{RUN}\n", 4, "sentence 2, candidate 2"),
    (f"-1 {RUN}\n-1 {RUN} {RUN}\n", 2, "several trees"),
    (f"-1 {RUN}\nrun\n", 2, "'run'"),
    *((f"-1 {RUN}\n{score} {RUN}\n", 2, repr(score)) for score in ("NaN", "-nan", "None", "-1,5", "-0x1p3")),
    (f"-1 {RUN}\n{RUN}\tnan\n", 2, "'nan'"),
    (f"-1 {RUN}\ninf {RUN}\n", 2, "infinitely large"),
    (f"1e999 {RUN}\n", 1, "infinitely large"),
    (f"-1 {RUN}\n-2 (S1 (NN))\n", 2, "is empty"),
    (ROWS.format(2, 0), 1, "no name"),
    (f"# sent_id = a\n# score = ?\n{ROWS.format(2, 0)}", 3, "'?'"),
    (f"# sent_id = a\n{ROWS.format(2, 1)}", 2, "sentence a, candidate 1"),
    (f"# sent_id = a\n{ROWS.format(2, 3)}", 3, "HEAD 3"),
    (f"# sent_id = a\n{ROWS.format(2, 0)}# sent_id = a\n{ROWS.format(2, 0).replace('Dogs', 'Cats')}", 6, "'Cats'"),
    ('{"candidates": []}\n{"candidates": [}\n', 2, "not JSON"),
    ("{" + "[" * 100_000, 1, "not JSON"),
    ('{"sent_id": 3}', 1, "candidates"),
    ('{"candidates": [1]}', 1, "candidate"),
    ('{"candidates": [{"tree": "(S"}]}', 1, "never closed"),
    *(
        (f'{{"candidates": [{{"tree": "(S (NN a))", {scores}}}]}}', 1, repr(wrong))
        for scores, wrong in (('"score": true', "True"), ('"score": NaN', "nan"), ('"other_scores": [1]', "None"))
    ),
    ('{"candidates": []}\n{"candidates": [{"heads": [2, 0]}]}', 2, "without words"),
    *(
        (f'{{"words": ["a", "b"], "candidates": [{{"heads": {heads}}}]}}', 1, wrong)
        for heads, wrong in (("[2, 0, 1]", "3 heads"), ("[2, 3]", "3"), ("[2, false]", "False"), ("[2, 1]", "no tree"))
    ),
    ('{"words": "ab", "candidates": [{"heads": [2, 0]}]}', 1, "words"),
    ('{"words": ["a", "b"], "xpos": ["A"], "candidates": []}', 1, "1 xpos of 2 words"),
    ('{"words": ["a"], "candidates": [{"tree": "(S (NN b))"}]}', 1, "candidate 1: word 1 is 'b'"),
]


@pytest.mark.parametrize(("text", "line", "problem"), BAD)
def test_errors_name_source_and_line(text: str, line: int, problem: str) -> None:
    """A file whose format is guessed may have another one, which is said, too."""
    for given_format in (None, nbest_format(text)):
        with pytest.raises(CorpusError) as caught:
            list(parse_nbest(text.replace("\n", "\r\n"), "lists", given_format))
        assert str(caught.value).startswith(f"lists, line {line}: ")
        assert problem in str(caught.value) and ";" in str(caught.value)
        assert ("--format" in str(caught.value)) == (given_format is None)


@pytest.mark.parametrize("text", ["", "\n\n", "dogs bark\n", "50\n", "<?xml ?>", "# sent_id = 1\n0\t-1\t2 0\n"])
def test_no_known_format(text: str) -> None:
    with pytest.raises(CorpusError, match=r"^lists: no n-best list; give one in one of the formats bllip, trees"):
        list(parse_nbest(text, "lists"))


TREE = Tree.fromstring("(S (NP (NN dog)) (VP (VBZ barks)))")
PHRASE = next(parse_brackets("(S (NP (NN dog)) (VP (VBZ barks)))"))


def test_what_parsers_give_in_python() -> None:
    expected = [Candidate(PHRASE, -1.5), Candidate(PHRASE, -2.0)]
    for trees in itertools.product([TREE, PHRASE, str(PHRASE.bracketed())], repeat=2):
        pairs = zip([-1.5, np.float32(-2.0)], trees, strict=True)
        assert to_nbest(pairs, "7") == NBest("7", ("dog", "barks"), tuple(expected))
    probable = ProbabilisticTree("S", list(TREE), logprob=-3.0)
    assert to_nbest([probable]).candidates == (Candidate(PHRASE, -3.0),)
    parses = [SimpleNamespace(ptb_parse=TREE, parser_score=-9, reranker_score=score) for score in (0.5, None)]
    assert to_nbest(parses[:1]).candidates[0].scores == (0.5, -9.0)  # as bllipparser's ScoredParse
    assert to_nbest(parses[1:]).candidates[0].scores == (-9.0,)
    assert to_nbest([(None, TREE)]).candidates == (Candidate(PHRASE),)
    assert to_nbest([((2.0, 1.0), TREE)]).candidates == (Candidate(PHRASE, 2.0, (1.0,)),)
    graph = DependencyGraph("Dogs NNS 2 SUB\nbark VBP 0 ROOT")
    nbest = to_nbest([(73.5, graph)])
    assert nbest.words == ("Dogs", "bark") and nbest.candidates[0].tree.heads == (2, 0)  # type: ignore[union-attr]


def test_best_trees() -> None:
    lists = list(parse_nbest(BERKELEY))
    assert list(best_trees(lists, [1, -1, 0])) == ["(S1 (VB run))\n", "(())\n", "(S1 (UH no))\n"]
    sentence = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])._replace(comments=("score = 9", "by hand"))
    trees = [Candidate(sentence.with_heads(heads), 9.0) for heads in ((2, 0), (0, 1))]
    text = "".join(best_trees([NBest.of(trees, "a"), NBest.of([], "b", ["Yes"])], [1, -1]))
    first, second = parse_conllu(text)
    assert (first.heads, first.comments) == ((0, 1), ("sent_id = a", "by hand"))
    assert (second.forms, second.heads, second.comments) == (("Yes",), None, ("sent_id = b",))
    with pytest.raises(ValueError, match="shorter"):
        list(best_trees(lists, [0]))
