"""Number the words of training data, and signatures for all other words, and find the leaf rules of a sentence.

A word that was never seen gets rules from its signature and its spelling:

| here | meaning |
| --- | --- |
| p(a, s) | probability of a leaf rule a → s, s a signature: p(s \\| a) p(a) in the coarse grammar |
| tag f of a | the tag of a symbol over words; `NN` and `NP\\|NN` have the same tag |
| p(f, s) / p(s) | `_share`: the probability of the tag f given s |
| P(f \\| x) | the probability of the tag f given the spelling of a word x |
| c∞(a, s) P(f \\| x) / (p(f, s) / p(s)) | the vector of a → x, for an unseen word x whose finest known signature is s |

If no symbol of tag f emits s, the signature that all words share replaces s.  If no symbol of tag f emits that
signature, either, f emits no unseen word.  But if the word is given with the tag f, the most frequent word of f
replaces s.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, AtMost, Options
from spectral_latent.files import TEXT, CompactOperators, are_distinct
from spectral_latent.lexicon.spelling import (
    DEPTH,
    Signature,
    SpellingModel,
    all_signatures,
    count_signatures,
    signatures,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.tokenisation import MARKS
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary, ranges

_REMEMBERED = 50_000  # the number of words whose signature, or whose leaf rules, are kept

# An unseen spelling of a mark takes the first of the others that was seen; on a keyboard some marks are one.
_KEYBOARD = {"``": ('"',), "''": ('"',), "`": ("'",), "--": ("-",)}
_MARKS = [("'", "’"), *((*marks, *_KEYBOARD.get(marks[0], ())) for marks in MARKS)]
_OTHER_SPELLINGS = {mark: [other for other in marks if other != mark] for marks in reversed(_MARKS) for mark in marks}
_ANY = 1e-3  # the factor of the rules of any word, so that the rules of the word itself are preferred
_FLOOR = 1e-12  # the least P(f | x) of a tag that is given for a word
_Place = tuple[str, bool, int]  # a word, whether it opens a sentence, and its only tag or -1
_Key = str | _Place  # a word alone is one inside a sentence that may have any tag: most words are, and tuples take time


@dataclass(frozen=True)
class LexiconOptions(Options):
    """Strengths of the lexicon's back-offs, in tokens; `smoothing` has the formulas.

    rare_count: the largest number of occurrences of a rare word.  Rare words contribute to the statistics of their
    signatures, and are smoothed by these statistics.
    back_off_strength: K, the weight of a coarser signature in a finer one.
    signature_strength: B, the weight of a signature in a rare word that has it.
    tag_strength: C, the weight of a tag's distribution over words in the distribution of each symbol with this tag.
    mean_strength: the weight of a symbol's mean z in the smoothed mean z of a rule; the rule's own weight is √n.
    min_expected: pairs of a symbol and a word or signature are left out if their expected count is smaller."""

    rare_count: Annotated[int, AtLeast(0)] = 10
    back_off_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 2.0
    signature_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    tag_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 100.0
    mean_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    min_expected: Annotated[float, AtLeast(0.0)] = 3e-4


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """The terminals of a treebank: 0 ... W-1 are words, the rest are the signatures of these words.

    words: the words seen in training.
    spelling: a model that predicts the tags of words from their spelling; None if there is no such model.

    >>> lexicon = Lexicon(["trading", "the"])
    >>> lexicon.terminals_of(["The", "walking"]).tolist(), lexicon.terminals.names[3]
    ([1, 3], ('x', 'ing'))
    """

    words: Annotated[list[str], TEXT, are_distinct]
    spelling: SpellingModel | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", self._numbers.names)

    @cached_property
    def _numbers(self) -> Vocabulary[str]:
        """The words with their numbers."""
        return Vocabulary(self.words)

    @cached_property
    def terminals(self) -> Vocabulary[str | Signature]:
        """The words and signatures, with their numbers."""
        return Vocabulary(chain(self.words, [()], all_signatures(self.words)))

    @cached_property
    def n_terminals(self) -> int:
        """The number of words and signatures."""
        return len(self.words) + count_signatures(self.words)

    @cached_property
    def _signatures(self) -> dict[str, int]:
        """The terminals of signatures of words that were looked up."""
        return {}

    def terminals_of(self, words: Sequence[str], first: Collection[int] = (0,)) -> IntArray:
        """Look up the terminal of each word: the word if it is known, or the finest signature that a known word shares.

        An unknown word that opens a sentence is looked up in lower case, and an unknown bracket, quotation mark, dash
        or apostrophe, such as `-LRB-`, “ or the one in n’t, in its other spellings.

        words: the n words of one or more sentences; the result is (n,).
        first: the places of the words that open a sentence."""
        terminals = self._numbers.numbers(words)
        for at in np.flatnonzero(terminals < 0).tolist():
            terminals[at] = self.terminal(words[at], opens=at in first)
        return terminals

    def are_known(self, words: Sequence[str]) -> BoolArray:
        """Tell which of the n words of a sentence (n,) were seen in training, as `terminals_of` looks them up.

        >>> Lexicon(["trading", "the"]).are_known(["The", "walking"])
        array([ True, False])
        """
        return self.terminals_of(words) < len(self.words)

    @property
    def known(self) -> list[str]:
        """The words seen in training, which are the names of the first terminals."""
        return self.words

    @property
    def terminal_names(self) -> list[str]:
        """The words, and the signatures in angle brackets, in the order of their terminals.

        >>> Lexicon(["a"]).terminal_names
        ['a', '<>', '<x a>', '<x>']
        """
        return [name if isinstance(name, str) else f"<{' '.join(name)}>" for name in self.terminals.names]

    @property
    def unknown(self) -> int:
        """The terminal of the signature that all words share."""
        return len(self.words)

    def terminal(self, word: str, *, opens: bool = False) -> int:
        """Look up the terminal of a word.

        opens: whether the word is the first word of a sentence."""
        terminal = self._numbers.get(word)
        if terminal < 0:
            others = _OTHER_SPELLINGS.get(word) or ([word.replace("’", "'")] if "’" in word else [])
            numbers = map(self._numbers.get, [word.lower(), *others] if opens else others)
            terminal = next((number for number in numbers if number >= 0), -1)
        return terminal if terminal >= 0 else self.signature(word)

    def signature(self, word: str) -> int:
        """Look up the finest signature that a word shares with a known word."""
        terminal = self._signatures.get(word)
        if terminal is None:
            terminal = next(self.terminals[signature] for signature in signatures(word) if signature in self.terminals)
            if len(self._signatures) < _REMEMBERED:
                self._signatures[word] = terminal
        return terminal

    def signature_chains(self) -> IntArray:
        """List the signatures of each terminal, coarsest first, as terminals (T, DEPTH); -1 beyond the finest.

        A signature's chain ends with itself."""
        chains = np.full((len(self.terminals), DEPTH), -1, dtype=np.int64)
        for terminal, word in enumerate(self.words):
            levels = [self.terminals[signature] for signature in reversed(signatures(word))]
            chains[terminal, : len(levels)] = levels
            for level, signature in enumerate(levels, start=1):
                chains[signature, :level] = levels[:level]
        return chains


