"""Read trees in the brackets of the Penn Treebank, whole or in part.

Trees may be partly known, so that brackets stand around some of the words only:

    She saw (NP the man (PP with the telescope)) .
    (S (NP (PRP She)) (VP (VBD saw) ( the man ) with the telescope) .)
    She saw the man (!NP with the telescope) (! in the park) .

A label follows its bracket at once.  A bracket without a label requires a constituent with any label.  A bracket with !
before its label forbids a constituent with this label; a bracket with ! alone forbids any constituent.  A sentence ends
with its line, or with the line where its last bracket closes, so that trees may stand on several lines.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, pairwise
from sys import intern  # one string per distinct label and word
from typing import NamedTuple

from spectral_latent.constituency import PartialPhrase, partial_phrase
from spectral_latent.constituency.cleaning import EMPTY_TAG, WORDLESS, Changes, base_label, is_empty, tagged_words
from spectral_latent.constituency.tree import Phrase, inner_first
from spectral_latent.corpora.text import CorpusError, Line

# White space of any kind separates tokens, but a no-break or thin space between the characters of a word belongs to it.
_WORD = r"[^\s()]++ (?: [^\S\ \t\n\r\f\v]++ [^\s()]++ )*"  # `)*+` of Python 3.11.2 matches a last space, too
# A token is a tag with its word, an opening bracket with its label, a closing bracket, or bare text.
_TOKEN = re.compile(
    rf"\( \s*+ ([^\s()]++) \s++ ({_WORD}) \s*+ \) | \( \s*+ ([^\s()]*+) | (\)) | ([^\s()]++)", re.VERBOSE
)
_TAGGED, _OPEN, _CLOSE, _TEXT = 2, 3, 4, 5  # the last group that each alternative of _TOKEN sets
_NO_PART, _METADATA_PART, _EMPTY_PART = range(3)  # what was dropped from a constituent, by importance

LEMMAS = "lemmas cut from words"
NO_WORDS = "trees without words left out"
_NODES = "nodes ID and CODE removed"
_UNREADABLE = "trees that cannot be read left out"
_RESPELT = "brackets such as *LRB* written as -LRB-"
SAMPLE = 100  # the first trees, which show the markup of a text
_MOST_LEAVES = 1 << 15  # that are remembered
_MOST_ERRORS = 20  # errors of a text that are listed

# Places where a tree begins, if one line ends a tree and another line begins the next.
_UNLABELLED = re.compile(r"^(?=\(\s*\()", re.MULTILINE)  # `( (`, which cannot stand within a tree
_AFTER_BLANK = re.compile(r"^[^\S\n]*\n(?=\()", re.MULTILINE)
_AT_LINE_START = re.compile(r"^(?=\()", re.MULTILINE)
_SOMETHING = re.compile(r"\S")
_MANY = 20  # so many pieces of a text show where its trees begin
_MOST = 0.95  # of all pieces; these have as many opening as closing brackets

# Penn's format of historical corpora
_METADATA = frozenset({"CODE", "ID", "METADATA", "VERSION"})  # labels of nodes that are no part of a tree
_HEADERS = _METADATA - {"ID"}  # trees of these nodes alone have no words in any format
_HISTORICAL_EMPTY = re.compile(r"0|\*(-\d+)?|\*[^*-]+\*(-\w+)?")  # 0, *, *-1, *con*, *T*-1
_HISTORICAL_SIGN = re.compile(r"0|\*(-\d+)?|\*(arb|con|exp|pro|ICH|T)\*(-\w+)?")  # these show the format
_INDEX = re.compile(r"-\w+$")
_OF_PHRASE = re.compile(r"[A-Z]+([-=]\w+)+")  # a label with functions or indices
_OF_MOVED = re.compile(r"W[A-Z]+P(-\w+)*")  # a phrase that may be 0, such as WNP-1
_NUMERALS = ("CD", "NUM")  # beginnings of tags below which 0 is a word
_LEAST_SIGNS = 0.01  # of all leaves
_LEAST_LEMMAS = 4  # words with a lemma that show lemmas without other signs

_LEAF = re.compile(rf"\( \s*+ ([^\s()]++) \s++ ({_WORD}) \s*+ \)", re.VERBOSE)
_STARRED_LEAF = re.compile(r"\( \s*+ ([^\s()]++) \s++ (\*[^\s()]*+) \s*+ \)", re.VERBOSE)
_LEAST_WORDS = 0.1  # of the leaves with a label that is a tag of words
_BRACKET = re.compile(r"\*([LR][CRS]B)\*")  # brackets of TIGER and NeGra


def parse_brackets(
    text: str,
    source: str = "<string>",
    changes: Changes | None = None,
    *,
    historical: bool | None = None,
    skip_bad: bool = False,
    traces: bool = True,
) -> Iterator[Phrase]:
    """Read the trees of a text in Penn Treebank brackets; line breaks have no meaning.

    Labels and words are kept as they stand, but the brackets of TIGER, such as `*LRB*`, are written as -LRB-.  Every
    trace and other empty element has the tag -NONE-.  One that stands directly below the label of its phrase gets it,
    if it has one of the names of empty elements in asterisks, such as `*T*-1`, and if the label is not the tag of words
    elsewhere in the text.  An unlabelled outermost bracket is dropped if it holds one tree; if it holds several, they
    are the children of a phrase with the label "".  A tree without words is left out.

    A text is in the Penn format of historical corpora if one of its first 100 trees has a node ID in its outermost
    bracket, or if many of their leaves are untagged empty elements, such as `*con*` and `0`, or have the form
    word-lemma.  Nodes ID, CODE, METADATA and VERSION are removed from its trees, and `*con*`, `*` and `0` are empty
    elements, too.  If most words have the form word-lemma, lemmas are cut off.  A text that is read otherwise, although
    some of its trees have such marks, gives a warning.

    historical: whether the text is in that format; None to tell by its first trees.
    skip_bad: whether to leave out trees that cannot be read, and count them.
    traces: whether to keep traces and other empty elements, and phrases without words.

    Raises `CorpusError`, which names `source` and the line of each error, for brackets that do not match, text outside
    brackets, an unlabelled bracket within a tree, a constituent that is empty, has several words, or words beside
    phrases, and a text without trees.

    >>> for tree in parse_brackets("( (S (NP (PRP It)) (VP (VBZ works)))) (FRAG (UH Yes))"):
    ...     print(tree.bracketed())
    (S (NP (PRP It)) (VP (VBZ works)))
    (FRAG (UH Yes))
    >>> for tree in parse_brackets("( (IP-MAT (NP-SBJ *con*) (VBDI kom-koma) (. .-.)) (ID 1150.SAGA,.1))"):
    ...     print(tree.bracketed())
    (IP-MAT (NP-SBJ (-NONE- *con*)) (VBDI kom) (. .))
    """
    changes = Changes() if changes is None else changes
    markup = Markup.of(text, historical)
    leaves = _known_leaves(markup._replace(reason="", doubtful=()), traces)
    ids = 0  # trees with an ID that are not read as historical
    try:
        for tree, place, changed in _read_trees(text, source, leaves, changes if skip_bad else None):
            changes.add(changed)
            ids += tree is not None and not markup.is_historical and _has_id(tree)
            bare = _bare_tree(tree, changes)
            if bare is None:
                changes.leave_out(NO_WORDS, f"{place.source}, line {place.number}")
            else:
                yield bare
    except CorpusError as error:
        if not markup.reason:
            raise
        remedy = "if this is wrong, give --format penn (historical=False)"
        raise CorpusError(
            *str(error).split("\n"), f"{source}: read as historical trees: {markup.reason}; {remedy}"
        ) from None
    if historical is None:
        markup.warn(source, ids)


_Tree = tuple[Phrase | None, int, Changes]  # None if nothing is kept; where it begins; what was changed in it


class _Fault(Exception):
    """What is wrong in a text: the problem, its index, the indices of the tree with it and of the next tree."""

    def __init__(self, problem: str, position: int, tree: int, next_tree: int | None = None) -> None:
        super().__init__(problem)
        self.position = position
        self.tree = tree
        self.next_tree = next_tree


def raw_trees(text: str, source: str, skipped: Changes | None = None) -> Iterator[tuple[Phrase, Line]]:
    """Read the trees of a text as they stand, with their outer brackets, and the line where each begins."""
    return ((tree, line) for tree, line, _ in _read_trees(text, source, _known_leaves(), skipped) if tree)


def _read_trees(
    text: str, source: str, leaves: _Leaves, skipped: Changes | None
) -> Iterator[tuple[Phrase | None, Line, Changes]]:
    """Read the trees of a text with their outer brackets, the line where each begins, and what was changed in it."""
    faults: list[_Fault] = []
    line = 1
    counted_to = 0  # the index whose line is known
    is_empty_text = True
    for start, end in pairwise([0, *_sure_places(text), len(text)]):
        try:
            found: Iterable[_Tree] = _trees_of(text, start, end, leaves)
            for tree, begin, changes in found if skipped is None else list(found):
                is_empty_text = False
                if skipped is not None or not faults:
                    line += text.count("\n", counted_to, begin)
                    counted_to = begin
                    yield tree, Line(source, line), changes
        except _Fault as fault:
            # The trees before the one with the fault are lost, too, if they cannot be told from a part of it.
            of_tree = start if skipped is not None else fault.tree
            whole, wrong = _mended(text, of_tree, end, leaves)
            faults += wrong or [fault]
            if skipped is not None:
                for tree, begin, changes in whole:
                    is_empty_text = False
                    yield tree, Line(source, text.count("\n", 0, begin) + 1), changes
    if faults:
        _tell(text, source, sorted(faults, key=lambda fault: fault.position), skipped)
    if is_empty_text:
        raise CorpusError(f"{source}: no trees; give text such as (S (NP (NNS dogs)) (VP (VBP bark)))")


def _tell(text: str, source: str, faults: Sequence[_Fault], skipped: Changes | None) -> None:
    """Count the trees with faults as left out, or raise an error that lists the faults, which are in order."""
    line = 1
    at = 0  # the index whose line is known
    told: list[str] = []
    for fault in faults:
        line += text.count("\n", at, fault.position)
        at = fault.position
        if skipped is not None:
            skipped.leave_out(_UNREADABLE, f"{source}, line {line}")
        elif len(told) < _MOST_ERRORS:
            after = fault.next_tree
            where = "" if after is None else f" (another tree begins in line {line + text.count(chr(10), at, after)})"
            told.append(f"{source}, line {line}: {fault}{where}")
    if skipped is not None:
        return
    if len(faults) > 1:
        listed = "" if len(faults) == len(told) else f", of which the first {len(told)} are listed"
        skip = "mend these trees, or leave them out by --skip-bad (skip_bad=True)"
        told.append(f"{source}: {len(faults):,} errors{listed}; {skip}")
    raise CorpusError(*told)


def _mended(text: str, begin: int, end: int, leaves: _Leaves) -> tuple[list[_Tree], list[_Fault]]:
    """Read the pieces of a part of a text with a fault; return the trees of those without faults, and the faults."""
    whole: list[_Tree] = []
    faults: list[_Fault] = []
    for piece in pairwise([begin, *(place for place in _places(text, begin, end) if place > begin), end]):
        try:
            whole += list(_trees_of(text, *piece, leaves))  # of a piece with a fault none can be trusted
        except _Fault as fault:
            faults.append(fault)
    return whole, faults


def _sure_places(text: str) -> list[int]:
    """List places in a text where a tree must begin: `( (`, and line starts if nearly all have balanced brackets."""
    sure = [match.start() for match in _UNLABELLED.finditer(text)]
    for pattern in (_AT_LINE_START, _AFTER_BLANK):
        places = sorted({*sure, *(match.end() for match in pattern.finditer(text))})
        if len(places) >= _MANY and _balanced(text, places, len(text)) >= _MOST:
            return places
    return sure


def _places(text: str, begin: int, end: int) -> list[int]:
    """List places where trees probably begin, for a part of a text with a fault."""
    at_line_start = [match.end() for match in _AT_LINE_START.finditer(text, begin, end)]
    if 2 * _balanced(text, at_line_start, end) >= 1:
        return at_line_start
    patterns = (_UNLABELLED, _AFTER_BLANK)
    return sorted({match.end() for pattern in patterns for match in pattern.finditer(text, begin, end)})


def _balanced(text: str, places: Sequence[int], end: int) -> float:
    """Compute the share of the pieces between places that have as many opening as closing brackets."""
    pieces = list(pairwise([*places, end]))
    return sum(text.count("(", *piece) == text.count(")", *piece) for piece in pieces) / max(len(pieces), 1)


def _leaf(tag: str, word: str) -> Phrase:
    """Make a tag with its word."""
    return Phrase(intern(tag), (intern(word),))


class _Leaf(NamedTuple):
    """What becomes of a leaf: its phrase, None if it is dropped; the changes that this is; a removed empty element."""

    phrase: Phrase | None
    changes: tuple[str, ...] = ()
    removed: str = ""


_Leaves = tuple[Callable[[str], _Leaf], frozenset[str]]  # what becomes of a leaf; labels of nodes that are dropped


@lru_cache(8)
def _known_leaves(markup: Markup | None = None, keeps_empty: bool = True) -> _Leaves:
    """Make the function that decides what becomes of leaves, and remembers the many that occur often."""

    @lru_cache(_MOST_LEAVES)
    def leaf_of(leaf: str) -> _Leaf:
        """Decide what becomes of a leaf."""
        token = _TOKEN.fullmatch(leaf)
        assert token
        tag, word = token[1], token[2]
        return _Leaf(_leaf(tag, word)) if markup is None else markup.leaf(tag, word, keeps_empty)

    return leaf_of, _METADATA if markup is not None and markup.is_historical else frozenset()


def _trees_of(text: str, start: int, end: int, leaves: _Leaves) -> Iterator[_Tree]:
    """Read the trees of a part of a text; raise _Fault where one cannot be read."""
    labels: list[str] = []  # the labels of the open constituents, the outermost first
    families: list[list[Phrase]] = []  # the children so far of each open constituent
    losses: list[int] = []  # what was dropped below each: an empty element or a phrase without words, metadata, nothing
    begin = start  # the index where the outermost constituent begins
    changes = Changes()
    phrase: Phrase | None
    leaf_of, metadata = leaves
    for token in _TOKEN.finditer(text, start, end):
        kind = token.lastindex
        if not labels:
            begin = token.start()
            changes = Changes()
        if kind == _TAGGED:
            phrase, changed, removed = leaf_of(token[0])
            for change in changed:
                changes.counts[change] += 1
            if removed:
                changes.remove(removed)
            loss = _EMPTY_PART if removed else _METADATA_PART
        elif kind == _OPEN:
            labels.append(intern(token[3]))
            families.append([])
            losses.append(_NO_PART)
            continue
        # A constituent must have children, and only the outermost one may lack a label.
        elif kind == _CLOSE and labels and (families[-1] or losses[-1]) and (labels[-1] or len(labels) == 1):
            label = labels.pop()
            children = families.pop()
            loss = losses.pop()
            phrase = None
            if label in metadata:
                changes.counts[_NODES] += 1
                loss = _METADATA_PART
            elif children:
                phrase = Phrase(label, tuple(children))
            elif loss == _EMPTY_PART:
                changes.counts[WORDLESS] += 1
        elif kind == _TEXT and labels and not text[token.end() : end].strip():
            break  # the text ends within a tree, so that the error is the open bracket
        else:
            raise _Fault(_misplaced(token, labels), token.start(), begin)
        if not families:
            yield phrase, begin, changes
        elif phrase is None:
            losses[-1] = max(losses[-1], loss)
        else:
            families[-1].append(phrase)
    if labels:
        after = end if _SOMETHING.search(text, end) else None
        raise _Fault("the bracket that opens here is never closed; add the missing bracket", begin, begin, after)


class Markup(NamedTuple):
    """What the trees of a text have besides labels and words.

    is_historical: whether they are in Penn's format of historical corpora, with metadata and untagged empty elements.
    has_lemmas: whether words have the form word-lemma.
    tags: the labels over leaves in asterisks that are tags of words, because other leaves with them are words.
    has_stars: whether the text has leaves in asterisks without the tag -NONE-.
    reason: why the text was taken to be historical; "" if it was not, or if this was not guessed.
    doubtful: the leaves in asterisks that are read as words but look like empty elements, with the number of each.
    """

    is_historical: bool
    has_lemmas: bool
    tags: frozenset[str] = frozenset()
    has_stars: bool = False
    reason: str = ""
    doubtful: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(text: str, historical: bool | None = None) -> Markup:
        """Find the markup of a text."""
        starred = {match[1] for match in _STARRED_LEAF.finditer(text)} - {EMPTY_TAG}
        leaves = ((match[1], match[2]) for match in _LEAF.finditer(text) if match[1] in starred) if starred else ()
        if historical is None and f"({EMPTY_TAG} " in text and "(ID " not in text:
            historical = False  # empty elements have their own tag, and nodes have no ID
        trees: list[Phrase] = []
        with suppress(CorpusError):  # errors are told where all trees are read
            trees += (tree for tree, _ in islice(raw_trees(text, "", Changes()), 0 if historical is False else SAMPLE))
        return Markup._of(trees, leaves, historical, bool(starred))

    @staticmethod
    def of_trees(trees: Sequence[Phrase]) -> Markup:
        """Find the markup of trees that are in no text, and so not in a historical format, by their leaves."""
        return Markup._of((), chain.from_iterable(map(_leaves, trees)), False, True)

    @staticmethod
    def _of(
        trees: Sequence[Phrase], leaves: Iterable[tuple[str, str]], historical: bool | None, has_stars: bool
    ) -> Markup:
        """Find the markup by the first trees, and by the leaves of the text with labels over leaves in asterisks."""
        words: Counter[str] = Counter()
        marks: Counter[tuple[str, str]] = Counter()
        for label, word in leaves:
            if not _HISTORICAL_EMPTY.fullmatch(word) or _BRACKET.fullmatch(word):
                words[label] += 1
            elif word != "0":
                marks[label, word] += 1
        tags = _tags(words, marks)
        pairs = [leaf for tree in trees for leaf in _leaves(tree) if leaf[0] not in _METADATA]
        reason = _historical_reason(trees, pairs) if historical is None else ""
        if historical or reason:
            found = Markup(True, False, tags, True, reason)
            of_words = [word for label, word in pairs if not found.is_empty(label, word)]
            return found._replace(has_lemmas=2 * _n_lemmas(of_words) > len(of_words))
        plain = Markup(False, False, tags, has_stars)
        doubtful: Counter[str] = Counter()
        for (label, word), count in marks.items():
            looks_empty = _HISTORICAL_EMPTY.fullmatch(word) and _OF_PHRASE.fullmatch(label)
            if looks_empty and not plain.is_empty(label, word) and label not in tags:
                doubtful[f"({label} {word})"] += count
        return plain._replace(doubtful=tuple(doubtful.most_common()))

    def remove(self, tree: Phrase, changes: Changes) -> Phrase | None:
        """Take the outer bracket and the markup from a tree; None if no words are left."""
        return _bare_tree(self.mark(tree, changes), changes)

    def mark(self, tree: Phrase, changes: Changes) -> Phrase | None:
        """Take metadata and lemmas from a tree, and tag its empty elements; None if nothing is left."""
        made: dict[int, Phrase | None] = {}  # the new phrase of each phrase, by its `id`
        for phrase in inner_first([tree]):
            label, children = phrase
            if phrase.is_preterminal():
                leaf = self.leaf(label, str(children[0]), keeps_empty=True)
                changes.counts.update(leaf.changes)
                made[id(phrase)] = leaf.phrase
            elif self.is_historical and label in _METADATA:
                changes.counts[_NODES] += 1
                made[id(phrase)] = None
            else:
                new = [child if isinstance(child, str) else made[id(child)] for child in children]
                kept = tuple([child for child in new if child is not None])
                made[id(phrase)] = Phrase(label, kept) if kept else None
        return made[id(tree)]

    def leaf(self, tag: str, word: str, keeps_empty: bool) -> _Leaf:
        """Drop a leaf of metadata, tag or drop an empty element, or take the lemma from a word."""
        if self.is_historical and tag in _METADATA:
            return _Leaf(None, (_NODES,))
        if self.is_empty(tag, word):
            if not keeps_empty:
                return _Leaf(None, () if tag == EMPTY_TAG else (WORDLESS,), removed=word)
            empty = _leaf(EMPTY_TAG, word)
            return _Leaf(empty if tag == EMPTY_TAG else Phrase(tag, (empty,)))
        form = _form(word) if self.has_lemmas else word
        changes = () if form == word else (LEMMAS,)
        if bracket := _BRACKET.fullmatch(form):
            return _Leaf(_leaf(tag, f"-{bracket[1]}-"), (*changes, _RESPELT))
        return _Leaf(_leaf(tag, form), changes)

    def is_word(self, tag: str, word: str) -> bool:
        """Tell whether a leaf is a word: neither metadata nor an empty element."""
        return not ((self.is_historical and tag in _METADATA) or self.is_empty(tag, word))

    def is_empty(self, tag: str, word: str) -> bool:
        """Tell whether a leaf is an empty element."""
        if tag == EMPTY_TAG:
            return True
        if not self.is_historical:
            return tag not in self.tags and is_empty(tag, word)
        if not _HISTORICAL_EMPTY.fullmatch(word) or _BRACKET.fullmatch(word):
            return False
        if word == "0":
            return not tag.startswith(_NUMERALS)
        # A verb may be elided, so that words have the same tag, but other names than these are words then.
        return tag not in self.tags or word.count("*") == 1 or is_empty("", _INDEX.sub("", word))

    def warn(self, source: str, ids: int) -> None:
        """Warn of a text that has marks of a historical corpus, but is read otherwise."""
        if ids or self.doubtful:
            marks = [f"{ids:,} trees with a node ID"] if ids else []
            marks += [f"{count:,} leaves {leaf}" for leaf, count in self.doubtful[:3]]
            warnings.warn(
                f"{source}: {', '.join(marks)} are read as words, because the first trees are not those of a "
                f"historical corpus; if it is one, give --format historical (historical=True)",
                stacklevel=3,
            )


def _leaves(tree: Phrase) -> Iterator[tuple[str, str]]:
    """Walk over the leaves of a tree, each after the label above it."""
    return ((leaf.label, str(leaf.children[0])) for leaf in tree.preterminals())


def _tags(words: Counter[str], marks: Counter[tuple[str, str]]) -> frozenset[str]:
    """Find the labels of which at least a tenth of the leaves are words, by numbers of words and of other leaves."""
    others: Counter[str] = Counter()
    for (label, _), count in marks.items():
        others[label] += count
    return frozenset(label for label in others if words[label] > _LEAST_WORDS * others[label])


def _historical_reason(trees: Sequence[Phrase], leaves: Sequence[tuple[str, str]]) -> str:
    """Say why the first trees of a text are those of a historical corpus; "" if they are not."""
    if any(tree.label == "" and _has_id(tree) for tree in trees):
        return "a tree has a node ID"
    if 2 * sum(map(_has_id, trees)) > len(trees):
        return "most trees have a node ID"
    if any(label == EMPTY_TAG for label, _ in leaves):
        return ""
    marks = Counter(leaf for leaf in leaves if _HISTORICAL_SIGN.fullmatch(leaf[1]))
    words = Counter(label for label, word in leaves if not _HISTORICAL_SIGN.fullmatch(word))
    phrases = {base_label(node.label) for tree in trees for node in inner_first([tree]) if not node.is_preterminal()}
    tags = _tags(words, marks)
    signs: Counter[str] = Counter()  # untagged empty elements below labels of phrases
    for (label, word), count in marks.items():
        is_phrase = _OF_PHRASE.fullmatch(label) or base_label(label) in phrases
        if _OF_MOVED.fullmatch(label) if word == "0" else is_phrase and label not in tags:
            signs[f"({label} {word})"] += count
    if signs and signs.total() >= _LEAST_SIGNS * len(leaves):
        return f"{signs.total():,} of the first {len(leaves):,} leaves are like {signs.most_common(1)[0][0]}"
    n_lemmas = _n_lemmas(word for _, word in leaves)
    # Words that are their own lemmas tell a treebank with lemmas from one whose words have many hyphens.
    same = next((word for _, word in leaves if word.strip("-") and f"{_form(word)}-{_form(word)}" == word), None)
    if same and n_lemmas >= _LEAST_LEMMAS and 2 * n_lemmas > len(leaves):
        return f"{n_lemmas:,} of the first {len(leaves):,} leaves are like {same}"
    return ""


def _has_id(tree: Phrase) -> bool:
    """Tell whether the outermost bracket has a node ID."""
    last = tree.children if tree.label == "" else tree.children[-1:] if len(tree.children) > 1 else ()
    return any(isinstance(part, Phrase) and part.label == "ID" and part.is_preterminal() for part in last)


def _bare_tree(tree: Phrase | None, changes: Changes) -> Phrase | None:
    """Take the outer bracket from a tree; None if it has no words."""
    if tree is None or _is_header(tree) or not any(tagged_words(tree)):
        return None
    bare = without_outer_bracket(tree)
    if bare is not tree:
        changes.counts["top brackets removed"] += 1
    return bare


def _is_header(tree: Phrase) -> bool:
    """Tell whether a tree has nothing but metadata of a corpus, such as VERSION or CODE."""
    tops = tree.children if tree.label == "" else (tree,)
    labels = {part.label for part in tops if isinstance(part, Phrase)}
    return labels <= _METADATA and not labels.isdisjoint(_HEADERS)


def _n_lemmas(words: Iterable[str]) -> int:
    """Count the words of the form word-lemma."""
    return sum(_form(word) != word for word in words)


def _form(word: str) -> str:
    """Take the form from word-lemma; a word and its lemma have equally many hyphens."""
    parts = word.split("-")
    half = len(parts) // 2
    form = "-".join(parts[:half])
    lemma = "-".join(parts[half:])
    return form if form and lemma else word


def without_outer_bracket(phrase: Phrase) -> Phrase:
    """Return the only child of a phrase without a label; return any other phrase unchanged."""
    match phrase:
        case Phrase("", (Phrase() as only,)):
            return only
        case _:
            return phrase


def _misplaced(token: re.Match[str], labels: list[str]) -> str:
    """Say why a closing bracket or bare text cannot stand within the open constituents."""
    if not labels:
        if token.lastindex == _CLOSE:
            return "a bracket closes that was never opened; remove it, or add the bracket that it should close"
        return f"{token[0]!r} stands outside brackets; remove everything that is not a tree"
    if token.lastindex == _TEXT:
        return (
            f"{token[0]!r} makes a constituent {labels[-1]} of several words, or of words beside phrases; "
            f"give each word a tag of its own, as in (NN dog), and close its bracket"
        )
    if not labels[-1] and len(labels) > 1:
        return "a bracket within a tree has no label; add the label: only the outermost bracket may lack one"
    *above, label = labels
    is_like_word = above and above[-1] and label and not token.string[token.start() - 1].isspace()  # (PRP (Dia))
    word = f"if it is a word, write ({above[-1]} {label}) in place of its brackets; otherwise " if is_like_word else ""
    return f"the constituent {label or '()'} is empty; {word}remove it, or write a trace as (-NONE- *)"


_PARTIAL_TOKEN = re.compile(rf"(\()([^\s()]*+) | (\)) | {_WORD}", re.VERBOSE)
_OPENS = 1
_LABEL = 2
_CLOSES = 3


def parse_partial(text: str, source: str = "<string>") -> Iterator[PartialPhrase]:
    """Read sentences with brackets around some of their words.

    text: the sentences; empty lines have no meaning.

    Raises `CorpusError`, which names `source` and the line, for brackets that do not match, brackets without words,
    brackets that are both required and forbidden, sentences that have nothing but traces, and a text without sentences.

    >>> (sentence,) = parse_partial("She saw (NP the man) .")
    >>> sentence.sentence, sentence.constraints.brackets
    (('She', 'saw', 'the', 'man', '.'), (Bracket(first=2, end=4, label='NP'),))
    """
    return (sentence for _, sentence in parse_partial_with_lines(text, source))


def parse_partial_with_lines(text: str, source: str = "<string>") -> Iterator[tuple[int, PartialPhrase]]:
    """Read sentences as `parse_partial` does, each with the number of its first line."""
    is_empty_text = True
    markup = Markup.of(text, historical=False)
    # The label and the children so far of the sentence, and of each bracket that is open in it.
    begun: list[tuple[str, list[Phrase | str]]] = [("", [])]
    begin = 0  # the line where the sentence begins
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if len(begun) == 1:
            begin = number
        for token in _PARTIAL_TOKEN.finditer(line):
            if token[_OPENS]:
                begun.append((intern(token[_LABEL]), []))
            elif not token[_CLOSES]:
                begun[-1][1].append(intern(token[0]))
            elif len(begun) == 1:
                raise Line(source, number).error("a bracket closes that was never opened; write -RRB- for the word )")
            else:
                label, children = begun.pop()
                if not children:
                    raise Line(source, number).error(f"the bracket ({label}) has no words; remove it")
                begun[-1][1].append(Phrase(label, tuple(children)))
        if len(begun) == 1 and begun[0][1]:
            try:
                whole = Phrase("", tuple(begun[0][1]))
                sentence = partial_phrase((markup.mark(whole, Changes()) if markup.has_stars else None) or whole)
            except ValueError as error:
                raise Line(source, begin).error(str(error)) from None
            if not sentence.sentence:
                raise Line(source, begin).error("the sentence that begins here has no words; remove it")
            yield begin, sentence
            is_empty_text = False
            begun = [("", [])]
    if len(begun) > 1:
        raise Line(source, begin).error(
            "a bracket that opens in this sentence is never closed; add the missing bracket"
        )
    if is_empty_text:
        raise CorpusError(f"{source}: no sentences; give text such as She saw (NP the man) .")
