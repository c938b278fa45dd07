"""Offer the latent PCFG as a parser of NLTK's, its parses as trees, and the plain PCFG under it as a grammar."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction
from nltk.tree import ProbabilisticTree, Tree

from spectral_latent.constituency import (
    Changes,
    ConstituencyModel,
    ConstituencyOptions,
    ConstituencyPresetName,
    Phrase,
    PhraseSymbol,
    clean,
    self_train,
)
from spectral_latent.constituency import preset as options_of_preset
from spectral_latent.corpora import phrase_from_nltk, phrases_from_nltk
from spectral_latent.estimation import shown
from spectral_latent.evaluation import BracketScores, evaluate_parser
from spectral_latent.inference import inside, outside, state_posteriors
from spectral_latent.model import Parse, check_sentences
from spectral_latent_nltk._adapters import ParserAdapter, choose_options, tokens_of
from spectral_latent_nltk._trees import phrase_to_nltk


class ParseTree(ProbabilisticTree):
    """A parse: a `ProbabilisticTree` that keeps its log probability when it is copied.

    `logprob()` is log2 |p̂| of the estimated probability, and -inf for a fallback and for a tree of probability 0;
    `prob()` is 0 if the probability underflows.  NLTK's own copies take `prob()`, and their `logprob()` would then
    raise an error.  Subtrees are plain trees.

    >>> tree = ParseTree("S", ["word"], logprob=-4000.0)
    >>> tree.prob(), tree.copy(deep=True).logprob()
    (0.0, -4000.0)
    """

    @classmethod
    def of(cls, parse: Parse[Phrase]) -> ParseTree:
        """Convert a parse to a tree of NLTK's."""
        tree = phrase_to_nltk(parse.tree)
        return cls(tree.label(), list(tree), logprob=parse.log / math.log(2))

    def _repr_svg_(self) -> str | None:
        """Draw the tree, for notebooks; NLTK's trees need svgling for that.  A tree that was emptied is text."""
        try:
            return phrase_from_nltk(self)._repr_svg_()
        except (TypeError, ValueError):
            return None

    def __str__(self) -> str:
        """Write the brackets alone, so that `Tree.fromstring` can read them; NLTK would add the probability."""
        return str(self.pformat(margin=60))

    def copy(self, deep: bool = False) -> ParseTree:
        """Copy the tree with its log probability; the copy equals the tree.

        deep: whether to copy the subtrees too."""
        children = [child.copy(deep=True) if deep and isinstance(child, Tree) else child for child in self]
        return type(self)(self.label(), children, logprob=self.logprob())


_Rule = tuple[Nonterminal, tuple[Nonterminal | str, ...], float]


def plain_pcfg(model: ConstituencyModel) -> PCFG:
    """Make a grammar of the rules of a model's first grammar, with their probabilities without latent states.

    Symbols are named as `Tree.chomsky_normal_form` and `Tree.collapse_unary` name them, so that
    `Tree.un_chomsky_normal_form` undoes the binarisation.  The start symbol is ROOT.  Terminals are the words seen in
    training; the probability that the model reserves for unseen words is divided among the seen words."""
    rules = [rule for rule in _list_rules(model) if rule[-1] > 0]
    total: defaultdict[Nonterminal, float] = defaultdict(float)
    for parent, _, weight in rules:
        total[parent] += weight
    productions = [
        ProbabilisticProduction(parent, children, prob=weight / total[parent]) for parent, children, weight in rules
    ]
    return PCFG(Nonterminal("ROOT"), productions)


def _list_rules(model: ConstituencyModel) -> Iterator[_Rule]:
    """List all rules with their weights; none is unary below the root, because chains are collapsed."""
    first = model.members[0]
    coarse = first.coarse
    words = first.lexicon.words
    names = [Nonterminal(_name(symbol)) for symbol in first.symbols]
    for name, weight in zip(names, coarse.root[:, 0].tolist(), strict=True):
        yield Nonterminal("ROOT"), (name,), weight
    for (a, b, c), tensor in zip(coarse.rules.binary.tolist(), coarse.binary, strict=True):
        yield names[a], (names[b], names[c]), tensor.to_dense().item()
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