class EncodedWords(NamedTuple):
    """The words of sentences as numbers, and the leaf rules of these words.

    Equal words have the same number, unless they are given with different tags, or are unseen and only one of them
    opens a sentence.  The number `any_word` means any word: it has the rules of the signature that all words share,
    with a thousandth of their weight.

    word: (n,) the number of each word, one sentence after another.
    rules: (R, 2) symbol and number of a word, in lexicographic order.
    source: (R,) the leaf rule of the grammar whose vector each rule takes.
    factor: (R,) the factor of the vector.
    likely: (R,) whether the rule is likely enough for a chart."""

    word: IntArray
    any_word: int
    rules: IntArray
    source: IntArray
    factor: FloatArray
    likely: BoolArray

    def restrict(self, operators: ObservableOperators | CompactOperators) -> ObservableOperators:
        """Make operators with only the leaf rules of these words.

        operators: operators of the whole grammar; `source` has the numbers of their leaf rules."""
        return operators.with_leaves(self.rules, self.source, self.factor)


@dataclass(frozen=True, eq=False, slots=True)
class _WordRules:
    """The leaf rules of one word, in the order of their symbols, as in `EncodedWords`."""

    source: IntArray
    factor: FloatArray
    likely: BoolArray


def _divide(numbers: FloatArray, others: FloatArray) -> FloatArray:
    """Divide numbers (n,) by others (n,); 0 if the other is 0, for example for a terminal that no tag emits."""
    quotients: FloatArray = np.divide(numbers, others, out=np.zeros_like(numbers), where=others > 0.0)
    return quotients


