"""Mend silver trees by rules of the Penn Treebank's guidelines (Bieri et al. 1995), before `en` learns from them.

A parser made the trees of GUM, so that some phrases have two labels at random: half of the relative pronouns are an
`NP`.  Each rule looks at one node of a tree whose function labels and traces are removed, and `mended` counts what it
changes:

| rule | what it does |
| --- | --- |
| `label_wh_phrases` | a phrase that begins an SBAR, SBARQ or SQ and holds a WH-word becomes a WHNP, WHPP, ... |
| | so do the phrases between it and the word; a bare WH-word becomes a phrase |
| `label_interjections` | a phrase over interjections (UH) alone becomes an INTJ, as do bare ones in a clause |
| `label_particles` | an ADVP over a particle (RP) alone becomes a PRT |
| `add_clauses` | a VP directly below SBAR is below an S, one below SBARQ below an SQ |
| `add_verb_phrases` | in `Who wants pie ?`, a verb that is no auxiliary begins a VP below SQ |
| `raise_copula` | in `What is your name ?`, the verb before the subject is below SQ, without a VP |

EWT and GUM have words of hyphens (HYPH), which the Wall Street Journal does not: `join_hyphens` makes one word of each
compound, an adjective before a noun.

EWT has gold dependencies.  The words of most subtrees are a constituent in the Penn Treebank, too (`subtrees`).  Which
relations these subtrees have is learnt from trees that a parser found under gold tags alone (`learn_relations`): those
whose subtrees are constituents in at least `SHARE` of the trees that do not cross them, because a tree that crosses
them is mostly a mistake.  Two subtrees that follow their head, such as `the milk` and `in the fridge` after `put`, are
no constituent without it, as in `(NP (NP the milk) (PP in the fridge))`, if they are one in fewer than `APART` of the
trees (`neighbours`): a parser makes this mistake often, but not mostly.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.cleaning import cleaned
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.dependency import DependencySentence

HYPHEN = "HYPH"
MARKS = frozenset((",", ".", ":", "``", "''", "-LRB-", "-RRB-", "NFP", HYPHEN))
SHARE = 0.85
APART = 0.5
FEWEST = 20  # subtrees from which a relation is learnt
WH_WORDS = {"WDT": "WHNP", "WP": "WHNP", "WP$": "WHNP", "WRB": "WHADVP"}
WH_PHRASES = {"NP": "WHNP", "NX": "WHNP", "PP": "WHPP", "ADVP": "WHADVP", "ADJP": "WHADJP"}
QUESTIONS = ("SBAR", "SBARQ", "SQ")
BEFORE_WH = frozenset(("CC", "RB", "ADVP", "INTJ", "PP", "SBAR", ",", ":", "``", "-LRB-"))
COPULAS = frozenset(("is", "'s", "’s", "are", "'re", "’re", "was", "were", "am", "'m", "’m"))
AUXILIARIES = COPULAS.union(("has", "have", "'ve", "’ve", "had", "'d", "’d", "do", "does", "did", "ai", "ca", "wo"))


def _phrases(node: Phrase) -> list[Phrase]:
    return [child for child in node.children if isinstance(child, Phrase)]


def _as_wh(node: Phrase) -> Phrase | None:
    """Relabel a phrase, and those within it, down to its first WH-word; None if it has none outside of clauses."""
    if node.label in WH_WORDS:
        return node
    if node.label not in WH_PHRASES and node.label not in WH_PHRASES.values():
        return None
    children = _phrases(node)
    for at, child in enumerate(children):
        if (found := _as_wh(child)) is not None:
            label = WH_PHRASES.get(node.label, node.label)
            return Phrase(label, (*children[:at], found, *children[at + 1 :]))
    return None


def label_wh_phrases(node: Phrase) -> Phrase:
    """Relabel the WH-phrase that begins a clause, or make one of a bare WH-word."""
    if node.label not in QUESTIONS:
        return node
    children = _phrases(node)
    for at, child in enumerate(children):
        if (found := _as_wh(child)) is not None:
            if found.label in WH_WORDS:
                found = Phrase(WH_WORDS[found.label], (found,))
            return Phrase(node.label, (*children[:at], found, *children[at + 1 :]))
        if child.label not in BEFORE_WH:
            break
    return node


def label_interjections(node: Phrase) -> Phrase:
    """Make an INTJ of a phrase over interjections alone, and of a bare interjection in a clause."""
    children = _phrases(node)
    if not children:
        return node
    if (
        node.label != "FRAG"
        and all(child.label in ("UH", ",", ".") for child in children)
        and children[0].label == "UH"
    ):
        return Phrase("INTJ", node.children)
    if node.label in ("S", "SINV", "SBAR", "SBARQ", "SQ", "VP", "FRAG", "PRN"):
        return Phrase(node.label, tuple(Phrase("INTJ", (x,)) if x.label == "UH" else x for x in children))
    return node


def label_particles(node: Phrase) -> Phrase:
    """Make a PRT of an adverb phrase over a particle alone."""
    alone = node.label == "ADVP" and [child.label for child in _phrases(node)] == ["RP"]
    return Phrase("PRT", node.children) if alone else node


def raise_copula(node: Phrase) -> Phrase:
    """Put a form of `be` and the subject after it directly below SQ, where a silver tree has them in a VP."""
    children = _phrases(node)
    if node.label != "SQ" or children[0].label != "VP":
        return node
    verb, *rest = _phrases(children[0])
    inverted = bool(rest) and rest[0].label == "NP" and verb.children[0] in COPULAS
    return Phrase("SQ", (verb, *rest, *children[1:])) if inverted else node


def add_clauses(node: Phrase) -> Phrase:
    """Put a clause above a VP that is directly below SBAR or SBARQ."""
    clause = {"SBAR": "S", "SBARQ": "SQ"}.get(node.label)
    if clause is None:
        return node
    return Phrase(node.label, tuple(Phrase(clause, (x,)) if x.label == "VP" else x for x in _phrases(node)))


def add_verb_phrases(node: Phrase) -> Phrase:
    """Make a VP of all that is below an SQ which begins with a verb that is no auxiliary, but for marks at its end."""
    children = _phrases(node)
    is_verb = node.label == "SQ" and children[0].label in ("VBD", "VBP", "VBZ")
    if not is_verb or str(children[0].children[0]).lower() in AUXILIARIES:
        return node
    end = next(at for at in range(len(children), 0, -1) if children[at - 1].label not in MARKS)
    return Phrase("SQ", (Phrase("VP", tuple(children[:end])), *children[end:]))


RULES: tuple[Callable[[Phrase], Phrase], ...] = (
    label_wh_phrases,
    label_interjections,
    label_particles,
    raise_copula,
    add_clauses,
    add_verb_phrases,
)


def mend(tree: Phrase, counts: Counter[str]) -> Phrase:
    """Apply all rules to all nodes of a tree, from the words to the root.

    counts: the number of nodes that each rule changes, by its name; what is found is added.
    """
    if tree.is_preterminal():
        return tree
    node = Phrase(tree.label, tuple(mend(child, counts) for child in _phrases(tree)))
    for rule in RULES:
        before, node = node, rule(node)
        counts[rule.__name__] += node is not before and node != before
    return node


def mended(trees: Iterable[Phrase], counts: Counter[str]) -> Iterator[Phrase]:
    """Clean trees, and mend them (`mend`)."""
    return (mend(tree, counts) for tree in cleaned(trees))


def join_hyphens(tree: Phrase) -> Phrase:
    """Make one word of words that stand beside one another with a hyphen between them.

    It has the tag of its last word, or JJ if that is a verb, or if the compound is a phrase of its own before a noun.
    In an NP, an ADJP or QP over the compound alone loses its bracket, as the Penn Treebank has none over one modifier.
    """
    if tree.is_preterminal():
        return tree
    children: list[Phrase] = []
    joins = False
    for child in map(join_hyphens, _phrases(tree)):
        hyphen = child.label == HYPHEN and bool(children) and children[-1].is_preterminal()
        if joins and child.is_preterminal():
            tag = "JJ" if child.label.startswith("VB") or tree.label == "ADJP" else child.label
            name = child.label == "CD" and children[-1].label in ("NNP", "NN")  # such as COVID-19
            children[-1] = _one_word(children[-1].label if name else tag, children[-1], child)
        elif hyphen:
            children[-1] = _one_word(children[-1].label, children[-1], child)
        else:
            children.append(child)
        joins = hyphen
    if tree.label in ("NP", "NX"):
        children = [_phrases(x)[0] if _is_one_modifier(x) else x for x in children]
    return Phrase(tree.label, tuple(children))


def _one_word(tag: str, *parts: Phrase) -> Phrase:
    return Phrase(tag, ("".join(word for part in parts for word in part.words()),))


def _is_one_modifier(node: Phrase) -> bool:
    """Tell whether a phrase is an ADJP or QP over one word with a hyphen."""
    below = _phrases(node)
    return node.label in ("ADJP", "QP") and len(below) == 1 and any("-" in str(word) for word in below[0].children)


class Subtree(NamedTuple):
    """The words first ... end - 1 of a subtree of dependencies, counted from 0."""

    relation: str
    first: int
    end: int


class Relations(NamedTuple):
    """What relations tell about constituents.

    together: relations whose subtrees are constituents.
    apart: pairs of relations; two subtrees with them that follow their head are no constituent without it."""

    together: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()


class _Yields:
    """The words of each subtree: from `first` to `end`, and whether these are all words there."""

    def __init__(self, sentence: DependencySentence) -> None:
        assert sentence.heads is not None
        size = len(sentence.forms)
        self.first = [*range(size)]
        self.end = [*range(1, size + 1)]
        number = [1] * size
        for word in range(size):
            above = sentence.heads[word] - 1
            while above >= 0:  # a word belongs to the subtrees of all words above it
                self.first[above], self.end[above] = min(self.first[above], word), max(self.end[above], word + 1)
                number[above] += 1
                above = sentence.heads[above] - 1
        self.is_whole = [b - a == n for a, b, n in zip(self.first, self.end, number, strict=True)]
        self.is_mark = [tag in MARKS for tag in sentence.xpos]


def subtrees(sentence: DependencySentence) -> Iterator[Subtree]:
    """List the subtrees of two and more words that stand side by side, without marks at their ends.

    A conjunct has no conjunction before it.  Subtrees are left out if a comma follows that may belong to them, as in
    `my aunt , a doctor , came`.
    """
    yields = _Yields(sentence)
    is_mark = yields.is_mark
    for head, relation in enumerate(sentence.relations):
        if not yields.is_whole[head]:
            continue
        a, b = yields.first[head], yields.end[head]
        while a < b and (is_mark[a] or (relation == "conj" and sentence.relations[a] == "cc")):
            a += 1
        while a < b and is_mark[b - 1]:
            b -= 1
        if b - a > 1 and not ("," in sentence.forms[a:b] and sentence.forms[b : b + 1] == (",",)):
            yield Subtree(relation, a, b)


def neighbours(sentence: DependencySentence) -> Iterator[Subtree]:
    """List the words of two and more subtrees side by side that follow their head, with the first and last relation.

    In `put the milk in the fridge`, they are those of `the milk in the fridge`, `obj obl`.
    """
    yields = _Yields(sentence)
    below: dict[int, list[int]] = {}
    for word, head in enumerate(sentence.heads or ()):
        if 0 < head <= word and not yields.is_mark[word]:
            below.setdefault(head, []).append(word)
    for words in below.values():
        for at, word in enumerate(words):
            last = word
            for other in words[at + 1 :]:
                between = yields.is_mark[yields.end[last] : yields.first[other]]
                if not (yields.is_whole[last] and yields.is_whole[other] and all(between)):
                    break
                last = other
                relation = f"{sentence.relations[word]} {sentence.relations[last]}"
                yield Subtree(relation, yields.first[word], yields.end[last])


def learn_relations(found: Iterable[tuple[DependencySentence, Phrase]]) -> Relations:
    """Find the relations whose subtrees are constituents, and pairs of relations whose subtrees together are none.

    found: sentences with their dependencies, and trees of the same words.
    """
    together, not_crossed = Counter[str](), Counter[str]()
    joined, number = Counter[str](), Counter[str]()
    for sentence, tree in found:
        spans = {(part.first, part.end) for part in list_constituents(tree)}
        for relation, first, end in subtrees(sentence):
            crossed = any(a < first < b < end or first < a < end < b for a, b in spans)
            not_crossed[relation] += not crossed
            together[relation] += (first, end) in spans
        for relation, first, end in neighbours(sentence):
            number[relation] += 1
            joined[relation] += (first, end) in spans
    return Relations(
        frozenset(x for x, n in not_crossed.items() if n >= FEWEST and together[x] >= SHARE * n),
        frozenset(x for x, n in number.items() if n >= FEWEST and joined[x] < APART * n),
    )
