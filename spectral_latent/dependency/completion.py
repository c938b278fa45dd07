"""Complete dependency trees that are partly known, so that a parser can learn from them, too.

Completion is the E-step of EM over whole trees, and training on the completed trees is the M-step, as in
`spectral_latent.constituency.completion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spectral_latent.dependency.constraints import PartialDependencies
from spectral_latent.dependency.model import DependencyModel
from spectral_latent.dependency.sentence import DependencySentence

__all__ = ["completed"]


def completed(
    model: DependencyModel,
    trees: Iterable[PartialDependencies],
    n_best: int = 1,
    *,
    projective: bool = True,
    jobs: int | None = 1,
) -> Iterator[tuple[DependencySentence, float]]:
    """Find the best trees of each sentence that obey its constraints, and the weight of each tree.

    The weights of the trees of a sentence sum to 1.  A sentence has no trees if the grammar does not derive it under
    its constraints.

    model: the parser that completes the trees.
    trees: the sentences with their constraints.
    n_best: the largest number of trees of a sentence; it must be 1 if trees need not be projective.
    projective: whether trees must be projective.
    jobs: the number of processes; see `spectral_latent.grammar.batches.map_batches`.

    Raises ValueError as `DependencyModel.parse_all`, and for constraints that do not fit the sentence and the parser.

    >>> from spectral_latent.corpora import parse_partial_conllu
    >>> model = DependencyModel.train(
    ...     [DependencySentence.of("see old dogs".split()).with_heads(heads) for heads in ((0, 3, 1), (0, 1, 1))])
    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t_\\t_\\t_\\n"
    >>> known = parse_partial_conllu(row.format(1, "see", "_") + row.format(2, "old", 1) + row.format(3, "dogs", "_"))
    >>> [(tree.heads, round(weight, 1)) for tree, weight in completed(model, known)]
    [((0, 1, 1), 1.0)]
    """
    for parses in model.parse_all(trees, n_best, projective=projective, scored=n_best > 1, jobs=jobs):
        for parse, share in zip(parses, parses.shares, strict=True):
            if share > 0.0:
                yield parse.sentence, share
