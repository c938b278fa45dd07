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

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from sys import intern  # one string per distinct label and word
from typing import NamedTuple

from spectral_latent.constituency import PartialPhrase, partial_phrase
from spectral_latent.constituency.cleaning import EMPTY_TAG, Changes, tagged_words
from spectral_latent.constituency.tree import Phrase, inner_first
from spectral_latent.corpora.text import CorpusError, Line, read_text

__all__ = [
    "LEMMAS",
    "Markup",
    "is_word",
    "parse_brackets",
    "parse_partial",
    "parse_partial_with_lines",
    "raw_trees",
    "read_brackets",
    "without_outer_bracket",
]

# A token is a tag with its word, an opening bracket with its label, a closing bracket, or bare text.  ASCII white space
# separates tokens: a no-break or an ideographic space belongs to its word.
_TOKEN = re.compile(
    r"\( \s*+ ([^\s()]++) \s++ ([^\s()]++) \s*+ \) | \( \s*+ ([^\s()]*+) | (\)) | ([^\s()]++)", re.ASCII | re.VERBOSE
)
_TAGGED, _OPEN, _CLOSE, _TEXT = 2, 3, 4, 5  # the last group that each alternative of _TOKEN sets

LEMMAS = "lemmas cut from words"
# Penn's format of historical corpora
_METADATA = frozenset({"ID", "CODE"})  # labels of nodes that are no part of a tree
_HISTORICAL_EMPTY = re.compile(r"0|\*(-\d+)?|\*[^*-]+\*(-\w+)?")  # 0, *, *-1, *con*, *T*-1
_SAMPLE = 100  # trees that show whether the words of a text have lemmas


