"""Random n-best lists, and a reranker that puts them in the opposite order."""

import numpy as np
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import to_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import (
    Candidate,
    CandidateChoice,
    CandidateFeatures,
    NBest,
    NBestFormat,
    Reranker,
    RerankerOptions,
    write_nbest,
)

WORD = st.sampled_from(["dog", "-LRB-", "é", "10\u00a0000", "#", "1"])
TAG = st.sampled_from(["N", "V", ":", "-LRB-"])
LABEL = st.sampled_from(["S", "NP", "VP", "X=1"])
SCORE = st.floats(-1e3, 1e3) | st.sampled_from([float("-inf"), 0.0, 7.0, 1e-300])


def heads_of(draw: st.DrawFn, n: int) -> tuple[int, ...]:
    """Heads that are a tree, projective or not: each word hangs from one that was placed before it."""
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for at, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:at]]))
    return tuple(heads)


def phrase_over(draw: st.DrawFn, words: tuple[str, ...]) -> Phrase:
    """A tree over words, with phrases of any number of children, chains among them."""
    parts = [Phrase(draw(TAG), (word,)) for word in words]
    while len(parts) > 1 or draw(st.integers(0, 3)) == 3:
        begin = draw(st.integers(0, len(parts) - 1))
        end = len(parts) - draw(st.integers(0, len(parts) - begin - 1))
        parts[begin:end] = [Phrase(draw(LABEL), tuple(parts[begin:end]))]
    return parts[0]


@st.composite
def phrase_lists(draw: st.DrawFn, n_scores: int = 1, min_size: int = 0, id: str = "1") -> NBest:
    words = tuple(draw(st.lists(WORD, min_size=1, max_size=5)))
    size = draw(st.integers(min_size, 4))
    scores = st.lists(SCORE, min_size=n_scores, max_size=n_scores)
    trees = [phrase_over(draw, words) for _ in range(size)]
    return NBest.of((Candidate.of(tree, draw(scores)) for tree in trees), id, words if size else ())


@st.composite
def dependency_lists(draw: st.DrawFn, n_scores: int = 1, min_size: int = 0, id: str = "1") -> NBest:
    words = draw(st.lists(WORD, min_size=1, max_size=6))
    sentence = DependencySentence.of(words, [draw(TAG) for _ in words])
    size = draw(st.integers(min_size, 4))
    scores = st.lists(SCORE, min_size=n_scores, max_size=n_scores)
    trees = [sentence.with_heads(heads_of(draw, len(words))) for _ in range(size)]
    return NBest.of((Candidate.of(tree, draw(scores)) for tree in trees), id, words)


def written(lists: list[NBest], form: NBestFormat) -> str:
    """Lists as other parsers write them, and in JSON."""
    if form == "json":
        return "".join(write_nbest(lists))
    texts = []
    for number, nbest in enumerate(lists, start=1):
        rows = [(" ".join(map(repr, candidate.scores)), candidate.tree) for candidate in nbest.candidates]
        if form == "bllip":
            lines = [f"{scores}\n{tree.bracketed()}" for scores, tree in rows if isinstance(tree, Phrase)]
            texts.append("\n".join([f"{len(nbest)} {nbest.id}", *lines, "", ""]))
        elif form == "trees":
            name = "" if nbest.id == str(number) else f"{nbest.id} "
            lines = [f"{name}{scores}\t( {tree.bracketed()} )" for scores, tree in rows if isinstance(tree, Phrase)]
            texts.append("\n".join([*(lines or [f"{name}(())"]), "", ""]))
        else:
            for scores, tree in rows:
                assert isinstance(tree, DependencySentence)
                comments = (f"sent_id = {nbest.id}", *([f"score = {scores}"] if scores else []))
                texts.append(to_conllu(tree._replace(comments=comments)))
    return "".join(texts)


def last_first(has_heads: bool = False) -> Reranker:
    """A reranker of candidates with one score that puts the last one first."""
    features = CandidateFeatures(has_heads, n_scores=1)
    weights = np.array([float(name == "base:rank") for name in features.names])
    return Reranker(features, CandidateChoice(RerankerOptions(), features.names, weights, np.array([0.0, 1.0])))