class SpectralParser(ParserAdapter[Iterable[str], Tree, ParseTree]):
    """A latent-variable PCFG behind NLTK's `ParserI`; may be shared between threads.

    A sentence is a list of tokens.  A sentence that the grammar cannot derive gets a flat tree labelled `FALLBACK`; an
    empty sentence gets no tree.

    >>> trees = [Tree("S", [Tree("NNS", [noun]), Tree("VBP", [verb])])
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> parser = SpectralParser.train(trees)
    >>> print(parser.parse_one(["mice", "sleep"]).pformat())
    (S (NNS mice) (VBP sleep))
    >>> parser.score(trees[0]) == parser.parse_one(["cats", "bark"]).logprob()
    True
    >>> from spectral_latent.constituency import PhraseConstraints
    >>> print(parser.parse_one(["bark", "bark"], constraints=PhraseConstraints(tags={0: "NNS"})).pformat())
    (S (NNS bark) (VBP bark))
    """

    models = (ConstituencyModel,)
    _tree = staticmethod(phrase_from_nltk)
    _parse = staticmethod(ParseTree.of)

    @classmethod
    def train(
        cls,
        trees: Iterable[Tree],
        n_states: int | None = None,
        *,
        preset: ConstituencyPresetName | None = None,
        progress: bool | None = None,
        weights: Iterable[float] | None = None,
        text: Iterable[Sequence[str]] | None = None,
        jobs: int | None = 1,
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        changes: Changes | None = None,
    ) -> SpectralParser:
        """Learn from treebank trees, with the preset `fast` if none is given.  The same trees give the same parser.

        trees: treebank trees, read once, which are cleaned first, such as `parsed_sents()` of a corpus of NLTK.
        text: sentences without trees, to learn from as well: lists of tokens, spelt as in the trees.  Training then
        takes several times as long; see `spectral_latent.constituency.self_train`.

        Raises TypeError or ValueError for an object that is not a treebank tree or a sentence, ValueError for a preset
        that does not exist or is given together with options, and EstimationError, a ValueError, if a tree has no words
        or there is no tree."""
        if isinstance(trees, Tree):
            raise TypeError("expected an iterable of trees, got one tree; give [tree]")
        if isinstance(trees, str | bytes):
            raise TypeError(f"expected an iterable of trees, got {trees!r:.60}")
        chosen = choose_options(options_of_preset, preset, options, n_states)
        phrases = phrases_from_nltk(trees, changes)
        learn = ConstituencyModel.train
        if text is not None:
            learn = partial(self_train, sentences=list(check_sentences(text)))
        with shown(progress) as listener:
            model = learn(phrases, options=chosen, weights=weights, jobs=jobs, listener=listener, changes=changes)
        return cls(model)

    def evaluate(self, trees: Iterable[Tree], *, jobs: int | None = 1) -> BracketScores:
        """Parse the words of treebank trees, and score the parses by the rules of EVALB.

        The scores are percentages: `f1`, `precision`, `recall`, `exact` and `tagging_accuracy`.

        trees: gold trees, as a treebank has them; trees that NLTK could not read are left out, with a warning.

        Raises TypeError or ValueError for an object that is not a treebank tree, and ValueError if there is no tree.

        >>> trees = [Tree("S", [Tree("NN", [noun]), Tree("VB", ["bark"])]) for noun in ("dogs", "cats")]
        >>> SpectralParser.train(trees).evaluate(trees).f1
        100.0
        """
        gold = list(phrases_from_nltk(trees))
        if not gold:
            raise ValueError("no trees to evaluate on; give treebank trees")
        return evaluate_parser(self.model, gold, jobs=jobs).score

    def states(self, tree: Tree) -> Tree:
        """Name the likeliest latent state of each constituent: `NP-3` is an NP in state 3, which `describe_states` of
        `spectral_latent.inspection` describes for `model.named_operators`.

        Labels one above the other, over the same words, have one state together.  Of several grammars, the first tells.

        Raises TypeError or ValueError for an object that is not a treebank tree, and ValueError for a tree that the
        grammar does not derive, and for a grammar without states: one of the estimator `Spectral`.

        >>> parser = SpectralParser.train([Tree("S", [Tree("NN", ["rain"]), Tree("VBZ", ["falls"])])], n_states=1)
        >>> print(parser.states(parser.parse_one(["rain", "falls"])))
        (S-0 (NN-0 rain) (VBZ-0 falls))
        """
        grammar = self.model.members[0]
        phrase = clean(phrase_from_nltk(tree))
        if phrase is None:
            raise ValueError("the tree has no words")
        weighed = grammar.forest_of([phrase])
        forest, operators = weighed.forest, weighed.operators
        if not operators.probabilities:
            raise ValueError("the grammar has no states, because its operators are not probabilities")
        if not weighed.weight().sign[0]:
            raise ValueError("the grammar does not derive the tree, so that its constituents have no states")
        alpha = inside(operators, forest)
        posteriors = state_posteriors(alpha, outside(operators, forest, alpha))
        words = iter(phrase_to_nltk(phrase).leaves())
        made: list[list[Any]] = []  # the trees that each item consists of; words and children come before parents
        for item, edge in enumerate(forest.start[:-1].tolist()):
            children = [each for each in (forest.left[edge], forest.right[edge]) if each >= 0]
            trees = [below for child in children for below in made[child]] or [next(words)]
            if (number := forest.symbol[item]) < len(grammar.symbols) and not (symbol := grammar.symbols[number]).bar:
                for label in reversed(symbol.chain):
                    trees = [Tree(f"{label}-{posteriors[item].argmax()}", trees)]
            made.append(trees)
        return made[forest.root[0]][0]

    def grammar(self) -> PCFG:
        """Make the plain PCFG at the first call: the rules with their probabilities without latent states.

        >>> parser = SpectralParser.train([Tree("S", [Tree("NN", ["rain"]), Tree("VBZ", ["falls"])])])
        >>> for production in parser.grammar().productions()[2:4]:
        ...     print(production)
        ROOT -> S [0.939394]
        S -> NN VBZ [1.0]
        """
        return self._grammar

    @cached_property
    def _grammar(self) -> PCFG:
        return plain_pcfg(self.model)

    def _sentences(self, sents: Iterable[Iterable[str]]) -> Iterator[list[str]]:
        return map(tokens_of, sents)