def read_brackets(path: str | os.PathLike[str], changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of a UTF-8 file; see `parse_brackets`.

    The call reads the file; each tree is parsed when the iterator comes to it.  Raises `CorpusError`, which names the
    file and the line, also for a missing file and for bytes that are not UTF-8.

    path: the file, which gzip may have compressed.
    """
    return parse_brackets(read_text(path), os.fspath(path), changes)


def parse_brackets(text: str, source: str = "<string>", changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of a text in Penn Treebank brackets; line breaks have no meaning.

    Labels, words and traces are kept as they stand.  An unlabelled outermost bracket is dropped if it holds one
    tree; if it holds several, they are the children of a phrase with the label "".

    A text whose first tree has a node ID in its outermost bracket is in the Penn format of historical corpora.  Nodes
    ID and CODE are removed from its trees.  Its empty elements, such as `*con*` and `0`, get the tag -NONE-.  If most
    words have the form word-lemma, lemmas are cut off.  A tree without words is left out.

    text: the trees.

    Raises `CorpusError`, which names `source` and the line, for brackets that do not match, text outside brackets,
    an unlabelled bracket within a tree, a constituent that is empty, has several words, or words beside phrases,
    a tree without words in another format, and a text without trees.

    >>> for tree in parse_brackets("( (S (NP (PRP It)) (VP (VBZ works)))) (FRAG (UH Yes))"):
    ...     print(tree.bracketed())
    (S (NP (PRP It)) (VP (VBZ works)))
    (FRAG (UH Yes))
    >>> for tree in parse_brackets("( (IP-MAT (NP-SBJ *con*) (VBDI kom-koma) (. .-.)) (ID 1150.SAGA,.1))"):
    ...     print(tree.bracketed())
    (IP-MAT (NP-SBJ (-NONE- *con*)) (VBDI kom) (. .))
    """
    yield from _without_markup(raw_trees(text, source), Changes() if changes is None else changes)


def raw_trees(text: str, source: str) -> Iterator[tuple[Phrase, Line]]:
    """Read the trees of a text as they stand, with their outer brackets, and the line where each begins.

    text: the trees.
    source: the name of the text in errors, which are those of `parse_brackets`.
    """
    labels: list[str] = []  # the labels of the open constituents, the outermost first
    families: list[list[Phrase]] = []  # the children so far of each open constituent
    begin = 0  # the index where the outermost constituent begins
    line = 1  # the number of the line of that index
    phrase = None
    for token in _TOKEN.finditer(text):
        kind = token.lastindex
        if not labels:
            line += text.count("\n", begin, token.start())
            begin = token.start()
        if kind == _TAGGED:
            phrase = Phrase(intern(token[1]), (intern(token[2]),))
        elif kind == _OPEN:
            labels.append(intern(token[3]))
            families.append([])
            continue
        # A constituent must have children, and only the outermost one may lack a label.
        elif kind == _CLOSE and labels and families[-1] and (labels[-1] or len(labels) == 1):
            phrase = Phrase(labels.pop(), tuple(families.pop()))
        elif kind == _TEXT and labels and not text[token.end() :].strip():
            break  # the text ends within a tree, so that the error is the open bracket
        else:
            raise _error(text, source, token.start(), _misplaced(token, labels))
        if families:
            families[-1].append(phrase)
        else:
            yield phrase, Line(source, line)
    if labels:
        raise _error(text, source, begin, "the bracket that opens here is never closed; add the missing bracket")
    if phrase is None:
        raise CorpusError(f"{source}: no trees; give text such as (S (NP (NNS dogs)) (VP (VBP bark)))")


def _without_markup(trees: Iterator[tuple[Phrase, Line]], changes: Changes) -> Iterator[Phrase]:
    """Take the outer bracket from trees, and what the Penn format of historical corpora adds; see `parse_brackets`.

    Raises `CorpusError` for a tree without words in another format.
    """
    beginning = list(islice(trees, 1))
    if Markup.of([tree for tree, _ in beginning]).is_historical:
        beginning += islice(trees, _SAMPLE - 1)
    markup = Markup.of([tree for tree, _ in beginning])
    for tree, place in chain(beginning, trees):
        plain = markup.remove(tree, changes)
        if plain is not None:
            yield plain
        elif markup.is_historical:
            changes.leave_out("trees without words left out", f"{place.source}, line {place.number}")
        else:
            raise place.error("the tree that begins here has no words; remove it")


class Markup(NamedTuple):
    """What the trees of a text have besides labels and words.

    is_historical: whether they are in Penn's format of historical corpora, with metadata and untagged empty elements.
    has_lemmas: whether words have the form word-lemma.
    """

    is_historical: bool
    has_lemmas: bool

    @staticmethod
    def of(trees: Sequence[Phrase]) -> Markup:
        """Find the markup of a text by its first trees, which have their outer brackets."""
        if not any(isinstance(part, Phrase) and part.label == "ID" for tree in trees[:1] for part in tree.children):
            return Markup(False, False)
        words = [word for tree in trees[:_SAMPLE] for tag, word in tagged_words(tree) if is_word(tag, word)]
        return Markup(True, 2 * sum(_form(word) != word for word in words) > len(words))

    def remove(self, tree: Phrase, changes: Changes) -> Phrase | None:
        """Take the outer bracket and the markup from a tree; None if no words are left."""
        plain = _modern(tree, self.has_lemmas, changes) if self.is_historical else tree
        if plain is None or not any(tagged_words(plain)):
            return None
        bare = without_outer_bracket(plain)
        if bare is not plain:
            changes.counts["top brackets removed"] += 1
        return bare


def _modern(tree: Phrase, has_lemmas: bool, changes: Changes) -> Phrase | None:
    """Take metadata and lemmas from a historical tree, and tag its empty elements; None if nothing is left."""
    made: dict[int, Phrase | None] = {}  # the new phrase of each phrase, by its `id`
    for phrase in inner_first([tree]):
        label, children = phrase
        if label in _METADATA:
            changes.counts["nodes ID and CODE removed"] += 1
            made[id(phrase)] = None
        elif not phrase.is_preterminal():
            kept = tuple([child for child in map(made.get, map(id, children)) if child is not None])
            made[id(phrase)] = Phrase(label, kept) if kept else None
        else:
            word = str(children[0])
            if not is_word(label, word):
                made[id(phrase)] = Phrase(label, (Phrase(EMPTY_TAG, (word,)),))
            elif has_lemmas and (form := _form(word)) != word:
                changes.counts[LEMMAS] += 1
                made[id(phrase)] = Phrase(label, (intern(form),))
            else:
                made[id(phrase)] = phrase
    return made[id(tree)]


def is_word(tag: str, word: str) -> bool:
    """Tell whether a leaf of a historical corpus is a word: neither metadata nor an empty element.

    tag: the label of the leaf.
    word: what stands after it.
    """
    return tag not in _METADATA and not _HISTORICAL_EMPTY.fullmatch(word)


def _form(word: str) -> str:
    """Take the form from word-lemma; a word and its lemma have equally many hyphens.

    >>> [_form(word) for word in ("menn-maður", "---", "fram-kvæmd-fram-kvæmd", "-")]
    ['menn', '-', 'fram-kvæmd', '-']
    """
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
    return f"the constituent {labels[-1] or '()'} is empty; remove it, or write a trace as (-NONE- *)"


def _error(text: str, source: str, position: int, problem: str) -> CorpusError:
    """Make the error for a position in the text."""
    return Line(source, text.count("\n", 0, position) + 1).error(problem)


_PARTIAL_TOKEN = re.compile(r"(\()([^\s()]*+) | (\)) | [^\s()]++", re.ASCII | re.VERBOSE)
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
    """Read sentences as `parse_partial` does, each with the number of its first line.

    >>> [line for line, _ in parse_partial_with_lines("(NP Yes\\n,\\nindeed)\\n\\nNo")]
    [1, 5]
    """
    is_empty = True
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
                sentence = partial_phrase(Phrase("", tuple(begun[0][1])))
            except ValueError as error:
                raise Line(source, begin).error(str(error)) from None
            if not sentence.sentence:
                raise Line(source, begin).error("the sentence that begins here has no words; remove it")
            yield begin, sentence
            is_empty = False
            begun = [("", [])]
    if len(begun) > 1:
        raise Line(source, begin).error(
            "a bracket that opens in this sentence is never closed; add the missing bracket"
        )
    if is_empty:
        raise CorpusError(f"{source}: no sentences; give text such as She saw (NP the man) .")
