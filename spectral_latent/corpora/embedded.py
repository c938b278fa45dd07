r"""Sample a treebank from a known latent grammar of a little English, written for this library.

The labels are the Penn Treebank's, except that all nouns have one tag (NN) and all verbs one (VB).  The states
distinguish number, case, the complements of verbs, and the uses of prepositional phrases.  Therefore most sentences
have a single likely tree under this grammar, while a plain PCFG over the same labels has to guess.

The grammar is written by hand, as text:

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

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency import ConstituencyOptions, Phrase, PhraseGrammar
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.files import CompactOperators
from spectral_latent.inference import collapse, mean_node_counts, sample_trees
from spectral_latent.lexicon import Lexicon
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.trees import FloatArray, Rules, Vocabulary

__all__ = ["WrittenGrammar", "embedded_treebank", "embedded_truth", "parse_grammar"]


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


def _label(name: str) -> PhraseSymbol:
    """Return the symbol of a name such as `NP|NN[pl]`."""
    symbol = name.partition("[")[0]
    return PhraseSymbol(tuple(symbol.removeprefix("@").split("|")), bar=symbol.startswith("@"))


def _number(names: Iterable[str]) -> tuple[list[PhraseSymbol], dict[str, tuple[int, int]]]:
    """Number the symbols, and the states of each; return the symbols' labels, and the symbol and state of each name."""
    labels: Vocabulary[PhraseSymbol] = Vocabulary()
    states: Counter[int] = Counter()  # the number of states of each symbol so far
    numbers = {}
    for name in names:
        symbol = labels.add(_label(name))
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


