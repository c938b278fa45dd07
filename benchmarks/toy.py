r"""Read a latent grammar that is written by hand, `toy.txt`, of which the ready model `toy` is made.

It has a little English.  The labels are the Penn Treebank's, except that all nouns have one tag (NN) and all verbs one
(VB).  The states distinguish number, case, the complements of verbs, and the uses of prepositional phrases.  Therefore
most sentences have a single likely tree under this grammar, while a plain PCFG over the same labels has to guess.

The notation:

| notation | meaning |
| --- | --- |
| `NP[sg]` | symbol NP in state sg |
| `NP\|NN`, `@NP` | NP over NN alone; a part of NP (the symbols of `constituency.conversion`) |
| `A -> B C 3` | a rule and its weight; the weights of one left-hand side are scaled to sum to one |
| `A : x y z` | words; the r-th word of A, in all lines for A, has the weight 1 / (r + 4)³ |
| `A B -> ...` | the line stands for two: one for A, one for B |
| `#`, `x/y` | the line stands for two: `sg` and x in one, `pl` and y in the other |
| `subject -> NP 2` | a name in small letters stands for one of its right-hand sides, and leaves no node |

The first left-hand side is the root.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, PhraseGrammar
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.files import CompactOperators
from spectral_latent.inference import collapse, mean_node_counts
from spectral_latent.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, Rules, Vocabulary

__all__ = ["WrittenGrammar", "parse_grammar", "train_toy"]


class WrittenGrammar(NamedTuple):
    """A latent PCFG in the basis of its states.

    states: the symbol and state of each name, such as `NP[sg]`.
    operators: the probabilities of the rules."""

    labels: list[PhraseSymbol]
    words: list[str]
    states: dict[str, tuple[int, int]]
    operators: ObservableOperators


class _Production(NamedTuple):
    """One choice of a left-hand side: a word, or names of symbols."""

    weight: float
    symbols: tuple[str, ...]
    word: str = ""


_Productions = dict[str, list[_Production]]


def _lines(text: str) -> Iterator[list[str]]:
    """Split each line into tokens; a line with # or / stands for one in the singular and one in the plural."""
    for line in text.splitlines():
        numbers = ("sg", "pl") if "#" in line or "/" in line else ("",)
        for choice, number in enumerate(numbers):
            tokens = [token.split("/")[min(choice, token.count("/"))].replace("#", number) for token in line.split()]
            if tokens:
                yield tokens


def _read(text: str) -> _Productions:
    """Read the productions of each left-hand side, with weights and abbreviations as written."""
    grammar: _Productions = defaultdict(list)
    for tokens in _lines(text):
        arrow = next((place for place, token in enumerate(tokens[1:], start=1) if token in ("->", ":")), 0)
        right = tokens[arrow + 1 :]
        if not arrow or len(right) < 1 + (tokens[arrow] == "->"):
            raise ValueError(f"neither a rule `A -> B C 1` nor words `A : x y`: {' '.join(tokens)}")
        for left in tokens[:arrow]:
            productions = grammar[left]
            if tokens[arrow] == "->":
                productions.append(_Production(float(right[-1]), tuple(right[:-1])))
            else:
                ranks = range(len(productions) + 1, len(productions) + len(right) + 1)
                productions += (
                    _Production((rank + 4) ** -3.0, (), word) for rank, word in zip(ranks, right, strict=True)
                )
    used = {name for productions in grammar.values() for production in productions for name in production.symbols}
    if undefined := used - set(grammar):
        raise ValueError(f"no rules and no words for {', '.join(sorted(undefined))}")
    return grammar


def _is_abbreviation(name: str) -> bool:
    """Tell whether a name stands for its right-hand sides."""
    return name[0].islower()


