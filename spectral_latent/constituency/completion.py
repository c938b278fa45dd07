"""Complete trees that are partly known, or not known at all, so that a parser can learn from them, too.

This is the E-step of EM over whole trees.  Given what is known, a tree has the weight p̂(tree) / Σ p̂(tree'), where the
sum is over the trees that are found.  Training on the completed trees with these weights, beside the trees of a
treebank, is the M-step.

Self-training completes sentences of which nothing is known.  It helps a parser whose trees are better than those of its
grammars alone, because something else judges them, too: a reranker (McClosky, Charniak and Johnson 2006), or here the
model of spans.  The model of spans, like that reranker, learns from the treebank alone.  The second parser keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from spectral_latent._options import AtLeast, Count, checked
from spectral_latent.constituency.constraints import PartialTree
from spectral_latent.constituency.model import ConstituencyModel
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.grammar import check_sentences

__all__ = ["completed", "self_train"]


def completed(
    model: ConstituencyModel, trees: Iterable[PartialTree], n_best: int = 1, *, jobs: int | None = 1
) -> Iterator[tuple[Phrase, float]]:
    """Find the best trees of each sentence that obey what is known, and how much each of them weighs.

    The weights of the trees of a sentence sum to 1.  A sentence that no grammar derives, given what is known, has none.

    model: the parser.
    trees: the sentences, and what is known of their trees.
    n_best: the most trees of a sentence.
    jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.

    Raises ValueError if n_best < 1, or for constraints that do not fit the sentence and the parser.

    >>> from spectral_latent.corpora import parse_partial
    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> model = ConstituencyModel.train(embedded_treebank(60))
    >>> known = list(parse_partial("the dog saw (NP a cat (PP in the garden))"))
    >>> [(tree.bracketed().count("(NP"), round(weight, 1)) for tree, weight in completed(model, known)]
    [(4, 1.0)]
    """
    checked("n_best", n_best, Count)
    for parses in model.parse_all(trees, n_best, scored=n_best > 1, jobs=jobs):
        for parse, share in zip(parses, parses.shares, strict=True):
            if share > 0.0:
                yield parse.tree, share


def self_train(
    phrases: Iterable[Phrase],
    sentences: Iterable[Sequence[str]],
    options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    *,
    weight: float = 0.25,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> ConstituencyModel:
    """Learn from trees, parse sentences that have none, and learn once more from both.

    The second parser keeps the model of spans of the first one, if there is one.  Trees and sentences are kept in
    memory.  A sentence without words, or that no grammar derives, is left out.

    phrases: the trees.
    sentences: the words of each sentence, spelt as the trees spell them.
    options: the options of both parsers, as `ConstituencyModel.train` takes them.
    weight: how many trees the tree of a sentence stands for, a number of at least 0.
    weights: for each of `phrases` how many trees it stands for; 1 if not given.
    jobs: the number of threads, and of processes that parse; the result does not depend on it.
    listener: told how far the work is.
    Raises ValueError for a weight below 0 or not finite, TypeError for a string in the place of a sentence, both before
    anything is learnt, and errors as `ConstituencyModel.train` does.

    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> text = ["the dog saw a cat in the garden".split()]
    >>> self_train(embedded_treebank(60), text).parse(text[0]).is_fallback
    False
    """
    checked("weight", weight, Annotated[float, AtLeast(0.0)])
    trees = list(phrases)
    sentences = list(check_sentences(sentences))
    times = [1.0] * len(trees) if weights is None else list(weights)
    teacher = ConstituencyModel.train(trees, options, weights=times, jobs=jobs, listener=listener)
    unknown = [PartialTree.unknown(tuple(words)) for words in sentences if len(words)]
    listener(Progress("sentences without trees", 0, len(unknown)))
    for number, (tree, share) in enumerate(completed(teacher, unknown, jobs=jobs), start=1):
        trees.append(tree)
        times.append(weight * share)
        listener(Progress("sentences without trees", number, len(unknown)))
    return ConstituencyModel.train(trees, options, weights=times, spans=teacher.spans, jobs=jobs, listener=listener)
