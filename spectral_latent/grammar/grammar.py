"""A latent PCFG over words, and the plain PCFG over the same rules that prunes its charts.

What a formalism adds is what its symbols stand for, and how its trees become s-trees and back.

| here | meaning |
| --- | --- |
| family | the symbols over words that share a tag, such as `NN` and `NP\\|NN`; numbered as `tags` |
| plain | the PCFG with one state a symbol: relative frequencies |
| prior | share of each symbol among the nodes of the treebank |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar.floors import floored_weights, whatever
from spectral_latent.grammar.forests import ForestBuilder, SpanForest
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.lexicon import Lexicon, LexiconOptions, UnseenLeaves, UnseenWords
from spectral_latent.operators import (
    ObservableOperators,
    arrays_of,
    column_from,
    operators_from,
)
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, SkeletalTrees

__all__ = ["GrammarOptions", "LatentGrammar", "ReadWords"]


@dataclass(frozen=True)
class GrammarOptions:
    """Settings of training and parsing.

    absolute: marginals are taken by absolute value before the arg max (slides 21, 22).
    fragments: trees to add that consist of any one phrase, so that fragments can be parsed; see `solve`.
    beam, threshold: what the plain PCFG prunes; see `charts.fill` and `extraction.extract`.
    floor: where the estimated weight of a part of a tree is less than this share of the plain PCFG's, that one stands
    in for it when trees are scored, so that no weight is negative; None for estimates as they are.  See `floors`.
    """

    estimator: EstimatorOptions = field(default_factory=EstimatorOptions)
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    absolute: bool = True
    fragments: float = 0.1
    beam: float = 1e-6
    threshold: float = 1e-4
    floor: float | None = None


class ReadWords(NamedTuple):
    """The words of one or more sentences as terminals, with leaf rules for those unseen.

    family: (n,) the only family that each word may have, or -1; None if none is given.
    """

    terminals: IntArray  # (n,)
    leaves: UnseenLeaves
    family: IntArray | None = None


@dataclass(frozen=True, eq=False)
class LatentGrammar:
    """Latent and plain operators over the same rules, with a lexicon.

    family: (S,) of each symbol over words, -1 of others.
    seen: (R2,) the binary rules that the treebank has; charts try these alone first.
    """

    options: GrammarOptions
    tags: list[str]
    family: IntArray
    lexicon: Lexicon
    seen: BoolArray
    prior: FloatArray
    plain: ObservableOperators
    operators: ObservableOperators

    def __post_init__(self) -> None:
        if not self.plain.rules.equals(self.operators.rules):
            raise ValueError("the plain and the latent grammar must number the same rules")

    def _charts(self, used: BoolArray) -> ForestBuilder:
        return ForestBuilder(self.plain, self.prior, self.options.threshold, self.family, used)

    @cached_property
    def _forests(self) -> ForestBuilder:
        return self._charts(self.seen)

    @cached_property
    def _full_forests(self) -> ForestBuilder:
        return self._forests if self.seen.all() else self._charts(np.ones_like(self.seen))

    @cached_property
    def _stand_in(self) -> FloatArray:
        return whatever(self.operators, self.plain)

    @cached_property
    def _leaf_keys(self) -> IntArray:
        """One number for each leaf rule (R0,), increasing."""
        symbol, terminal = self.plain.rules.leaf.T
        keys: IntArray = symbol * self.lexicon.n_terminals + terminal
        return keys

    @cached_property
    def _unseen(self) -> UnseenWords | None:
        """Leaf rules for unseen words, where the lexicon has learnt spellings; else they are their signatures."""
        if self.lexicon.spelling is None:
            return None
        return UnseenWords(self.lexicon, self.plain.rules.leaf, self.plain.leaf[:, 0], self.prior, self.family)

    def read(self, words: Sequence[str], family: IntArray | None = None) -> ReadWords:
        """A sentence, for `forest`: unseen words may have all tags that are not too unlikely.

        family: (n,) the number of each word's tag where it is known, else -1.
        """
        return self._read([words], self.lexicon.options.least, family)

    def read_all(self, sentences: Sequence[Sequence[str]], family: IntArray | None = None) -> ReadWords:
        """Sentences one after another, to score their trees: unseen words may have any tag."""
        return self._read(sentences, 0.0, family)

    def _read(self, sentences: Sequence[Sequence[str]], least: float, family: IntArray | None = None) -> ReadWords:
        if self._unseen is None:
            terminals = [self.lexicon.terminals_of(words) for words in sentences]
            return ReadWords(np.concatenate([np.zeros(0, dtype=np.int64), *terminals]), UnseenLeaves.none(), family)
        return ReadWords(*self._unseen.read(sentences, least, family), family)

    def leaf_rules(self, read: ReadWords, symbol: IntArray, word: IntArray) -> IntArray:
        """The row, as `on` reads it, of the leaf rules of symbols (n,) over words (n,) of those read; -1 if none."""
        terminal, keys = read.terminals[word], self._leaf_keys
        wanted = symbol * self.lexicon.n_terminals + terminal
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        is_known = (keys[at] == wanted) & (symbol >= 0) & (terminal < self.lexicon.n_terminals)
        unseen = read.leaves.find(symbol, terminal)
        return np.where(unseen < 0, np.where(is_known, at, -1), len(keys) + unseen)

    def forest(self, read: ReadWords) -> SpanForest | None:
        """The pruned forest of a sentence; None if the grammar cannot derive it, whatever the words' tags.

        Its rules are the grammar's, and leaf rules for unseen words after them; see `on`.
        """
        unknown, beam = np.full(len(read.terminals), self.lexicon.unknown), self.options.beam
        seen, full = self._forests, self._full_forests
        attempts = [(seen, beam, read), (full, 0.0, read), (full, 0.0, ReadWords(unknown, read.leaves))]
        if seen is not full:
            attempts.insert(1, (full, beam, read))
        for charts, least, words in attempts:
            forest = charts.with_leaves(read.leaves).build(words.terminals, least, words.family)
            if forest is not None:
                return forest
        return None

    def on(self, read: ReadWords, forest: Forest) -> tuple[ObservableOperators, Forest]:
        """The latent operators with the leaf rules that a forest over these words uses, which it then numbers."""
        return read.leaves.within(self.operators, forest)

    def likeliest(self, read: ReadWords) -> list[int]:
        """The symbol over each word with the largest share of the training nodes."""
        charts = self._forests.with_leaves(read.leaves)
        return [charts.likeliest(terminal) for terminal in read.terminals.tolist()]

    def weights(self, trees: SkeletalTrees, read: ReadWords) -> Weight:
        """p̂ of s-trees, as sign and log; their terminals are the places of words among those read.

        Symbols beyond the grammar's are unknown: the weight of a tree with one, or with an unknown rule, is zero.
        In the place of a word never seen stands its signature, under tags as likely as its spelling makes them.
        """
        leaves = np.flatnonzero(trees.is_leaf)
        symbol = np.where(trees.symbol < self.operators.n_symbols, trees.symbol, -1)
        known = SkeletalTrees(symbol, trees.left, trees.right, np.full(trees.n_nodes, -1), trees.root)
        rule = known.rule_in(self.operators.rules)
        rule[leaves] = self.leaf_rules(read, symbol[leaves], trees.terminal[leaves])
        forest = Forest.of_trees(known, self.operators.rules)._replace(rule=rule)
        operators, own_forest = self.on(read, forest)
        if self.options.floor is None or operators.probabilities:
            return tree_weights(operators, own_forest)
        plain, _ = read.leaves.within(self.plain, forest)
        return floored_weights(operators, plain, trees, own_forest, self._stand_in, self.options.floor)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The numbers of the grammar, for a file."""
        own = {"prior": self.prior, "seen": self.seen}
        return own | arrays_of("plain", self.plain) | arrays_of("latent", self.operators) | self.lexicon.arrays()

    def settings(self) -> dict[str, Any]:
        """What else a file needs; the families of the symbols follow from what they stand for."""
        return {
            "options": asdict(self.options),
            "tags": self.tags,
            "words": self.lexicon.words,
            "probabilities": self.operators.probabilities,
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], family: IntArray, options: GrammarOptions
    ) -> LatentGrammar:
        """The inverse of `arrays` and `settings`.  Raises ValueError, KeyError or TypeError if they are no grammar."""
        words, tags, prior = settings["words"], settings["tags"], column_from("prior", arrays)
        lexicon = Lexicon.from_arrays(words, options.lexicon, arrays)
        plain = operators_from("plain", dict(arrays), probabilities=True)
        latent = operators_from("latent", dict(arrays), probabilities=settings["probabilities"] is True)
        if not isinstance(words, list) or not all(isinstance(tag, str) for tag in tags):
            raise ValueError("words or tags are missing")
        seen = arrays["seen"]
        if seen.dtype != np.bool_ or seen.shape != (len(plain.rules.binary),):
            raise ValueError("seen does not fit the rules")
        fits = len(family) == len(prior) == plain.n_symbols == latent.n_symbols and (plain.states == 1).all()
        if fits and lexicon.spelling is not None:
            over_words = family[plain.rules.leaf[:, 0]]
            fits = lexicon.spelling.n_symbols == len(tags) and bool((over_words >= 0).all())
        if not fits or not plain.rules.equals(latent.rules):
            raise ValueError("the model's parts do not fit together")
        return LatentGrammar(options, tags, family, lexicon, seen, prior, plain, latent)
