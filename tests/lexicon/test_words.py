"""Leaf rules of sentences by definition: known words have theirs, unseen ones shares of spelling and signature."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.lexicon import Lexicon, SpellingModel, WordEncoder
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Rules

KNOWN = ["the", "walking", "talking", "walked", "talked", "Anna", "cat", "cats"]
TAG_OF_SYMBOL = np.array([0, 1, 1, 2, -1])  # of five symbols, the last of which is over no word
N_TAGS = 3
FLOOR = 1e-12  # the least probability of a tag that is given

any_word = st.sampled_from(["barking", "barked", "Berta", "dog", "dogs", "X-1", "東京", *KNOWN])
sentences = st.lists(st.lists(st.tuples(any_word, st.integers(-1, N_TAGS - 1)), max_size=5), max_size=4)


def lexicon() -> Lexicon:
    symbols = np.array([0, 1, 1, 2, 2, 0, 1, 1])
    return Lexicon(KNOWN, SpellingModel.train(KNOWN, np.arange(8), symbols, n_symbols=N_TAGS))


def random_operators(words: Lexicon, rng: np.random.Generator) -> ObservableOperators:
    """One-state operators of some pairs of symbols and terminals."""
    pairs = np.array([(a, x) for a in range(4) for x in range(words.n_terminals)])
    pairs = pairs[rng.random(len(pairs)) < rng.choice([0.3, 0.7, 1.0])]
    table = Rules(pairs, np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64))
    weight = rng.uniform(0.01, 1, (len(pairs), 1))
    return ObservableOperators(table, np.ones(5, dtype=np.int64), np.ones((5, 1)), weight, np.empty((0, 1, 1)), [])


class Definition:
    """The rules of a word, in dictionaries.

    joint: p(a, x) of each rule.
    likely: whether rules of known words are likely.
    """

    def __init__(self, words: Lexicon, model: ObservableOperators, prior: FloatArray, likely: list[bool]) -> None:
        self.words = words
        rules = list(map(tuple, model.rules.leaf.tolist()))
        self.joint = {(a, x): float(w * prior[a]) for (a, x), w in zip(rules, model.leaf[:, 0], strict=True)}
        self.likely = dict(zip(rules, likely, strict=True))

    def over(self, terminal: int, tag: int = -1) -> list[tuple[int, int]]:
        """The rules over a terminal, or those with a tag."""
        return [(a, x) for a, x in self.joint if x == terminal and tag in (-1, TAG_OF_SYMBOL[a])]

    def own(self, word: str, opens: bool, tag: int) -> int | None:
        """The terminal of a known word, which has its own rules; None if it was never seen, or never with the tag."""
        terminal = self.words.terminal(word, opens=opens)
        return terminal if terminal < len(KNOWN) and (tag < 0 or self.over(terminal, tag)) else None

    def rules(self, word: str, opens: bool, tag: int, least: float) -> dict[int, tuple[tuple[int, int], float, bool]]:
        """By symbol, the rule whose vector is taken, its factor, and whether it is likely.

        p(a, x) = p(a, s) P(f | x) / P(f | s) for the signature s; where s has no rule with the tag f, for that of all
        words, and where that has none, either, and the tag is given, for the likeliest terminal of the tag.
        """
        if (terminal := self.own(word, opens, tag)) is not None:
            return {a: ((a, x), 1.0, self.likely[a, x]) for a, x in self.over(terminal, tag)}
        assert self.words.spelling is not None
        p = self.words.spelling.posterior([word], [opens])[0]
        sources = {}
        for f in range(N_TAGS) if tag < 0 else [tag]:
            of_tag = [rule for rule in self.joint if TAG_OF_SYMBOL[rule[0]] == f]
            commonest = max(of_tag, key=self.joint.__getitem__)[1] if of_tag and tag >= 0 else -1
            terminals = (self.words.signature(word), self.words.unknown, commonest)
            if source := next(filter(None, (self.over(x, f) for x in terminals)), None):
                sources[f] = max(p[f], FLOOR) if tag >= 0 else p[f], source
        most = max((share for share, _ in sources.values()), default=0.0)
        found = {}
        for share, source in sources.values():
            of_all = sum(self.joint[rule] for rule in self.over(source[0][1]))
            of_tag_here = sum(self.joint[rule] for rule in source)
            for rule in source:
                found[rule[0]] = rule, share * of_all / of_tag_here, share >= min(least, most)
        return found


@given(sentences, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.05, 1.0]))
def test_words_have_the_rules_of_the_definition(rows: list[list[tuple[str, int]]], seed: int, least: float) -> None:
    """Equal words with equal tags have one number, but for unseen ones of which one opens a sentence."""
    words, rng = lexicon(), np.random.default_rng(seed)
    model, prior = random_operators(words, rng), rng.dirichlet(np.ones(5))
    likely = rng.random(len(model.leaf)) < 0.7
    definition = Definition(words, model, prior, likely.tolist())
    encoder = WordEncoder(words, model, prior, TAG_OF_SYMBOL, least, likely)
    found = encoder.encode(
        [[word for word, _ in row] for row in rows], np.array([t for row in rows for _, t in row], int)
    )
    np.testing.assert_array_equal(np.unique(found.rules, axis=0), found.rules)
    leaf = list(map(tuple, model.rules.leaf.tolist()))
    number: dict[object, int] = {}
    places = [(word, at == 0, tag) for row in rows for at, (word, tag) in enumerate(row)]
    for (word, opens, tag), own in zip(places, found.word.tolist(), strict=True):
        terminal = definition.own(word, opens, tag)
        assert number.setdefault((word, opens, tag) if terminal is None else (terminal, tag), own) == own
        mine = np.flatnonzero(found.rules[:, 1] == own)
        expected = definition.rules(word, opens, tag, least)
        assert found.rules[mine, 0].tolist() == sorted(expected)
        for at in mine:
            rule, factor, is_likely = expected[found.rules[at, 0]]
            assert (leaf[found.source[at]], found.likely[at]) == (rule, is_likely)
            assert found.factor[at] == pytest.approx(factor)
    assert sorted({*number.values(), found.any_word}) == list(range(len(number) + 1))
    restricted = found.restrict(model)
    np.testing.assert_array_equal(restricted.leaf[:, 0], model.leaf[found.source, 0] * found.factor)
    np.testing.assert_array_equal(restricted.rules.leaf, found.rules)
    of_any, of_unknown = found.rules[:, 1] == found.any_word, model.rules.leaf[:, 1] == words.unknown
    np.testing.assert_array_equal(restricted.leaf[of_any], 1e-3 * model.leaf[of_unknown])


@given(sentences, st.integers(0, 10))
def test_rules_do_not_depend_on_what_was_looked_up_before(rows: list[list[tuple[str, int]]], remembered: int) -> None:
    """However few words are remembered, each place has the rules that a new encoder finds; no tags are tags -1."""
    words = lexicon()
    model, prior = random_operators(words, np.random.default_rng(0)), np.full(5, 0.2)
    used = WordEncoder(words, model, prior, TAG_OF_SYMBOL, 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spectral_latent.lexicon.lexicon._REMEMBERED", remembered)
        for row in [*rows, *rows]:
            spelt = [word for word, _ in row]
            alone = WordEncoder(words, model, prior, TAG_OF_SYMBOL, 0.0).encode([spelt], np.full(len(spelt), -1))
            for one, other in zip(used.encode([spelt]), alone, strict=True):
                np.testing.assert_array_equal(one, other)