def _normalise(grammar: _Productions) -> _Productions:
    """Replace abbreviations by their right-hand sides, and scale the weights of each left-hand side to sum to one."""

    def choices(name: str) -> list[tuple[float, tuple[str, ...]]]:
        """List the symbols that a name on a right-hand side may stand for, with their probabilities."""
        if not _is_abbreviation(name):
            return [(1.0, (name,))]
        return [(weight, symbols) for weight, symbols, _ in spelt_out(name)]

    def spelt_out(left: str) -> Iterator[_Production]:
        """Replace the abbreviations in the productions of a left-hand side."""
        total = sum(production.weight for production in grammar[left])
        for weight, symbols, word in grammar[left]:
            for chosen in product(*map(choices, symbols)):
                probability = weight / total * prod(share for share, _ in chosen)
                yield _Production(probability, tuple(name for _, names in chosen for name in names), word)

    return {left: list(spelt_out(left)) for left in grammar if not _is_abbreviation(left)}


def _number(names: Iterable[str]) -> tuple[list[PhraseSymbol], dict[str, tuple[int, int]]]:
    """Number the symbols, and the states of each; return the symbols' labels, and the symbol and state of each name."""
    labels: Vocabulary[PhraseSymbol] = Vocabulary()
    states: Counter[int] = Counter()  # the number of states of each symbol so far
    numbers = {}
    for name in names:
        written = name.partition("[")[0]  # NP|NN of NP|NN[pl]
        symbol = labels.add(PhraseSymbol(tuple(written.removeprefix("@").split("|")), bar=written.startswith("@")))
        numbers[name] = symbol, states[symbol]
        states[symbol] += 1
    return labels.names, numbers


def _operators(
    grammar: _Productions, numbers: dict[str, tuple[int, int]], words: Vocabulary[str]
) -> ObservableOperators:
    """Make the operators of a grammar without abbreviations, in the basis of its states."""
    # Names: a → b c, with the states h, i and j; the first name is the root.
    states = np.bincount([symbol for symbol, _ in numbers.values()])
    emissions: dict[tuple[int, int], FloatArray] = defaultdict(lambda: np.zeros(states.max()))
    tensors: dict[tuple[int, int, int], FloatArray] = {}
    for left, productions in grammar.items():
        a, h = numbers[left]
        for weight, names, word in productions:
            if word:
                emissions[a, words.add(word)][h] += weight
            elif len(names) != 2:
                raise ValueError(f"a rule must have two children: {left} -> {' '.join(names)}")
            else:
                (b, i), (c, j) = (numbers[name] for name in names)
                tensors.setdefault((a, b, c), np.zeros(states[[a, b, c]]))[h, i, j] += weight
    leaf = sorted(emissions)
    binary = sorted(tensors)
    root = np.zeros((len(states), states.max()))
    root[numbers[next(iter(grammar))]] = 1.0
    return ObservableOperators(
        Rules(np.array(leaf), np.empty((0, 2), dtype=np.int64), np.array(binary, dtype=np.int64).reshape(-1, 3)),
        states,
        root,
        leaf=np.array([emissions[rule] for rule in leaf]),
        unary=np.empty((0, states.max(), states.max())),
        binary=Tensors.of(Tensor.of_dense(tensors[rule]) for rule in binary),
        probabilities=True,
    )


def parse_grammar(text: str) -> WrittenGrammar:
    """Read a grammar in the notation of this module; every rule has two children, or one word."""
    grammar = _normalise(_read(text))
    labels, states = _number(grammar)
    words: Vocabulary[str] = Vocabulary()
    operators = _operators(grammar, states, words)
    return WrittenGrammar(labels, words.names, states, operators)


def train_toy(files: Sequence[Path]) -> ConstituencyModel:
    """Make the model of the grammar in a file; it knows no other words than those of its rules.

    Its `operators` are true probabilities; `coarse` is the PCFG that treebanks of growing size tend to."""
    (file,) = files
    grammar = parse_grammar(file.read_text("utf-8"))
    counts = mean_node_counts(grammar.operators)
    truth = PhraseGrammar(
        ConstituencyOptions(rows=0.0),
        grammar.labels,
        tags=[],
        lexicon=Lexicon(grammar.words),
        seen=np.ones(len(grammar.operators.rules.binary), dtype=bool),
        prior=counts.sum(axis=1) / counts.sum(),
        coarse=collapse(grammar.operators),
        latent=CompactOperators.of(grammar.operators),
    )
    return ConstituencyModel((truth,))
