"""A formalism over words: derivations of a categorial grammar, such as `the:NP/N` and `dog:N` to `NP`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from spectral_latent.estimation import TreeReader, read_treebanks
from spectral_latent.files import are_distinct
from spectral_latent.grammar import Charts, GrammarOptions, LatentGrammar, prepare_grammar, spelling_of
from spectral_latent.grammar.parser import Parser
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.model import Partial
from spectral_latent.model.parts import WeighedForest
from spectral_latent.trees import IntArray, SkeletalTrees, Vocabulary

Derivation = tuple[str, Any] | tuple[str, Any, Any]  # a category with a word, or with two derivations
Known = Mapping[int, str]  # the categories that are known of words, which are numbered from 0


def words_of(tree: Derivation) -> list[str]:
    return [tree[1]] if len(tree) == 2 else [word for child in tree[1:] for word in words_of(child)]


def s_trees(trees: Iterable[Derivation], symbol: Callable[[str], int], terminal: Callable[[str], int]) -> SkeletalTrees:
    """Write a row for each node, children before parents: its symbol, its children, and its terminal."""
    rows: list[tuple[int, int, int, int]] = []

    def add(tree: Derivation) -> int:
        if len(tree) == 2:
            rows.append((symbol(tree[0]), -1, -1, terminal(tree[1])))
        else:
            left, right = map(add, tree[1:])
            rows.append((symbol(tree[0]), left, right, -1))
        return len(rows) - 1

    root = list(map(add, trees))
    symbols, left, right, terminals = map(list, zip(*rows, strict=True))
    return SkeletalTrees.of(symbols, left=left, right=right, terminal=terminals, root=root)


@dataclass(frozen=True, eq=False, repr=False)
class CategorialGrammar(LatentGrammar[str, GrammarOptions, Sequence[str], Known, Derivation]):
    """A member: which derivations may words have, and which derivations have given trees?"""

    options: GrammarOptions
    symbols: Annotated[list[str], are_distinct]  # the categories

    @staticmethod
    def tag_of(symbol: str) -> str:
        return symbol

    def name_of(self, symbol: str) -> str:
        return symbol

    def chart(self, inputs: Sequence[Partial[Sequence[str], Known]]) -> Charts:
        return self.charts([words for words, _ in inputs], self.tags_of(inputs))

    def tags_of(self, inputs: Sequence[Partial[Sequence[str], Known]]) -> IntArray:
        """Number the only category that each word of all inputs may have; -1 for any."""
        return self.tag_numbers.numbers(known.get(at, "") for words, known in inputs for at in range(len(words)))

    def forest_of(self, trees: Sequence[Derivation]) -> WeighedForest:
        grammar = self.for_sentences(list(map(words_of, trees)))
        places = iter(range(len(grammar.words.word)))  # a terminal is a place among the words of all trees
        converted = s_trees(trees, Vocabulary(self.symbols).get, lambda word: next(places))
        return WeighedForest(grammar.latent, grammar.forest_of(converted))

    def output(self, tree: SkeletalTrees, given: Partial[Sequence[str], Known] | None = None) -> Derivation:
        words = [self.lexicon.words[x] for x in tree.terminal[tree.is_leaf]] if given is None else given.sentence
        spelt, made = iter(words), list[Derivation]()
        for name, left, right in zip(tree.symbol.tolist(), tree.left.tolist(), tree.right.tolist(), strict=True):
            made.append(
                (self.symbols[name], next(spelt)) if left < 0 else (self.symbols[name], made[left], made[right])
            )
        return made[-1]


@dataclass(frozen=True, eq=False, repr=False)
class CategorialModel(Parser[CategorialGrammar, Sequence[str], Known, Derivation]):
    """The model, which the steps, saving, n best, samples and surprisal come with."""

    kind = "categorial"
    any_tree: ClassVar[Known] = {}

    members: tuple[CategorialGrammar, ...]

    @staticmethod
    def train(trees: Iterable[Derivation], options: Sequence[GrammarOptions]) -> CategorialModel:
        symbols, words = Vocabulary[str](), Vocabulary[str]()
        reader = TreeReader[Derivation](lambda some: s_trees(some, symbols.add, words.add))
        (treebank,) = read_treebanks(trees, [reader])
        category, word = treebank.counts.rules.leaf.T
        seen = WordCounts.of(category, word, np.zeros(len(word), dtype=np.bool_), treebank.counts.leaf.ravel())
        tags = sorted({symbols.names[number] for number in category.tolist()})
        spelling = spelling_of(words.names, seen, Vocabulary(tags).numbers(symbols.names), len(tags))
        lexicon = Lexicon(words.names, spelling)
        prepared = (
            prepare_grammar(CategorialGrammar, symbols.names, treebank, lexicon, tags, each) for each in options
        )
        return CategorialModel(tuple(each.estimate() for each in prepared))

    def checked(self, given: Any, **settings: Any) -> Partial[Sequence[str], Known]:
        words, known = super().checked(given)
        for at, category in known.items():
            if category not in self.members[0].tags or not 0 <= at < len(words):
                raise ValueError(f"word {at} of {len(words)} cannot have the category {category!r}")
        return Partial(words, known)

    def _tags(self, given: Partial[Sequence[str], Known], grammar: CategorialGrammar) -> IntArray:
        return grammar.tags_of([given])

    @staticmethod
    def _length(tree: Derivation) -> int:
        return len(words_of(tree))
