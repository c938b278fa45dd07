"""Hold the parser of sentences that all grammars over words share."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import repeat
from operator import attrgetter
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from spectral_latent._compiled import by_python
from spectral_latent._options import checked
from spectral_latent.estimation import Listener, Progress
from spectral_latent.grammar.latent_grammar import LatentGrammar, Training
from spectral_latent.grammar.options import GrammarOptions, Limits
from spectral_latent.inference import SignedLog
from spectral_latent.lexicon.choices import Choices, JudgeOptions
from spectral_latent.model import (
    LatentTreeModel,
    NextWords,
    Parses,
    Partial,
    Prefixes,
    Surprisal,
    Unit,
    check_words,
    entropies,
)
from spectral_latent.model.batches import map_batches
from spectral_latent.model.parts import Analysis, jackknife
from spectral_latent.tokenisation import Token, Tokenisation
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

_PREFIXES = 6.0  # the work of the prefixes of a sentence, if that of its parse is 1

Grammar = TypeVar("Grammar", bound=LatentGrammar[Any, Any, Any, Any, Any])
Sentence = TypeVar("Sentence")
Constraints = TypeVar("Constraints")
Tree = TypeVar("Tree")


class Parser(
    LatentTreeModel[Grammar, Partial[Sentence, Constraints], Tree], Generic[Grammar, Sentence, Constraints, Tree]
):
    """Base of parsers: latent tree models whose members are grammars over words.

    A sentence that no grammar derives under its constraints gets a tree that is flat, except for what is required.  An
    empty sentence has no tree: every question about it raises ValueError.  The further setting of `parse`,
    `parse_nbest` and `parse_all` is `scored`: whether to compute the trees' probabilities, True by default; the first
    time, this compiles much code.

    any_tree: the constraints that every tree meets."""

    any_tree: ClassVar[Any]

    def checked(self, given: Any, **settings: Any) -> Partial[Sentence, Constraints]:
        """Check a sentence with its constraints.

        given: the sentence, or a `Partial`.
        settings: the settings of `parse_all` on which it depends whether constraints fit."""
        whole: Partial[Sentence, Constraints] = given if isinstance(given, Partial) else Partial(given, self.any_tree)
        if not len(self._checked_words(whole.sentence)):
            raise ValueError("an empty sentence has no tree; leave it out")
        return whole

    def _checked_words(self, sentence: Sentence) -> Sequence[str]:
        """Check a sentence, and list its words."""
        words: Any = sentence
        return check_words(words)

    def _sentence(self, words: Sequence[str]) -> Sentence:
        """Make the sentence of words of raw text."""
        sentence: Any = tuple(words)
        return sentence  # type: ignore[no-any-return]

    def name_parts(self, analysis: Analysis[Partial[Sentence, Constraints]]) -> list[str]:
        """Write the parts of a sentence with their words."""
        words = self._words(analysis.inputs[0].sentence)
        _, begin, end, label, _ = (column.tolist() for column in analysis.parts)
        rows = zip(begin, end, label, strict=True)
        return [f"({self.part_names.names[name]} {' '.join(words[i:j])})" for i, j, name in rows]

    def _words(self, sentence: Sentence) -> Sequence[str]:
        """List the words of a checked sentence, as the grammars take them."""
        words: Any = sentence
        return words  # type: ignore[no-any-return]

    @abstractmethod
    def _tags(self, given: Partial[Sentence, Constraints], grammar: Grammar) -> IntArray | None:
        """Number the only tag that each word may have, -1 for any tag; None for any tag of all words."""

    def choices(self, trees: Sequence[Tree], options: Any) -> list[Choices]:
        """List the parts that the grammars find in each tree's sentence, with the right ones marked, for a judge.

        options: the settings of the judge that learns from them, which a formalism need not have."""
        raise NotImplementedError

    def with_limits(self, limits: Limits) -> Self:
        """Replace the limits of the cost of a sentence under each grammar.

        >>> from spectral_latent import load
        >>> load("toy").with_limits(Limits(max_words=500)).options.limits
        Limits(max_words=500)
        """
        return self.with_members(lambda member: member.with_limits(limits))

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The rules by which raw text is divided into sentences and words."""
        return Tokenisation(frozenset(self.members[0].lexicon.words))

    def _work(self, inputs: Sequence[Partial[Sentence, Constraints]]) -> float:
        """Add up the cubes of the numbers of words: one sentence of 27 words, or several shorter ones, are short."""
        return sum(len(self._words(given.sentence)) ** 3 for given in inputs)

    def surprisal(self, sentence: Sentence | Partial[Sentence, Constraints], unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each word after the words before it, and its lexical and syntactic parts.

        The probabilities of several grammars are averaged.  A word that was never seen has the surprisal of its
        signature, with the probabilities of tags that follow from its spelling.

        sentence: the sentence; a word whose tag is known and was seen has this tag.
        Raises ValueError if there is no word, for another unit, and for a grammar whose estimates may be negative.

        >>> from spectral_latent.constituency import ConstituencyModel, Phrase
        >>> def tree(noun, verb): return Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
        >>> trees = [tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
        >>> ConstituencyModel.train(trees * 100).surprisal(["cats", "sleep"]).total.round(1)
        array([1., 1.])
        """
        given = self.checked(sentence)
        words = self._words(given.sentence)
        with self._block([given], _PREFIXES):
            found = Prefixes.mean([member.prefixes(words, self._tags(given, member)) for member in self.members])
        return found.surprisal(unit, self.members[0].lexicon.are_known(words))

    def entropy(self, sentence: Sentence | Partial[Sentence, Constraints], unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of the next event after each prefix of a sentence of n words: a word or the end.

        Words that were never seen count as one word for each signature.  The probabilities of several grammars are
        averaged.

        sentence: the sentence; a word whose tag is known and was seen has this tag.
        Raises ValueError if there is no word, for another unit, and for a grammar whose estimates may be negative.

        >>> from spectral_latent.constituency import ConstituencyModel, Phrase
        >>> def tree(noun, verb): return Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
        >>> trees = [tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
        >>> ConstituencyModel.train(trees * 100).entropy(["cats", "sleep"]).round(1)
        array([1.1, 1.2, 0. ])
        """
        given = self.checked(sentence)
        words = self._words(given.sentence)
        with self._block([given], _PREFIXES):
            following = [member.next_words(words, self._tags(given, member)) for member in self.members]
        return entropies(NextWords.mean(following).following, unit)

    @staticmethod
    @abstractmethod
    def _length(tree: Tree) -> int:
        """Count the words of a tree."""

    def score(self, trees: Iterable[Tree]) -> SignedLog:
        """Estimate the probabilities p̂ of T trees with their words, as sign and log: the mean over the members.

        A tree with more words than the `Limits` of the options has the sign 0 and the logarithm NaN, and a warning says
        so."""
        given = self._trees(trees)
        length = np.array([self._length(tree) for tree in given], dtype=np.int64)
        most = min(member.options.limits.max_words for member in self.members)
        for n in length[length > most].tolist():
            reason = f"a tree of {n} words is longer than the {most} of its limit, and has no score"
            warnings.warn(f"{reason}; divide the tree, or raise the limit", RuntimeWarning, stacklevel=2)
        found = SignedLog.unknown(len(given))
        if (fits := length <= most).any():
            weighed = [tree for tree, fit in zip(given, fits, strict=True) if fit]
            with by_python(len(self.members) * float((length[fits] ** 3).sum())):
                found.sign[fits], found.log[fits] = self._weigh(weighed)
        return found

    def parse_text(self, text: str, n_best: int = 1, *, jobs: int | None = 1) -> Iterator[Parses[Tree]]:
        """Find up to `n_best` trees of each sentence of a raw text, in order.

        text: the text, which `tokenisation` divides into sentences and words.
        Raises ValueError, before a sentence is parsed, if n_best < 1."""
        divided = list(self.tokenisation.sentences(text))
        if warning := self.tokenisation.warns_of([token.word for token in tokens] for tokens in divided):
            warnings.warn(warning, stacklevel=2)
        return self.parse_all(map(self._of_tokens, divided), n_best, jobs=jobs)

    def _of_tokens(self, tokens: Sequence[Token]) -> Sentence:
        """Make a sentence of the words that `tokenisation` found in a text."""
        return self._sentence([token.word for token in tokens])


def check_alike(options: Sequence[GrammarOptions], kind: type[GrammarOptions], names: Sequence[str]) -> None:
    """Raise ValueError unless there are options, and all have the same values of these fields; TypeError for options
    of another kind."""
    for settings in options:
        checked("options", settings, kind)
    if not options:
        raise ValueError("the options are empty; a parser needs those of at least one grammar")
    for name in names:
        first, *others = dict.fromkeys(map(attrgetter(name), options))
        if others:
            raise ValueError(f"the grammars of one parser must have the same {name}, not {first!r} and {others[0]!r}")


def estimate_all(trainings: Sequence[Training[Grammar]], jobs: int | None, listener: Listener) -> tuple[Grammar, ...]:
    """Estimate the latent grammar of each of several prepared treebanks."""
    grammars = []
    for number, training in enumerate(trainings, start=1):
        of_all = f"grammar {number} of {len(trainings)}, " if len(trainings) > 1 else ""
        grammars.append(training.estimate(jobs=jobs, listener=partial(_tell, listener, of_all)))
    return tuple(grammars)


def _tell(listener: Listener, prefix: str, progress: Progress) -> None:
    """Tell a listener the progress of one of several grammars."""
    listener(progress._replace(stage=prefix + progress.stage))


def held_out_choices(
    parser: Callable[[tuple[Grammar, ...]], Parser[Grammar, Any, Any, Tree]],
    trees: Iterable[Tree],
    weights: Iterable[float] | None,
    options: JudgeOptions,
    grammars: Sequence[Grammar],
    plain: Sequence[GrammarOptions],
    prepare: Callable[..., list[Training[Grammar]]],
    jobs: int | None,
    listener: Listener,
    *,
    anew: bool = False,
) -> list[Choices]:
    """List what a judge learns from: the parts that the grammars of other folds find in the sentence of each tree.

    plain: the options of these grammars without a judge, with which `prepare` makes the treebanks of folds."""

    def learn(trees: list[Tree], weights: list[float]) -> tuple[Grammar, ...]:
        """Learn the grammars of some trees."""
        trainings = prepare(trees, plain, weights=weights, jobs=jobs)
        if anew:
            return tuple(training.estimate(jobs=jobs) for training in trainings)
        return tuple(estimate_again(training, whole, jobs) for whole, training in zip(grammars, trainings, strict=True))

    times = repeat(1.0) if weights is None else weights
    weighted = [(tree, weight) for tree, weight in zip(trees, times, strict=False) if weight > 0.0]
    examples: list[Choices] = []
    for members, held_out, times_of in jackknife(weighted, options.folds, learn, listener):
        model = parser(members)
        found = map_batches(type(model).choices, model, held_out, jobs, options)
        examples += [each.to_learn_from(weight) for each, weight in zip(found, times_of, strict=True)]
        del members, model  # free the memory while the next fold is learnt
    return examples


def estimate_again(training: Training[Grammar], whole: Grammar, jobs: int | None = 1) -> Grammar:
    """Estimate the latent grammar of some of the trees of another grammar, by one iteration of EM from the other.

    All counts, rules and words come from these trees; only the states were found on all trees.  A grammar without
    probabilities is estimated from the beginning."""
    if not whole.probabilities:
        return training.estimate(jobs=jobs)
    symbol = Vocabulary(whole.symbols).numbers(training.coarse.symbols)
    word = Vocabulary(whole.lexicon.words).numbers(training.coarse.lexicon.words)
    operators = whole.operators.restrict(training.treebank.counts.rules, symbol, word)
    return training.reestimate(operators, jobs=jobs)
