"""Convert parses to NLTK's trees."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from nltk.tree import ProbabilisticTree, Tree

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import phrase_to_nltk
from spectral_latent.drawing import tree_svg
from spectral_latent.model import Parse

__all__ = ["ParseTree"]


class ParseTree(ProbabilisticTree):
    """A parse: a `ProbabilisticTree` that keeps its log probability when it is copied.

    `logprob()` is log2 |p̂| of the estimated probability, and -inf for a fallback and for a tree of probability 0;
    `prob()` is 0 if the probability underflows.  NLTK's own copies take `prob()`, and their `logprob()` would then
    raise an error.  Subtrees are plain trees; `SpectralParser.with_subtree_probs` makes a tree whose subtrees have
    probabilities.

    >>> tree = ParseTree("S", ["word"], logprob=-4000.0)
    >>> tree.prob(), tree.copy(deep=True).logprob()
    (0.0, -4000.0)
    """

    @classmethod
    def of(cls, parse: Parse[Phrase]) -> ParseTree:
        """Convert a parse to a tree of NLTK's.

        parse: a parse by a model of this library.
        """
        tree = phrase_to_nltk(parse.tree)
        return cls(tree.label(), list(tree), logprob=parse.log / math.log(2))

    @classmethod
    def with_logprobs(cls, phrase: Phrase, logprobs: Sequence[float]) -> ParseTree:
        """Make a tree whose subtrees have log probabilities, too.

        phrase: the tree to convert.
        logprobs: log2 of the probability of each phrase, parents before children, left to right.

        >>> tree = ParseTree.with_logprobs(Phrase("NP", (Phrase("NN", ("rain",)),)), [-3.0, -2.0])
        >>> tree.prob(), tree[0].prob()
        (0.125, 0.25)
        """
        done: list[Any] = []
        remaining = list(logprobs)
        for node in reversed(list(phrase.nodes())):
            if isinstance(node, str):
                done.append(node)
            else:
                done.append(cls(node.label, [done.pop() for _ in node.children], logprob=remaining.pop()))
        tree: ParseTree = done.pop()
        return tree

    def _repr_svg_(self) -> str:
        """Draw the tree, for notebooks; NLTK's trees need svgling for that."""
        names: list[str] = []
        sizes: list[int] = []
        waiting: list[Any] = [self]
        while waiting:
            node = waiting.pop()
            is_tree = isinstance(node, Tree)
            names.append(str(node.label() if is_tree else node))
            sizes.append(len(node) if is_tree else -1)
            if is_tree:
                waiting.extend(reversed(node))
        return tree_svg(names, sizes, self.pformat(margin=sys.maxsize))

    def copy(self, deep: bool = False) -> ParseTree:
        """Copy the tree with its log probability; the copy equals the tree.

        deep: whether to copy the subtrees too.
        """
        children = [child.copy(deep=True) if deep and isinstance(child, Tree) else child for child in self]
        return type(self)(self.label(), children, logprob=self.logprob())
