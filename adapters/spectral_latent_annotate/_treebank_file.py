"""Change single trees of a file of bracketed trees, and keep all other text as it is.

A corrected tree has labels and words alone.  What the file's own tree has besides, the new text has, too: the outer
bracket and node IDs, comments, lemmas, empty elements and indices.

| of the old tree | in the new text |
| --- | --- |
| a word with its lemma | at the same word |
| an index, as of NP-SBJ-1 | at a phrase over the same words with the same label, without the index |
| an empty element or comment | below the phrase with the words and the label of the phrase that it was below |
| the same, if there is no such phrase | below the smallest phrase that has words on both sides of it, or at the top |

In a file whose words have lemmas, a new word that would be read as another word with a lemma, or as an empty element,
is written with itself as its lemma: `1914-1918-1914-1918`.  So are all words of a new tree if the file is so small that
otherwise its lemmas would no longer be recognised.

Every new text is read again before a file has it, and refused if another tree came out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path

from spectral_latent.constituency import Changes, Phrase, clean, tagged_words
from spectral_latent.corpora import Markup, decode, raw_trees, read_text
from spectral_latent.files import write_whole

_BRACKET = re.compile(r"[()]")
_INDEX = re.compile(r"[-=]\d+$")
_WIDTH = 100  # characters of a line of a new tree


@dataclass
class _Node:
    """A phrase in the making, over the words first ... end - 1; a leaf has no children."""

    label: str
    first: int
    end: int
    children: list[_Node]
    token: str = ""  # of a leaf
    extra: Phrase | None = None  # an empty element or a comment, which has no words


class TreebankFile:
    """A file of bracketed trees, of which some are replaced, and to which others are added.

    trees: each tree without outer bracket and markup; None for one without words.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "one.psd")
    ...     _ = path.write_text("( (IP-MAT (NP-SBJ *con*) (VBDI kom-koma) (. .-.)) (ID A,.1))\\n")
    ...     file = TreebankFile.read(path)
    ...     file.replace(0, Phrase("FRAG", (Phrase("VBPI", ("kom",)), Phrase(".", (".",)))))
    ...     file.text
    '( (FRAG (NP-SBJ *con*) (VBPI kom-koma) (. .-.)) (ID A,.1))\\n'
    """

    def __init__(self, path: str | os.PathLike[str], text: str) -> None:
        self.path = os.fspath(path)
        self._pieces = list(_pieces(text))  # the text of each tree with what stands before it, and the text at the end
        self._raw = [tree for tree, _ in raw_trees(text, self.path)] if text.strip() else []
        self._markup = Markup.of(text)
        changes = Changes()
        self.trees = [self._markup.remove(tree, changes) for tree in self._raw]

    @staticmethod
    def read(path: str | os.PathLike[str]) -> TreebankFile:
        """Read a file; one that is not there or empty has no trees.

        Raises CorpusError for text that is no tree, with its line."""
        return TreebankFile(path, read_text(path) if os.path.exists(path) else "")

    @property
    def text(self) -> str:
        """The text of the file."""
        return "".join(self._pieces)

    def name(self, number: int) -> str:
        """Return the node ID of a tree, or its number from 1.

        number: the number of the tree, from 0."""
        parts = [part for part in self._raw[number].children if isinstance(part, Phrase) and part.label == "ID"]
        return str(parts[0].children[0]) if parts else str(number + 1)

    def replace(self, number: int, tree: Phrase) -> None:
        """Replace a tree by another one over the same words.

        number: the number of the tree, from 0.
        tree: the new tree, without empty elements.
        Raises ValueError if its words are others, or if the file would be read with another tree; nothing is changed.
        """
        tree = as_read(tree)
        piece = self._pieces[number]
        begin = piece.index("(")
        after = _revise(self._raw[number], tree, self._markup)
        self._put(number, piece[:begin] + _written(after, is_long="\n" in piece[begin:]), tree)

    def add(self, tree: Phrase, name: str | None = None) -> int:
        """Add a tree at the end; return its number.

        name: its node ID, in a historical text; None for none.
        Raises ValueError if the file would be read with another tree; nothing is changed."""
        tree = as_read(tree)
        *before, _ = self._pieces
        gap = ("\n\n" if self._markup.is_historical else "\n") if before else ""
        is_long = any("\n" in piece.strip() for piece in before)
        identifier = (Phrase("ID", (name,)),) if self._markup.is_historical and name else ()
        written = [
            gap + _written(Phrase("", (each, *identifier)), is_long=is_long) for each in self._with_own_lemmas(tree)
        ]
        for text in written[:-1]:
            with suppress(ValueError):
                self._put(len(self._raw), text, tree)
                break
        else:
            self._put(len(self._raw), written[-1], tree)
        return len(self._raw) - 1

    def _with_own_lemmas(self, tree: Phrase) -> Iterator[Phrase]:
        """List the ways to write a new tree: with no more lemmas than its words need to be read, and with all."""

        def is_read(tag: str, token: str, word: str) -> bool:
            """Tell whether a token below a tag is read as this word."""
            plain = self._markup.remove(Phrase("X", (Phrase(tag, (token,)),)), Changes())
            return plain is not None and list(tagged_words(plain)) == [(tag, word)]

        def rewritten(phrase: Phrase, *, always: bool) -> Phrase:
            """Give the words of a phrase their lemmas."""
            if not phrase.is_preterminal():
                return Phrase(
                    phrase.label, tuple([rewritten(c, always=always) for c in phrase.children if isinstance(c, Phrase)])
                )
            word = str(phrase.children[0])
            own = f"{word}-{word}"
            needed = (always or not is_read(phrase.label, word, word)) and is_read(phrase.label, own, word)
            return Phrase(phrase.label, (own if needed else word,))

        yield rewritten(tree, always=False)
        if self._markup.has_lemmas:
            yield rewritten(tree, always=True)

    def _put(self, number: int, piece: str, tree: Phrase) -> None:
        """Take the text of a tree, if whoever reads the file next will read this tree, and all others as they are."""
        is_new = number == len(self.trees)
        rest = self._pieces[number:] if is_new else self._pieces[number + 1 :]
        if is_new and not number and not "".join(rest):
            rest = ["\n"]  # the end of the first tree of a file
        text = "".join([*self._pieces[:number], piece, *rest])
        read = TreebankFile(self.path, _decoded(text, self.path))
        wanted = list(tree.words())
        plain = read.trees[number] if number < len(read.trees) else None
        found = [] if plain is None else [word for _, word in tagged_words(plain)]
        others = [*self.trees[:number], plain, *self.trees[number + 1 :]]
        bare = None if plain is None else clean(plain, function_labels=True)
        if plain is None or found != wanted or bare != clean(tree, function_labels=True) or read.trees != others:
            lost = [f"{leaf.bracketed():.60}" for leaf in tree.preterminals() if leaf.children[0] not in found]
            raise ValueError(
                f"this tree would be read from {self.path} as another one"
                + (f", without the words of {', '.join(lost[:3])}" if lost else "")
                + "; choose other labels, or write the words in another way"
            )
        vars(self).update(vars(read))

    def copy(self) -> TreebankFile:
        """Return the same file, whose changes leave this one as it is: they put new lists in the place of old ones."""
        return copy(self)

    def save(self) -> None:
        """Write the file, whole or not at all."""
        write_whole(Path(os.path.realpath(self.path)), self.text.encode("utf-8"))


def as_read(tree: Phrase) -> Phrase:
    """Return a tree as it comes back from its brackets, in which the word ( is -LRB-, and 10 000 is 10_000."""
    text = tree.bracketed()
    found = [each for each, _ in raw_trees(_decoded(text, "the tree"), "the tree")]
    if len(found) != 1 or found[0].bracketed() != text:
        raise ValueError(f"{text:.80} is read as another tree; choose other labels")
    found[0].check_names()
    return found[0]


def words_as_read(words: Sequence[str]) -> list[str]:
    """Return words as they come back from brackets."""
    return [Phrase("X", (word,)).bracketed()[len("(X ") : -1] for word in words]


def _decoded(text: str, source: str) -> str:
    """Return a text as it is read from a file.  Raises ValueError if it could not be."""
    try:
        return decode(text.encode("utf-8"), source)
    except UnicodeEncodeError as error:
        raise ValueError(f"{source} has {text[error.start]!r}, which is half a character; remove it") from None


def _pieces(text: str) -> Iterator[str]:
    """Divide a text after each tree; the last piece has no tree."""
    depth = begin = 0
    for bracket in _BRACKET.finditer(text):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            yield text[begin : bracket.end()]
            begin = bracket.end()
    yield text[begin:]


def _has_words(phrase: Phrase, markup: Markup) -> bool:
    """Tell whether a phrase of a file has words, and not only empty elements and comments."""
    return any(markup.is_word(leaf.label, str(leaf.children[0])) for leaf in phrase.preterminals())


@dataclass
class _Old:
    """What a tree of a file has besides the labels and words of a corrected tree.

    labels: the label with an index of each phrase that has one, by its words and its label without the index.
    extras: the empty elements and comments, in order: the number of words before, the words and the label of the phrase
    above."""

    tokens: list[str] = field(default_factory=list)
    labels: dict[tuple[int, int, str], str] = field(default_factory=dict)
    extras: list[tuple[int, tuple[int, int, str], Phrase]] = field(default_factory=list)


def _analyse(raw: Phrase, markup: Markup) -> tuple[_Old, list[Phrase], list[Phrase]]:
    """Take a tree of a file apart; also return what its outer bracket has before and after the tree."""
    old = _Old()
    outer = raw.label == ""
    tops = [part for part in raw.children if isinstance(part, Phrase)] if outer else [raw]
    with_words = [_has_words(part, markup) for part in tops]
    first = with_words.index(True) if True in with_words else len(tops)
    end = len(tops) - with_words[::-1].index(True) if True in with_words else len(tops)

    def walk(phrase: Phrase) -> tuple[int, int]:
        """Visit a phrase with words; return its span."""
        begin = len(old.tokens)
        waiting: list[int] = []
        if phrase.is_preterminal():
            old.tokens.append(str(phrase.children[0]))
            return begin, begin + 1
        for child in phrase.children:
            assert isinstance(child, Phrase)
            if _has_words(child, markup):
                walk(child)
            else:
                waiting.append(len(old.extras))
                old.extras.append((len(old.tokens), (0, -1, ""), child))
        span = (begin, len(old.tokens))
        bare = _INDEX.sub("", phrase.label)
        if bare != phrase.label:
            old.labels[(*span, bare)] = phrase.label
        for number in waiting:
            at, _, extra = old.extras[number]
            old.extras[number] = (at, (*span, bare), extra)
        return span

    for top in tops[first:end]:
        if _has_words(top, markup):
            walk(top)
        else:
            old.extras.append((len(old.tokens), (0, -1, ""), top))
    return old, tops[:first], tops[end:]


def _revise(raw: Phrase, tree: Phrase, markup: Markup) -> Phrase:
    """Give a corrected tree what the tree of the file has besides."""
    plain = markup.remove(raw, Changes())
    words = [] if plain is None else [word for _, word in tagged_words(plain)]
    if list(tree.words()) != words:
        raise ValueError(f"the new tree has the words {list(tree.words())}, and the old one {words}")
    old, before, after = _analyse(raw, markup)
    top = _node(tree, old, iter(range(len(words))))
    for at, phrase, extra in old.extras:
        above = _above(top, at, phrase)
        place = sum(child.end <= at for child in above.children)  # after earlier ones with as many words before them
        above.children.insert(place, _Node("", at, at, [], extra=extra))
    new = _phrase(top)
    return Phrase("", (*before, new, *after)) if raw.label == "" else new


def _node(phrase: Phrase, old: _Old, places: Iterator[int]) -> _Node:
    """Make the node of a corrected phrase."""
    if phrase.is_preterminal():
        at = next(places)
        return _Node(phrase.label, at, at + 1, [], old.tokens[at])
    children = [_node(child, old, places) for child in phrase.children if isinstance(child, Phrase)]
    first, end = children[0].first, children[-1].end
    return _Node(old.labels.get((first, end, phrase.label), phrase.label), first, end, children)


def _above(top: _Node, at: int, above: tuple[int, int, str]) -> _Node:
    """Find the node below which an empty element stands that had `at` words before it, and this phrase above it."""
    nodes = [top]
    for node in nodes:
        nodes += [child for child in node.children if child.children]
    same = [node for node in nodes if (node.first, node.end, _INDEX.sub("", node.label)) == above]
    around = [node for node in nodes if node.first < at < node.end]
    return (same[:1] or around[-1:] or [top])[0]


def _phrase(node: _Node) -> Phrase:
    """Make the phrase of a node."""
    if node.extra is not None:
        return node.extra
    if not node.children:
        return Phrase(node.label, (node.token,))
    return Phrase(node.label, tuple(map(_phrase, node.children)))


def _written(tree: Phrase, *, is_long: bool, indent: int = 0) -> str:
    """Write a tree, on several lines if it is long and other trees of the file are written so."""
    flat = tree.bracketed()
    if tree.label == "":
        flat = f"( {flat[1:].lstrip()}"
    if not is_long or indent + len(flat) <= _WIDTH or tree.is_preterminal():
        return flat
    step = indent + 2
    parts = [_written(part, is_long=True, indent=step) for part in tree.children if isinstance(part, Phrase)]
    return f"({tree.label} " + f"\n{' ' * step}".join(parts) + ")"
