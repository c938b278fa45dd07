"""Correct the trees of a growing treebank, and let a parser follow each correction at once.

A workbench has a start: a parser that was trained in the usual way on the trees of that moment.  Its grammars, of all
present trees, follow from sums (`ModelSums`), so that only a tree that changes is counted anew; `renew` trains a start
of the present trees.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, ModelSums, Phrase, clean
from spectral_latent.estimation import EstimationError
from spectral_latent.model import check_trees
from spectral_latent_annotate._suggestions import Suggestion, suggest_trees

_AT_ONCE = 500  # the number of trees that are counted together
_GROWTH = 2  # a start is old when there are so many times the trees that it was trained on
_FEWEST = 5  # the number of trees for the first start


class Workbench:
    """Trees with names, and the parser that learns from them.

    trees: the first trees, by name; a start is trained on them.
    options: the settings of the parser, as `ConstituencyModel.train` takes them; not those of the spectral estimator.

    >>> def tree(noun, verb): return Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", (verb,))))
    >>> names = [("dogs", "bark"), ("cats", "sleep"), ("birds", "sing"), ("dogs", "sleep"), ("cats", "sing")]
    >>> bench = Workbench({" ".join(pair): tree(*pair) for pair in names})
    >>> bench.add("new", tree("mice", "squeak"))
    >>> bench.suggest([["mice", "sing"]])[0].tree
    <Phrase: (S (NN mice) (VB sing))>
    >>> bench.remove("new")
    """

    def __init__(
        self,
        trees: Mapping[str, Phrase] | None = None,
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    ) -> None:
        self.options = options
        self._trees: dict[str, Phrase] = {}
        self._n_start = 0
        self._sums: ModelSums | None = None
        self._model: ConstituencyModel | None = None
        for name, tree in (trees or {}).items():
            self._trees[name] = _checked_tree(tree)
        if self._trees:
            self.renew()

    @property
    def trees(self) -> Mapping[str, Phrase]:
        """The trees by name, in the order in which they were added."""
        return MappingProxyType(self._trees)

    @property
    def is_old(self) -> bool:
        """Whether there are twice as many trees as at the last start, so that `renew` would help."""
        return len(self._trees) >= max(_GROWTH * self._n_start, _FEWEST)

    def add(self, name: str, tree: Phrase) -> None:
        """Add a tree.

        Raises ValueError if a tree has this name, and EstimationError if the tree has no words."""
        if name in self._trees:
            raise ValueError(f"there is a tree {name!r} already; replace it, or choose another name")
        self._trees[name] = _checked_tree(tree)
        self._count([tree], 1.0)

    def replace(self, name: str, tree: Phrase) -> None:
        """Put a tree in the place of another.

        Raises KeyError if no tree has this name, and EstimationError if the new one has no words."""
        before = self._trees[name]
        self._trees[name] = _checked_tree(tree)
        self._count([before], -1.0)
        self._count([tree], 1.0)

    def remove(self, name: str) -> None:
        """Take a tree away.

        Raises KeyError if no tree has this name."""
        self._count([self._trees.pop(name)], -1.0)

    def renew(self) -> None:
        """Train a new start on the present trees, and count all of them under it; without trees there is none."""
        trees = list(self._trees.values())
        self._model = None
        self._n_start = len(trees)
        self._sums = ModelSums(ConstituencyModel.train(trees, self.options)) if trees else None
        for first in range(0, len(trees), _AT_ONCE):
            self._count(trees[first : first + _AT_ONCE], 1.0)

    def _count(self, trees: Sequence[Phrase], weight: float) -> None:
        """Add trees to the sums, or take them away (-1)."""
        self._model = None
        if self._sums is not None:
            self._sums.add(trees, weight)

    @property
    def model(self) -> ConstituencyModel | None:
        """The parser that has learnt from the present trees; None without trees or a start."""
        if self._model is None and self._sums is not None and self._trees:
            self._model = self._sums.estimate()
        return self._model

    def suggest(self, sentences: Iterable[Sequence[str]]) -> list[Suggestion]:
        """Suggest a tree for each sentence, as `suggest_trees` does; a flat one as long as there is no parser.

        Raises ValueError for a sentence without words."""
        return suggest_trees(self.model, sentences)


def _checked_tree(tree: Phrase) -> Phrase:
    """Return a tree.  Raises EstimationError if it has no words after cleaning, TypeError if it is no tree."""
    (found,) = check_trees([tree], Phrase)
    if clean(found) is None:
        raise EstimationError(f"the tree has no words: {found.bracketed():.80}")
    return found