class WordEncoder:
    """Find the leaf rules of the words of sentences, under one grammar.

    lexicon: the words; if it has no model of spelling, unseen words are replaced by their signatures.
    coarse: operators with one state per symbol.
    prior: (S,) the share of each symbol among the nodes of a treebank.
    tag_of_symbol: (S,) the tag of each symbol over words.
    least: the smallest probability of a tag of an unseen word; other tags are marked as unlikely, except the likeliest.
    likely: (R0,) whether the rules of known words are likely enough for a chart; all are likely if not given.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[0, 0], [0, 1], [1, 1]]), np.empty((0, 2), int), np.empty((0, 3), int))
    >>> coarse = ObservableOperators(
    ...     rules, np.ones(2, int), np.ones((2, 1)), np.array([[0.5], [0.25], [1.0]]), np.empty((0, 1, 1)), [])
    >>> encoder = WordEncoder(Lexicon(["the", "a"]), coarse, np.ones(2) / 2, np.array([0, 1]), least=0.0)
    >>> found = encoder.encode([["a", "the", "a"]])
    >>> found.word, found.rules.tolist(), found.restrict(coarse).leaf.ravel()
    (array([0, 1, 0]), [[0, 0], [0, 1], [1, 0]], array([0.25, 0.5 , 1.  ]))
    """

    def __init__(
        self,
        lexicon: Lexicon,
        coarse: ObservableOperators,
        prior: FloatArray,
        tag_of_symbol: IntArray,
        least: float,
        likely: BoolArray | None = None,
    ) -> None:
        self.lexicon = lexicon
        self.spelling = lexicon.spelling
        self.least = least
        self._symbol, terminal = coarse.rules.leaf.T
        self._likely = np.ones(len(terminal), dtype=np.bool_) if likely is None else likely
        tag = tag_of_symbol[self._symbol]
        # Sort the rules by a key for each terminal and tag, so that they can be found by bisection; 0 means no tag.
        self._n_tags = int(tag_of_symbol.max(initial=-1)) + 1 if self.spelling is None else self.spelling.n_symbols
        key = self._key(terminal, tag)
        self._order = np.argsort(key, kind="stable")
        self._keys = key[self._order]
        self._found: dict[_Key | int, _WordRules] = {}
        if self.spelling is not None:
            joint = coarse.leaf[:, 0] * prior[self._symbol]
            of_tag = np.asarray(np.bincount(key, joint), dtype=np.float64)
            of_all = np.asarray(np.bincount(terminal, joint), dtype=np.float64)
            self._share = _divide(of_tag[key], of_all[terminal])
            # The likeliest terminal of each tag is that of the first rule with the largest probability.
            most = np.zeros(self._n_tags)
            np.maximum.at(most, tag, joint)
            likeliest = np.flatnonzero(joint == most[tag])
            self._commonest = np.zeros(self._n_tags, dtype=np.int64)
            self._commonest[tag[likeliest[::-1]]] = terminal[likeliest[::-1]]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the rules that were looked up: every process finds its own."""
        return {name: value for name, value in vars(self).items() if name != "_any_word"} | {"_found": {}}

    @cached_property
    def _any_word(self) -> _WordRules:
        """The rules of any word."""
        (rules,) = self._rules_of_known(self._key(np.array([self.lexicon.unknown]), -1), _ANY)
        return rules

    def _key(self, terminal: IntArray, tag: IntArray | int) -> IntArray:
        """Compute the keys of terminals (n,) and tags (n,); tag -1 means no tag."""
        key: IntArray = terminal * (self._n_tags + 1) + tag + 1
        return key

    def _rows_with(self, terminal: IntArray, tag: IntArray) -> tuple[IntArray, IntArray]:
        """Find the first sorted rule of each terminal (n,) and tag (n,), and the rule after the last one."""
        key = self._key(terminal, tag)
        return np.searchsorted(self._keys, key, "left"), np.searchsorted(self._keys, key, "right")

    def encode(
        self, sentences: Iterable[Sequence[str]], tags: IntArray | None = None, *, likely_only: bool = False
    ) -> EncodedWords:
        """Number the words of sentences, and find their leaf rules.

        sentences: the sentences, with n words in all.
        tags: (n,) the number of the only tag that each word may have, or -1 for any tag; a word that was never seen
        with its tag counts as unseen.
        likely_only: whether to leave out the rules that are not likely enough for a chart."""
        keys: list[_Key] = []
        if tags is None:
            for sentence in sentences:
                keys += [(word, True, -1) for word in sentence[:1]]
                keys += sentence[1:]
        else:
            only = iter(tags.tolist())
            keys = [(word, at == 0, next(only)) for sentence in sentences for at, word in enumerate(sentence)]
        if len(self._found) > _REMEMBERED:
            self._found = {}
        found = self._found
        distinct = dict.fromkeys(keys)
        if not found.keys() >= distinct.keys():
            self._look_up([key for key in distinct if key not in found], found)
        of_rules: dict[_WordRules, int] = {}  # known words with the same rules are one word
        number = {key: of_rules.setdefault(found[key], len(of_rules)) for key in distinct}
        word = np.fromiter(map(number.__getitem__, keys), dtype=np.int64, count=len(keys))
        # Lists of columns: a tuple for each word would wake the collector of garbage.
        every = [*of_rules, self._any_word]
        source = np.concatenate([rules.source for rules in every])
        factor = np.concatenate([rules.factor for rules in every])
        likely = np.concatenate([rules.likely for rules in every])
        terminal = np.repeat(np.arange(len(every)), [len(rules.source) for rules in every])
        if likely_only:
            source, factor, terminal, likely = (column[likely] for column in (source, factor, terminal, likely))
        symbol = self._symbol[source]
        order = np.argsort(symbol * len(every) + terminal)
        rules = np.stack([symbol[order], terminal[order]], axis=1)
        rules.setflags(write=False)
        return EncodedWords(word, len(of_rules), rules, source[order], factor[order], likely[order])

    def _look_up(self, places: Sequence[_Key], found: dict[_Key | int, _WordRules]) -> None:
        """Find the rules of words, and remember them: by the word, and those of a known word also by its key."""
        words: list[_Place] = [(place, False, -1) if isinstance(place, str) else place for place in places]
        opening = {at for at, (_, opens, _) in enumerate(words) if opens}
        terminal = self.lexicon.terminals_of([word for word, _, _ in words], opening)
        keys = self._key(terminal, np.array([tag for _, _, tag in words], dtype=np.int64))
        is_unseen = self._are_unseen(keys)
        known = np.unique(keys[~is_unseen])
        for key, rules in zip(known.tolist(), self._rules_of_known(known, 1.0), strict=True):
            found.setdefault(key, rules)
        if len(unseen := np.flatnonzero(is_unseen).tolist()):
            for at, rules in zip(unseen, self._rules_of_unseen([words[at] for at in unseen]), strict=True):
                found[places[at]] = rules
        for at in np.flatnonzero(~is_unseen).tolist():
            found[places[at]] = found[int(keys[at])]

    def _are_unseen(self, keys: IntArray) -> BoolArray:
        """Tell which keys (k,) are of signatures, or of words that were never seen with the key's tag."""
        if self.spelling is None:
            return np.zeros(len(keys), dtype=np.bool_)
        terminal = keys // (self._n_tags + 1)
        has_tag = keys % (self._n_tags + 1) > 0
        has_rules = np.searchsorted(self._keys, keys, "left") < np.searchsorted(self._keys, keys, "right")
        unseen: BoolArray = (terminal >= len(self.lexicon.known)) | (has_tag & ~has_rules)
        return unseen

    def _rules_of_known(self, keys: IntArray, factor: float) -> list[_WordRules]:
        """List the rules of known words, given the keys (k,) of the words, and a factor."""
        # Without a tag, a terminal has the rules of all tags.
        width = np.where(keys % (self._n_tags + 1) == 0, self._n_tags + 1, 1)
        row, which = ranges(np.searchsorted(self._keys, keys), np.searchsorted(self._keys, keys + width))
        source = self._order[row]
        return self._of_words(which, source, np.full(len(source), factor), self._likely[source], len(keys))

    def _of_words(
        self, word: IntArray, source: IntArray, factor: FloatArray, likely: BoolArray, size: int
    ) -> list[_WordRules]:
        """Divide the rules (R,) of 0 ... size - 1, in the order of these words, and sort those of each by symbol."""
        order = np.lexsort((self._symbol[source], word))
        end = np.searchsorted(word, np.arange(size + 1)).tolist()
        return [_WordRules(source[of], factor[of], likely[of]) for of in (order[a:b] for a, b in pairwise(end))]

    def _rules_of_unseen(self, words: Sequence[_Place]) -> list[_WordRules]:
        """Make the rules of unseen words."""
        assert self.spelling is not None
        every_tag = np.arange(self._n_tags)
        tag_of_word = np.array([tag for _, _, tag in words], dtype=np.int64)[:, None]
        signature = np.array([self.lexicon.signature(name) for name, _, _ in words], dtype=np.int64)
        # For each word and tag, (words, tags), take the rules of the word's signature.  Without a rule with this tag,
        # take the rules of the signature that all words share.
        signatures, which = np.unique(signature, return_inverse=True)
        first, end = self._rows_with(signatures[:, None], every_tag)
        first, end = np.where(first < end, [first, end], self._rows_with(np.array([[self.lexicon.unknown]]), every_tag))
        first = first[which]
        end = end[which]
        p = self.spelling.posterior([name for name, _, _ in words], [opens for _, opens, _ in words])
        # A word with a given tag has this tag at least with the probability _FLOOR, and has no other tag.
        only = (tag_of_word == every_tag) & (tag_of_word >= 0)
        p = np.where(only, np.maximum(p, _FLOOR), np.where(tag_of_word < 0, p, 0.0))
        first, end = np.where((first < end) | ~only, [first, end], self._rows_with(self._commonest[None, :], every_tag))
        p = np.where(first < end, p, 0.0)
        is_likely = p >= np.minimum(self.least, p.max(axis=1, keepdims=True))
        # Divide the probability of a tag among its symbols, in the ratio of the rules of the signature.
        word, tag = np.nonzero(p > 0.0)
        row, pair = ranges(first[word, tag], end[word, tag])
        source = self._order[row]
        factor = _divide(p[word, tag][pair], self._share[source])
        return self._of_words(word[pair], source, factor, is_likely[word, tag][pair], len(words))
