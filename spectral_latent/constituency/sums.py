"""Let a parser follow a treebank that changes: only a tree that comes or goes is counted."""

from collections.abc import Sequence

from spectral_latent.constituency.cleaning import cleaned, without_functions
from spectral_latent.constituency.conversion import convert_trees
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.model import ConstituencyModel
from spectral_latent.constituency.tree import Phrase
from spectral_latent.grammar import GrammarSums


class ModelSums:
    """Sums over the trees of a changing treebank, of which the grammars of a parser follow.

    The parser is that of one iteration of EM from the start on the present trees, whatever order they came in.  Its
    states, its model of spans and, as long as the tags are the same, its model of spelling are those of the start.

    start: the parser whose probabilities weigh the derivations of each tree.

    >>> def tree(noun, verb): return Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", (verb,))))
    >>> trees = [tree(noun, verb) for noun in ("dogs", "cats", "birds") for verb in ("bark", "sleep")]
    >>> sums = ModelSums(ConstituencyModel.train(trees))
    >>> sums.add([*trees, tree("mice", "squeak")])
    >>> sums.estimate().parse(["mice", "sleep"]).tree
    <Phrase: (S (NN mice) (VB sleep))>
    """

    def __init__(self, start: ConstituencyModel) -> None:
        self._start = start
        labelling = [] if start.functions is None else [start.functions.grammar]
        self._sums: list[GrammarSums[PhraseGrammar]] = [GrammarSums(each) for each in (*start.members, *labelling)]

    def add(self, trees: Sequence[Phrase], weight: float = 1.0) -> None:
        """Count trees; a weight of -1 takes trees away that were counted before.

        Raises EstimationError if a tree has no words."""
        keeps_functions = any(sums.start.options.function_labels for sums in self._sums)
        clean = list(cleaned(trees, function_labels=keeps_functions))
        plain = list(map(without_functions, clean)) if keeps_functions else clean
        for sums in self._sums:
            options = sums.start.options
            of_grammar = clean if options.function_labels else plain
            sums.add(convert_trees(of_grammar, options.binarisation, sums.symbols, sums.words).trees, weight)

    def estimate(self) -> ConstituencyModel:
        """Make the parser of the present trees, of which there is at least one."""
        grammars = [sums.estimate() for sums in self._sums]
        n = len(self._start.members)
        functions = FunctionLabeller(grammars[n]) if grammars[n:] else None
        return ConstituencyModel(tuple(grammars[:n]), self._start.spans, functions)
