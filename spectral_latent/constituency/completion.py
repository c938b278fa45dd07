"""Complete trees that are partly known, so that a parser can learn from them, too.

This is the E-step of EM over whole trees.  Given what is known, a tree has the weight p̂(tree) / Σ p̂(tree'), where the
sum is over the trees that are found.  Training on the completed trees with these weights, beside the trees of a
treebank, is the M-step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spectral_latent.constituency.constraints import PartialTree
from spectral_latent.constituency.model import ConstituencyModel
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.grammar import check_n_best

__all__ = ["completed"]


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
    check_n_best(n_best)
    for parses in model.parse_all(trees, n_best, jobs=jobs):
        for parse, share in zip(parses, parses.shares, strict=True):
            if share > 0.0:
                yield parse.tree, share
