"""A treebank sampled from a known latent grammar of a little English, written for this library.

The labels are those of the Penn Treebank, but with one tag for all nouns (NN) and one for all verbs (VB).  What the
labels hide, the states know: number, case, which complements a verb takes, whether a prepositional phrase modifies
nouns or verbs.  So the grammar is unambiguous where a plain PCFG over the same labels must guess.

Notation of the grammar below:

| here | meaning |
| --- | --- |
| `NP[sg]` | symbol NP in state sg; `NP\\|NN` is NP over NN alone, `@NP` a part of NP (see `constituency.conversion`) |
| `subject[sg]` | a name in small letters stands for one of the symbols it rewrites to, and leaves no node |
| `A -> B C 3` | a rule and its weight; the weights of one left-hand side are scaled to sum to one |
| `A : x y z` | words; the weight of the r-th is 1 / r |
| `#`, `x/y` | the line stands for two: for `sg` and x, and for `pl` and y |
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.conversion import Label, phrase_of
from spectral_latent.constituency.model import ConstituencyModel, ConstituencyOptions
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.inference import collapse, expected_counts, sample_trees
from spectral_latent.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, Rules, SkeletalTrees, Vocabulary

__all__ = ["embedded_treebank", "embedded_truth"]

_GRAMMAR = """
S[main] -> subject[#] @S[#]                  50/35
S[main] -> ADVP|RB[front] @S[full]           8
S[main] -> PP[time] @S[full]                 7
@S[full] -> subject[#] @S[#]                 60/40
@S[#] -> predicate[#] .                      1
S[sub] -> subject[#] predicate[#]            60/40
S[gap] -> subject[#] VP|VB[see.#]            60/40

subject[#] -> NP[#]                          60
subject[#] -> NP|PRP[nom.#]                  20
subject[sg] -> NP|NNP[name]                  20
subject[pl] -> NP|NN[pl]                     20
nominal -> NP[#]                             40/30
nominal -> NP|NNP[name]                      10
nominal -> NP|NN[pl]                         12
object -> nominal                            88
object -> NP|PRP[acc]                        12

NP[#] -> DT[#] NN[#]                         50
NP[#] -> DT[#] @NP[#]                        14
NP[#] -> NP[kin.#] PP[of]                    12
NP[#] -> NP[fact.#] SBAR[that]               4
NP[#] -> NP[#] PP[noun]                      10
NP[#] -> NP[#] SBAR[rel.#]                   6
NP[pl] -> @NP[and] nominal                   10
NP[#] -> DT[part.#] PP[part]                 3/6
@NP[#] -> JJ NN[#]                           80
@NP[#] -> JJ @NP[#]                          20
@NP[and] -> nominal CC                       1
NP[kin.#] -> DT[#] NN[kin.#]                 1
NP[fact.#] -> DT[#] NN[fact.#]               1
NP[place] -> DT[sg] NN[place]                1
NP[tool] -> DT[sg] NN[tool]                  1
NP[trait] -> DT[sg] NN[trait]                1
NP[time] -> DT[time] NN[time]                1

PP[of] -> IN[of] nominal                     1
PP[part] -> IN[of] NP[pl]                    1
PP[noun] -> IN[with] NP[trait]               40
PP[noun] -> IN[about] nominal                30
PP[noun] -> IN[at] NP[place]                 20
PP[verb] -> IN[with] NP[tool]                40
PP[verb] -> IN[at] NP[place]                 40
PP[verb] -> IN[toward] nominal               30
PP[time] -> IN[during] NP[time]              1
PP[to] -> IN[to] NP[place]                   50
PP[to] -> IN[to] nominal                     50
PP[on] -> IN[on] object                      1

predicate[#] -> VP[do.#]                     60
predicate[#] -> VP[say.#]                    20
predicate[#] -> VP|VB[bark.#]                20
action[#] -> VP[do.#]                        70
action[#] -> VP|VB[bark.#]                   30

VP[do.#] -> VB[see.#] object                 35
VP[do.#] -> VB[rely.#] PP[on]                10
VP[do.#] -> @VP[put.#] PP[to]                10
VP[do.#] -> @VP[give.#] nominal              8
VP[do.#] -> action[#] PP[verb]               12
VP[do.#] -> action[#] PP[time]               5
VP[do.#] -> action[#] NP[time]               6
VP[do.#] -> action[#] ADVP|RB[manner]        6
VP[do.#] -> action[#] SBAR[while]            4
VP[do.#] -> ADVP|RB[often] action[#]         4
VP[do.#] -> @VP[and.#] action[#]             4
VP[say.#] -> VB[say.#] SBAR[that]            50
VP[say.#] -> VB[say.#] S[sub]                20
VP[say.#] -> @VP[tell.#] SBAR[that]          25
VP[say.#] -> ADVP|RB[often] VP[say.#]        5
@VP[put.#] -> VB[put.#] object               1
@VP[give.#] -> VB[give.#] object             1
@VP[tell.#] -> VB[tell.#] object             1
@VP[and.#] -> action[#] CC                   1

SBAR[that] -> IN[that] S[sub]                1
SBAR[while] -> IN[while] S[sub]              1
SBAR[rel.#] -> WHNP|WDT predicate[#]         60
SBAR[rel.#] -> WHNP|WDT S[gap]               40

. : .
CC : and or
WHNP|WDT : that who which
DT[#] : the a/some this/these one/many another/several
DT[part.#] : one/some each/many neither/most
DT[time] : every that each
NP|PRP[nom.#] : he/they she/we it/you
NP|PRP[acc] : him them her us it me you
NP|NNP[name] : Mary John Kim Anna Peter Lee Sara Omar Ivan Lena Noor Paul Rosa Hugo Mina Otto Zoe Abel
JJ : old young small big red happy tired strange clever lazy green quiet brave proud pale rusty gentle grim

NN[#] : dog/dogs man/men cat/cats child/children girl/girls boy/boys bird/birds horse/horses doctor/doctors
NN[#] : teacher/teachers book/books letter/letters singer/singers farmer/farmers lion/lions apple/apples nurse/nurses
NP|NN[pl] : dogs men cats children girls boys birds horses doctors teachers books letters singers farmers lions apples
NN[kin.#] : friend/friends owner/owners leader/leaders picture/pictures brother/brothers king/kings copy/copies
NN[fact.#] : claim/claims idea/ideas rumour/rumours hope/hopes report/reports belief/beliefs
NN[place] : house park garden city forest school river kitchen market bridge island castle harbour
NN[tool] : telescope hammer camera knife spoon stick torch brush rope ladder
NN[trait] : hat tail beard smile hood scar limp crown collar wig
NN[time] : day night week morning year evening summer winter

IN[of] : of
IN[with] : with
IN[about] : about like without beyond
IN[at] : in near behind under
IN[toward] : toward at past against
IN[during] : during after before until
IN[to] : into onto to
IN[on] : on for at with
IN[that] : that
IN[while] : while because after before when until

ADVP|RB[front] : today yesterday perhaps suddenly fortunately
ADVP|RB[often] : often always never rarely
ADVP|RB[manner] : loudly slowly well quickly badly again carefully

VB[see.#] VP|VB[see.#] : sees/see likes/like chases/chase finds/find loves/love hears/hear helps/help fears/fear
VP|VB[bark.#] : barks/bark sleeps/sleep sings/sing walks/walk laughs/laugh swims/swim dances/dance arrives/arrive
VB[rely.#] : relies/rely waits/wait looks/look depends/depend insists/insist
VB[put.#] : puts/put sends/send brings/bring moves/move drags/drag
VB[give.#] : gives/give shows/show offers/offer hands/hand
VB[say.#] : says/say thinks/think knows/know believes/believe hopes/hope fears/fear claims/claim hears/hear
VB[tell.#] : tells/tell reminds/remind warns/warn persuades/persuade
"""


class _Production(NamedTuple):
    """One choice of a left-hand side: one or two symbols, or a word."""

    weight: float
    symbols: tuple[str, ...]
    word: str = ""


_Grammar = dict[str, list[_Production]]


def _lines(text: str) -> Iterator[list[str]]:
    """The tokens of each line, after those with # or / were doubled."""
    for line in text.splitlines():
        numbers = ("sg", "pl") if "#" in line or "/" in line else ("",)
        for at, number in enumerate(numbers):
            tokens = [token.split("/")[min(at, token.count("/"))].replace("#", number) for token in line.split()]
            if tokens:
                yield tokens


def _read(text: str) -> _Grammar:
    """The productions of each left-hand side, as written."""
    grammar: _Grammar = defaultdict(list)
    for tokens in _lines(text):
        at = next(at for at, token in enumerate(tokens) if token in ("->", ":"))
        right = tokens[at + 1 :]
        for left in tokens[:at]:
            ours = grammar[left]
            if tokens[at] == "->":
                ours.append(_Production(float(right[-1]), tuple(right[:-1])))
            else:
                ours += (_Production(1.0 / rank, (), word) for rank, word in enumerate(right, start=len(ours) + 1))
    return grammar


def _spelt_out(symbol: str, grammar: _Grammar) -> list[tuple[float, str]]:
    """The symbols that a name in small letters stands for, with their probabilities; any other stands for itself."""
    if not symbol[0].islower():
        return [(1.0, symbol)]
    total = sum(production.weight for production in grammar[symbol])
    return [
        (weight / total * share, name)
        for weight, (other,), _ in grammar[symbol]
        for share, name in _spelt_out(other, grammar)
    ]


def _normal(grammar: _Grammar) -> _Grammar:
    """The grammar without names in small letters, the weights of each left-hand side summing to one."""
    result: _Grammar = defaultdict(list)
    for left in grammar:
        if left[0].islower():
            continue
        total = sum(production.weight for production in grammar[left])
        for weight, symbols, word in grammar[left]:
            for choice in product(*(_spelt_out(symbol, grammar) for symbol in symbols)):
                shares, names = zip(*choice, strict=True) if choice else ((), ())
                result[left].append(_Production(weight / total * prod(shares), names, word))
    return result


def _label(name: str) -> Label:
    """The symbol of a name such as `NP|NN[pl]`."""
    symbol = name.partition("[")[0]
    return Label(tuple(symbol.removeprefix("@").split("|")), bar=symbol.startswith("@"))


def _numbered(names: Iterable[str]) -> tuple[list[Label], dict[str, tuple[int, int]]]:
    """The labels of all symbols, and the symbol and state of each name."""
    labels = Vocabulary()
    states: Counter[int] = Counter()
    numbers = {}
    for name in names:
        symbol = labels.add(_label(name))
        numbers[name] = symbol, states[symbol]
        states[symbol] += 1
    return labels.names, numbers


def _operators(grammar: _Grammar, numbers: dict[str, tuple[int, int]], words: Vocabulary) -> ObservableOperators:
    """The operators of a normal grammar, in the basis of its states; its first left-hand side is the root."""
    states = np.bincount([symbol for symbol, _ in numbers.values()])
    emissions: dict[tuple[int, int], FloatArray] = defaultdict(lambda: np.zeros(states.max()))
    tensors: dict[tuple[int, int, int], FloatArray] = {}
    for name, productions in grammar.items():
        a, h = numbers[name]
        for weight, children, word in productions:
            if word:
                emissions[a, words[word]][h] += weight
            else:
                (b, i), (c, j) = (numbers[child] for child in children)
                tensors.setdefault((a, b, c), np.zeros(states[[a, b, c]]))[h, i, j] += weight
    leaf, binary = sorted(emissions), sorted(tensors)
    root = np.zeros((len(states), states.max()))
    root[numbers[next(iter(grammar))]] = 1.0
    return ObservableOperators(
        Rules(np.array(leaf), np.empty((0, 2), dtype=np.int64), np.array(binary)),
        states,
        root,
        leaf=np.array([emissions[rule] for rule in leaf]),
        unary=np.empty((0, states.max(), states.max())),
        binary=[Tensor(*(np.empty((0, m)) for m in tensors[rule].shape), dense=tensors[rule]) for rule in binary],
        probabilities=True,
    )


@functools.cache
def embedded_truth() -> ConstituencyModel:
    """The model that the treebank is sampled from, over the words of its grammar alone.

    Its `operators` are the true probabilities, its `plain` the plain PCFG that endless training data would give.

    >>> parse = embedded_truth().parse("the friend of the girls that sings sleeps .".split())
    >>> print(parse.tree.bracketed())
    (S ...)
    """
    grammar = _normal(_read(_GRAMMAR))
    labels, numbers = _numbered(grammar)
    lexicon = Lexicon(choice.word for choices in grammar.values() for choice in choices if choice.word)
    operators = _operators(grammar, numbers, lexicon.terminals)
    count = expected_counts(operators).sum(axis=1)
    return ConstituencyModel(
        ConstituencyOptions(), labels, lexicon, count / count.sum(), plain=collapse(operators), operators=operators
    )


def _phrases(trees: SkeletalTrees, labels: Sequence[Label], words: Sequence[str]) -> Iterator[Phrase]:
    """The phrase of each s-tree, whose terminals are numbers of words."""
    first = 0
    for root in trees.root.tolist():
        nodes = slice(first, root + 1)
        columns = (trees.symbol[nodes], trees.left[nodes], trees.right[nodes], trees.terminal[nodes])
        tree = SkeletalTrees(*columns, root=np.array([root - first]))
        yield phrase_of(tree, labels, [words[terminal] for terminal in tree.terminal[tree.is_leaf]])
        first = root + 1


def embedded_treebank(n_trees: int = 2000, seed: int = 0) -> list[Phrase]:
    """Trees drawn independently from `embedded_truth`; the same seed gives the same trees.

    >>> for tree in embedded_treebank(2):
    ...     print(tree.bracketed())
    """
    truth = embedded_truth()
    trees = sample_trees(truth.operators, n_trees, np.random.default_rng(seed)).trees
    return list(_phrases(trees, truth.labels, truth.lexicon.words))
