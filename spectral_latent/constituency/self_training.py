"""Train on sentences without trees, whose trees a first parser finds.

Self-training only helps if a second model judges the trees, so that they are better than the trees of the grammars
alone: a reranker (McClosky, Charniak and Johnson 2006), or here the model of spans.  Both learn from the treebank
alone.  The second parser keeps the model of spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from spectral_latent._options import AtLeast, checked
from spectral_latent.constituency.cleaning import Changes
from spectral_latent.constituency.constraints import unknown_phrase
from spectral_latent.constituency.model import ConstituencyModel
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.model import check_sentences, complete

__all__ = ["self_train"]


def self_train(
    phrases: Iterable[Phrase],
    sentences: Iterable[Sequence[str]],
    options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    *,
    weight: float = 0.25,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
    listener: Listener = silent,
    changes: Changes | None = None,
) -> ConstituencyModel:
    """Learn from trees, parse sentences without trees, and learn once more from both.

    The second parser keeps the model of spans of the first parser, if there is one.  Trees and sentences are kept in
    memory.  A sentence is left out if it has no words, or if no grammar derives it.

    phrases: the trees of the treebank.
    sentences: the words of each sentence, spelt as the trees spell them.
    options: the options of both parsers, as `ConstituencyModel.train` takes them.
    weight: the weight of the tree of a sentence: it counts as this many trees; at least 0.
    weights: the weight of each of `phrases`; 1 if not given.
    jobs: the number of threads, and of processes that parse; the result does not depend on it.
    changes: the counts to which the cleaning of `phrases` adds; None to count nothing.
    Raises ValueError for a weight below 0 or not finite, and TypeError for a string in place of a sentence, both before
    training; and the errors of `ConstituencyModel.train`.

    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> text = ["the dog saw a cat in the garden".split()]
    >>> self_train(embedded_treebank(60), text).parse(text[0]).is_fallback
    False
    """
    checked("weight", weight, Annotated[float, AtLeast(0.0)])
    trees = list(phrases)
    sentences = list(check_sentences(sentences))
    times = [1.0] * len(trees) if weights is None else list(weights)
    teacher = ConstituencyModel.train(trees, options, weights=times, jobs=jobs, listener=listener, changes=changes)
    unknown = [unknown_phrase(tuple(words)) for words in sentences if len(words)]
    listener(Progress("sentences without trees", 0, len(unknown)))
    parsed = teacher.parse_all(unknown, scored=False, jobs=jobs)
    for number, (tree, share) in enumerate(complete(parsed), start=1):
        trees.append(tree)
        times.append(weight * share)
        listener(Progress("sentences without trees", number, len(unknown)))
    return ConstituencyModel.train(trees, options, weights=times, spans=teacher.spans, jobs=jobs, listener=listener)
