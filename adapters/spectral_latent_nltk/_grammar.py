"""Make a grammar of NLTK's of the plain PCFG under a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction

from spectral_latent.constituency import ConstituencyModel, PhraseSymbol

__all__ = ["plain_pcfg"]

_Rule = tuple[Nonterminal, tuple[Nonterminal | str, ...], float]


def plain_pcfg(model: ConstituencyModel) -> PCFG:
    """Make a grammar of the rules of a model's first grammar, with their probabilities without latent states.

    Symbols are named as `Tree.chomsky_normal_form` and `Tree.collapse_unary` name them, so that
    `Tree.un_chomsky_normal_form` undoes the binarisation.  The start symbol is ROOT.  Terminals are the words seen in
    training; the probability that the model reserves for unseen words is divided among the seen words.
    """
    rules = [rule for rule in _weighted(model) if rule[-1] > 0]
    total: defaultdict[Nonterminal, float] = defaultdict(float)
    for parent, _, weight in rules:
        total[parent] += weight
    productions = [
        ProbabilisticProduction(parent, children, prob=weight / total[parent]) for parent, children, weight in rules
    ]
    return PCFG(Nonterminal("ROOT"), productions)


def _weighted(model: ConstituencyModel) -> Iterator[_Rule]:
    """List all rules with their weights; none is unary below the root, because chains are collapsed."""
    first = model.members[0]
    coarse = first.coarse
    words = first.lexicon.words
    names = [Nonterminal(_name(symbol)) for symbol in first.symbols]
    for name, weight in zip(names, coarse.root[:, 0].tolist(), strict=True):
        yield Nonterminal("ROOT"), (name,), weight
    for (a, b, c), tensor in zip(coarse.rules.binary.tolist(), coarse.binary, strict=True):
        yield names[a], (names[b], names[c]), tensor.multiplied_out().item()
    for (a, x), weight in zip(coarse.rules.leaf.tolist(), coarse.leaf[:, 0].tolist(), strict=True):
        if x < len(words):
            yield names[a], (words[x],), weight


def _name(symbol: PhraseSymbol) -> str:
    """Name a symbol: `NP+NN` is a chain, `NP|<DT-NN>` a part of an NP, `NP^<S>` an NP that remembers its parent."""
    name = "+".join(symbol.chain)
    memory = f"<{'-'.join(symbol.memory)}>"
    if symbol.bar:
        return f"{name}|{memory}"
    return f"{name}^{memory}" if symbol.memory else name
