"""The parser of phrases: one latent PCFG, or several that average what they find."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.constituents import Constituents, Gains
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.phrase_grammar import Chart, ConstituencyOptions, PhraseGrammar, Treebank, cleaned
from spectral_latent.estimation import Listener, silent
from spectral_latent.inference import Weight
from spectral_latent.operators import opened_model, save_model
from spectral_latent.trees import FloatArray, IntArray

__all__ = ["FALLBACK", "ConstituencyModel", "Parse"]

FALLBACK = "FALLBACK"  # the label over a flat tree for a sentence that the grammar cannot derive
_KIND = "constituency"


class Parse(NamedTuple):
    """A tree for a sentence, and what the model says of it.

    sign, log: of the tree's estimated probability p̂, as `score` gives it; an estimate may be negative.
    A fallback has sign 0, log -inf.
    """

    tree: Phrase
    sign: int
    log: float

    @property
    def is_fallback(self) -> bool:
        """Whether the grammar had no derivation of the sentence, and the tree is flat."""
        return self.tree.label == FALLBACK


@dataclass(frozen=True, eq=False)
class ConstituencyModel:
    """A parser made of one or more latent PCFGs, whose posteriors of constituents are averaged.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    members: tuple[PhraseGrammar, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise ValueError("a parser needs at least one grammar")

    @staticmethod
    def train(
        phrases: Iterable[Phrase],
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        *,
        jobs: int = 1,
        listener: Listener = silent,
    ) -> ConstituencyModel:
        """Learn from treebank trees, which are cleaned first; on several processes with the same result.

        options: of the one grammar, or of each of several; see `presets`.
        Raises EstimationError if a tree holds no word, or there is no tree.
        """
        phrases, given = list(phrases), options or ConstituencyOptions()
        members = []
        for own in [given] if isinstance(given, ConstituencyOptions) else given:
            treebank = Treebank.of(phrases, own)
            members.append(PhraseGrammar(own, treebank.labels, treebank.grammar.estimate(jobs=jobs, listener=listener)))
        return ConstituencyModel(tuple(members))

    @property
    def options(self) -> ConstituencyOptions:
        """Those of the first grammar; how trees are chosen among constituents is the same for all."""
        return self.members[0].options

    @cached_property
    def _chains(self) -> tuple[list[tuple[str, ...]], list[IntArray]]:
        """The chains of all members, and the number among them of each one's own."""
        all_chains = dict.fromkeys(chain for member in self.members for chain in member.chains)
        number = {chain: at for at, chain in enumerate(all_chains)}
        return list(number), [np.array([number[chain] for chain in member.chains]) for member in self.members]

    @cached_property
    def _gains(self) -> Gains:
        return Gains(self._chains[0], self.options.cost)

    def charts(self, words: Sequence[str]) -> list[Chart | None]:
        """Each grammar's pruned chart of a sentence; None of one that does not derive it."""
        return [member.chart(words) for member in self.members]

    def constituents(self, charts: Sequence[Chart | None]) -> Constituents | None:
        """The mean of the posteriors of those grammars that derive the sentence; None if none does."""
        parts = []
        for member, chart, number in zip(self.members, charts, self._chains[1], strict=True):
            if chart is not None:
                found = member.constituents(chart)
                parts.append(found._replace(chain=number[found.chain]))
        return Constituents.mean(parts) if parts else None

    def posteriors(self, trees: Sequence[Phrase], words: Sequence[str]) -> list[FloatArray]:
        """Of trees without traces over one sentence, the posteriors of their labelled constituents, tags included."""
        found = self.constituents(self.charts(words)) if words else None
        by_label = {} if found is None else self._gains.by_label(found)
        return [np.array([by_label.get(part, 0.0) for part in _parts(tree)]) for tree in trees]

    def parse(self, words: Sequence[str]) -> Parse:
        """The tree of the most gain; see `constituents`.  Raises ValueError if the sentence is empty."""
        return self.parse_nbest(words, 1)[0]

    def parse_nbest(self, words: Sequence[str], k: int) -> list[Parse]:
        """Up to k different trees of a sentence, by falling gain; a marked fallback at worst.

        Raises ValueError if the sentence is empty or k < 1.
        """
        if not words:
            raise ValueError("an empty sentence has no parse")
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        trees = self.trees(self.charts(words), words, k)
        if not trees:
            return [self.fallback(words)]
        weight = self.score(trees)
        return [
            Parse(tree, int(sign), float(log)) for tree, sign, log in zip(trees, weight.sign, weight.log, strict=True)
        ]

    def trees(self, charts: Sequence[Chart | None], words: Sequence[str], k: int) -> list[Phrase]:
        """Up to k different trees of a sentence, by falling gain under all grammars, from the first that has any."""
        found = self.constituents(charts)
        if found is None:
            return []
        at, chart = next((at, chart) for at, chart in enumerate(charts) if chart is not None)
        member, number, spans = self.members[at], np.append(self._chains[1][at], -1), chart.spans
        gain = self._gains.at(found, spans.first, spans.end, number[member.chain_of[spans.forest.symbol]])
        return member.trees(chart, words, gain, k)

    def fallback(self, words: Sequence[str]) -> Parse:
        """A flat tree, marked by its label, over each word's most frequent tag."""
        found = (Phrase(tag, (word,)) for tag, word in zip(self.members[0].tags(words), words, strict=True))
        return Parse(Phrase(FALLBACK, tuple(found)), 0, -np.inf)

    def score(self, phrases: Iterable[Phrase]) -> Weight:
        """Estimated probabilities p̂ of trees with their words, as sign and log: the mean over the grammars.

        Of a rule never seen, zero.  In the place of a word never seen stands its signature, under tags as likely as
        its spelling makes them.  The trees are cleaned as for training.  Raises EstimationError if one holds no word.
        """
        trees = list(cleaned(phrases))
        return Weight.mean([member.score(trees) for member in self.members])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all."""
        arrays = {
            f"{at}.{name}": array
            for at, member in enumerate(self.members)
            for name, array in member.grammar.arrays().items()
        }
        save_model(path, arrays, {"kind": _KIND, "members": [member.settings() for member in self.members]})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ConstituencyModel:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        with opened_model(path, _KIND) as (arrays, settings):
            members = []
            for at, own in enumerate(settings["members"]):
                prefix = f"{at}."
                named = {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}
                members.append(PhraseGrammar.from_arrays(named, own))
            return ConstituencyModel(tuple(members))


def _parts(tree: Phrase) -> list[tuple[int, int, str, bool]]:
    """First and next word, label, and whether it is a tag, of every constituent."""
    parts: list[tuple[int, int, str, bool]] = []
    opened: list[tuple[str, int]] = []
    stack: list[Phrase | None] = [tree]
    at = 0
    while stack:
        node = stack.pop()
        if node is None:
            label, first = opened.pop()
            parts.append((first, at, label, False))
        elif isinstance(node.children[0], str):
            parts.append((at, at + 1, node.label, True))
            at += 1
        else:
            opened.append((node.label, at))
            stack.append(None)
            stack += reversed([child for child in node.children if isinstance(child, Phrase)])
    return parts