_GRAMMAR = """
S -> subject[#] @S[#]                                 50/35
S -> ADVP|RB[first] @S[full]                          8
S -> PP[time] @S[full]                                7
@S[full] -> subject[#] @S[#]                          60/40
@S[#] -> predicate[#] .                               1
S[inner] SBAR|S[inner] -> subject[#] predicate[#]     60/40
S[gap] SBAR|S[gap] -> NP|PRP[nom.#] VP|VB[see.#]      20/15
S[gap] SBAR|S[gap] -> NP|NNP VP|VB[see.sg]            15
S[gap] SBAR|S[gap] -> NP[#] VP|VB[see.#]              30/20
SBAR[that] -> IN[that] S[inner]                       1
SBAR[while] -> IN[while] S[inner]                     1
SBAR[rel.#] -> WHNP|WDT predicate[#]                  60
SBAR[rel.#] -> WHNP|WDT S[gap]                        40

subject[#] -> NP[#]                                   60
subject[#] -> NP|PRP[nom.#]                           16
subject[sg] -> NP|NNP                                 16
subject[pl] -> NP|NN                                  16
nominal -> NP[#]                                      40/30
nominal -> NP|NNP                                     10
nominal -> NP|NN                                      12
object -> nominal                                     88
object -> NP|PRP[acc]                                 12

NP[#] -> DT[#] NN[#]                                  54
NP[#] -> DT[#] @NP[#]                                 16
NP[#] -> DT[part.#] PP[part]                          3/6
NP[#] -> NP[kin.#] PP[of]                             13
NP[#] -> NP[fact.#] SBAR[that]                        5
NP[#] -> NP[#] PP[noun]                               13
NP[#] -> NP[#] SBAR[rel.#]                            7
NP[#] -> NP[#] SBAR|S[gap]                            4
NP[pl] -> NP|NN PP[noun]                              8
NP[pl] -> NP|NN SBAR[rel.pl]                          4
NP[pl] -> @NP[and] nominal                            8
@NP[and] -> nominal CC                                1
@NP[#] -> JJ NN[#]                                    80
@NP[#] -> JJ @NP[#]                                   20
NP[kin.#] -> DT[#] NN[kin.#]                          1
NP[fact.#] -> DT[#] NN[fact.#]                        1
NP[whole] -> DT[whole] NN[pl]                         1
NP[place] -> DT[sg] NN[place]                         1
NP[tool] -> DT[sg] NN[tool]                           1
NP[trait] -> DT[sg] NN[trait]                         1
NP[time] -> DT[time] NN[time]                         1

PP[of] -> IN[of] nominal                              1
PP[part] -> IN[of] NP[whole]                          1
PP[noun] -> IN[with] NP[trait]                        50
PP[noun] -> IN[from] NP[place]                        35
PP[noun] -> IN[like] nominal                          15
PP[verb] -> IN[with] NP[tool]                         50
PP[verb] -> IN[in] NP[place]                          35
PP[verb] -> IN[for] nominal                           15
PP[time] -> IN[during] NP[time]                       1
PP[to] -> IN[to] NP[place]                            80
PP[to] -> IN[to] nominal                              20
PP[on] -> IN[on] object                               1

predicate[#] -> VP[do.#]                              60
predicate[#] -> VP[say.#]                             24
predicate[#] -> VP|VB[sleep.#]                        14
action[#] -> VP[do.#]                                 70
action[#] -> VP|VB[sleep.#]                           30

VP[do.#] -> VB[see.#] object                          30
VP[do.#] -> VB[rely.#] PP[on]                         10
VP[do.#] -> @VP[put.#] PP[to]                         14
VP[do.#] -> @VP[give.#] nominal                       12
VP[do.#] -> action[#] PP[verb]                        18
VP[do.#] -> action[#] PP[time]                        5
VP[do.#] -> action[#] NP[time]                        10
VP[do.#] -> action[#] ADVP|RB[well]                   6
VP[do.#] -> action[#] SBAR[while]                     3
VP[do.#] -> ADVP|RB[often] action[#]                  4
VP[do.#] -> @VP[and.#] action[#]                      3
VP[say.#] -> VB[say.#] SBAR[that]                     50
VP[say.#] -> VB[say.#] SBAR|S[inner]                  40
VP[say.#] -> @VP[tell.#] SBAR[that]                   30
VP[say.#] -> ADVP|RB[often] VP[say.#]                 5
@VP[put.#] -> VB[put.#] object                        1
@VP[give.#] -> VB[give.#] object                      1
@VP[tell.#] -> VB[tell.#] object                      1
@VP[and.#] -> action[#] CC                            1

. : .
CC : and or
WHNP|WDT : that who which
DT[#] : the a/some this/these one/many another/several
DT[part.#] : one/some each/many neither/most
DT[whole] : the these those
DT[time] : every that each
NP|PRP[nom.#] : he/they she/we it/you
NP|PRP[acc] : him them her us it me you
NP|NNP : Mary John Kim Anna Peter Lee Sara Omar Ivan Lena Noor Paul Rosa Hugo Mina Otto Zoe Abel
NP|NNP : Gwen Ravi Iris Theo Nadia Bruno Edith Jonas Wanda Silas Agnes Felix Greta Basil Irma Ludo Thea Ugo Xenia
NP|NNP : Ines Karl Leo Maya Nils Olga Pia Rafi Sven Tara Uma Vera Wim Yara Amir Bela Cleo Dora Emil Fritz
JJ : old young small big happy tired strange clever lazy quiet brave proud pale gentle grim shy kind
JJ : hungry famous angry blind careful cheerful curious eager elegant foolish noble restless weary

NN[#] : dog/dogs man/men cat/cats child/children girl/girls boy/boys bird/birds horse/horses doctor/doctors
NN[#] : teacher/teachers singer/singers farmer/farmers lion/lions nurse/nurses baker/bakers sailor/sailors
NN[#] : painter/painters goose/geese fox/foxes student/students pilot/pilots lawyer/lawyers wolf/wolves judge/judges
NP|NN : dogs men cats children girls boys birds horses doctors teachers singers farmers lions nurses bakers sailors
NP|NN : painters geese foxes students pilots lawyers wolves judges
NN[kin.#] : friend/friends owner/owners leader/leaders brother/brothers sister/sisters rival/rivals enemy/enemies
NN[fact.#] : claim/claims idea/ideas rumour/rumours hope/hopes report/reports belief/beliefs fear/fears
NN[place] : house park garden city forest school river kitchen market bridge island castle harbour
NN[tool] : telescope hammer camera knife spoon stick torch brush rope ladder
NN[trait] : hat tail beard smile hood scar limp crown collar wig
NN[time] : day night week morning year evening summer winter

IN[of] : of
IN[with] : with
IN[from] : from near of beyond
IN[like] : like unlike beside
IN[in] : in behind near under inside
IN[for] : for despite against
IN[during] : during after before until
IN[to] : into onto to
IN[on] : on for at with
IN[that] : that
IN[while] : while because after before when until

ADVP|RB[first] : today perhaps suddenly sometimes clearly
ADVP|RB[often] : often always never rarely
ADVP|RB[well] : well slowly quickly badly again carefully together

VB[see.#] VP|VB[see.#] : sees/see likes/like chases/chase finds/find loves/love hears/hear helps/help fears/fear
VB[see.#] VP|VB[see.#] : meets/meet praises/praise avoids/avoid admires/admire draws/draw trusts/trust
VP|VB[sleep.#] : sleeps/sleep sings/sing walks/walk laughs/laugh swims/swim dances/dance arrives/arrive
VP|VB[sleep.#] : smiles/smile runs/run weeps/weep sneezes/sneeze dreams/dream yawns/yawn
VB[rely.#] : relies/rely waits/wait looks/look depends/depend insists/insist
VB[put.#] : puts/put sends/send brings/bring moves/move drags/drag
VB[give.#] : gives/give shows/show offers/offer lends/lend
VB[say.#] : says/say thinks/think knows/know believes/believe hopes/hope fears/fear claims/claim hears/hear
VB[tell.#] : tells/tell reminds/remind warns/warn persuades/persuade
"""


@functools.cache
def embedded_truth() -> PhraseGrammar:
    """Return the grammar that the treebank is sampled from; it knows no other words than those of its rules.

    Its `operators` are true probabilities; `coarse` is the PCFG that treebanks of growing size tend to."""
    grammar = parse_grammar(_GRAMMAR)
    counts = mean_node_counts(grammar.operators)
    return PhraseGrammar(
        ConstituencyOptions(rows=0.0),
        grammar.labels,
        tags=[],
        lexicon=Lexicon(grammar.words),
        seen=np.ones(len(grammar.operators.rules.binary), dtype=bool),
        prior=counts.sum(axis=1) / counts.sum(),
        coarse=collapse(grammar.operators),
        latent=CompactOperators.of(grammar.operators),
    )


def embedded_treebank(n_trees: int = 2000, seed: int = 0) -> list[Phrase]:
    """Draw trees independently from `embedded_truth`."""
    truth = embedded_truth()
    trees = sample_trees(truth.operators, n_trees, np.random.default_rng(seed)).trees
    return list(map(truth.output, trees.separate()))
