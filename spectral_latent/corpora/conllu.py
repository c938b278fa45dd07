"""Read and write sentences in tables, with one line for each word; find their raw text in comments.

| format | columns | described in |
| --- | --- | --- |
| CoNLL-U | ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC | https://universaldependencies.org/format.html |
| CoNLL-X | ID FORM LEMMA CPOSTAG POSTAG FEATS HEAD DEPREL PHEAD PDEPREL | Buchholz and Marsi 2006, section 3 |

One reader reads CoNLL-U and CoNLL-X, because the columns that it uses are the same in both.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from sys import intern  # one string per distinct word, tag and label
from typing import NamedTuple

from spectral_latent._options import counted
from spectral_latent.constituency.cleaning import Changes
from spectral_latent.corpora.text import CorpusError, Line
from spectral_latent.dependency import DependencyConstraints, DependencySentence, PartialDependencies
from spectral_latent.dependency.tree import BLANK
from spectral_latent.model import Partial

CONLLU = (".conllu", ".conll", ".conllx")  # the endings of the names of files in CoNLL-U or CoNLL-X
_COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_FORM, _HEAD = _COLUMNS.index("FORM"), _COLUMNS.index("HEAD")
_READ = _COLUMNS[: _COLUMNS.index("DEPREL") + 1]  # the columns that are read
_COMMENT = re.compile(r"([^\s=]+)\s*=\s*(.*)")
_FORBIDS = "!"  # before the heads that a word must not have
_NUMBER = re.compile("0|[1-9][0-9]{0,8}")
_NO_WORD = re.compile(r"(0|[1-9][0-9]{0,8})([-.])([1-9][0-9]{0,8})")  # 3-4, a token of two words; 3.1, an empty node
_EMPTY_NODE_LINE = re.compile(r"^[0-9]+\.[0-9]+\t", re.MULTILINE)
_HEAD_REMEDY = "give the number of another word of the sentence, or 0 for the root"
_Row = tuple[Line, list[str]]  # a line, and its columns
_Ranges = list[tuple[int, int, str]]  # the first and the last word of a token of several words, and its form


def parse_conllu(text: str, source: str = "<string>") -> Iterator[DependencySentence]:
    """Read the sentences of a text in CoNLL-U or CoNLL-X.

    The words are the syntactic words.  Of lines for tokens of several words (ID 3-4) the form is kept; lines for empty
    nodes (ID 3.1) are left out.  Columns are kept as they stand, also words with spaces; the last two columns are not
    read.  Heads may be
    missing (`_`) from a whole sentence.  A comment belongs to the sentence in which or before which it stands.

    Raises `CorpusError`, which names `source` and the line, for a line without ten columns or with an empty one, IDs
    out of order, a range of words that are missing, a HEAD that is not the number of another word or 0, a sentence
    with heads for some of its words only or without words, and a text without sentences.  Heads need not be a tree;
    see `DependencySentence.is_tree`.

    >>> sentence, = parse_conllu('''# sent_id = 1
    ... 1-2|Vámonos|_|_|_|_|_|_|_|_
    ... 1|Vamos|ir|VERB|_|_|0|root|_|_
    ... 2|nos|nosotros|PRON|_|_|1|obj|_|_
    ... '''.replace("|", "\\t"))
    >>> sentence.forms, sentence.upos, sentence.heads, sentence.comments
    (('Vamos', 'nos'), ('VERB', 'PRON'), (0, 1), ('sent_id = 1',))
    """
    return (sentence for sentence, _ in parse_with_lines(text, source))


def parse_with_lines(
    text: str, source: str = "<string>", line: int = 1
) -> Iterator[tuple[DependencySentence, list[int]]]:
    """Read sentences as `parse_conllu` does, each with the line number of each word."""
    for words, comments, ranges in _sentences(text, source, line):
        yield _sentence(words, comments, _all_heads(words), ranges), _line_numbers(words)


def count_no_words(text: str, changes: Changes) -> None:
    """Count the lines of a table in CoNLL-U that readers leave out, because they are no words."""
    changes.counts.update("empty nodes left out" for _ in _EMPTY_NODE_LINE.findall(text))


def parse_partial_conllu(text: str, source: str = "<string>") -> Iterator[PartialDependencies]:
    """Read the sentences of a text in CoNLL-U or CoNLL-X whose heads and relations are partly known.

    A HEAD or DEPREL that is not known is `_`.  The HEAD `!3` forbids the word 3 as the head, and `!3|5` the words 3
    and 5; `!0` says that the word is not the root.

    Raises `CorpusError` as `parse_conllu` does, except for missing heads; also for heads that no tree has.

    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t_\\t_\\t_\\n"
    >>> (tree,) = parse_partial_conllu(row.format(1, "Dogs", 2) + row.format(2, "bark", "_"))
    >>> tree.sentence.forms, tree.constraints.heads
    (('Dogs', 'bark'), {1: 2})
    >>> (tree,) = parse_partial_conllu(row.format(1, "Dogs", "!0") + row.format(2, "bark", "_"))
    >>> tree.constraints.forbidden
    ((0, 1),)
    """
    return (tree for tree, _ in parse_partial_conllu_with_lines(text, source))


def parse_partial_conllu_with_lines(
    text: str, source: str = "<string>"
) -> Iterator[tuple[PartialDependencies, list[int]]]:
    """Read sentences as `parse_partial_conllu` does, each with the line number of each word."""
    for words, comments, ranges in _sentences(text, source, line=1):
        sentence = _sentence(words, comments, None, ranges)
        heads: dict[int, int] = {}
        forbidden: list[tuple[int, int]] = []
        for word, (line, columns) in enumerate(words, start=1):
            column = columns[_HEAD]
            if column.startswith(_FORBIDS):
                names = column.removeprefix(_FORBIDS).split("|")
                forbidden += [(_head(name, word, len(words), line), word) for name in names]
            elif column != BLANK:
                heads[word] = _head(column, word, len(words), line)
        relations = {word: name for word, name in enumerate(sentence.relations, start=1) if name != BLANK}
        try:
            constraints = DependencyConstraints(heads, relations, forbidden)
        except ValueError as error:
            raise words[0][0].error(f"{error}; write _ for a head that is not known") from None
        yield Partial(sentence.without_tree(), constraints), _line_numbers(words)


def _line_numbers(words: list[_Row]) -> list[int]:
    """List the line numbers of words."""
    return [line.number for line, _ in words]


def _sentences(text: str, source: str, line: int) -> Iterator[tuple[list[_Row], list[str], _Ranges]]:
    """Divide a text, whose first line has the number `line`, into sentences: the rows of words, comments and ranges."""
    comments: list[str] = []
    rows: list[_Row] = []
    is_empty = True
    for number, content in enumerate(chain(text.removeprefix("\ufeff").split("\n"), [""]), start=line):
        content = content.removesuffix("\r")
        if content.startswith("#"):
            comments.append(content[1:].strip())
        elif content.strip(" \t"):
            rows.append(_columns(content, Line(source, number)))
        elif rows:
            words, ranges = _words(rows)
            yield words, comments, ranges
            comments = []
            rows = []
            is_empty = False
    if is_empty:
        raise CorpusError(f"{source}: no sentences; give CoNLL-U, one line of ten columns for each word")


def to_conllu(sentence: DependencySentence) -> str:
    """Write a sentence in CoNLL-U, with the empty line after it; the last two columns are `_`.

    `parse_conllu` reads the same sentence again.

    Raises `ValueError` for a sentence without words, for columns that are not equally long, for an empty value, for a
    value with a line break or a tab, for a comment with a line break, and for a head that is no other word.

    >>> sentence = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0))
    >>> print(to_conllu(sentence._replace(comments=("a = 1",))).replace("\\t", " "), end="")
    # a = 1
    1 Dogs _ NNS NNS _ 2 _ _ _
    2 bark _ VBP VBP _ 0 _ _ _
    <BLANKLINE>
    """
    if not sentence.forms:
        raise ValueError("a sentence without words has no lines in CoNLL-U; leave it out")
    if any("\n" in comment or "\r" in comment for comment in sentence.comments):
        raise ValueError("a comment has a line break within; make two comments of it")
    for word, head in enumerate(sentence.heads or (), start=1):
        if head == word or not 0 <= head <= len(sentence.forms):
            raise ValueError(f"the HEAD {head} of word {word} cannot be written; {_HEAD_REMEDY}")
    heads = ("_",) * len(sentence.forms) if sentence.heads is None else map(str, sentence.heads)
    lines = [f"# {comment}" for comment in sentence.comments]
    ranges = {first: (f"{first}-{last}", form, *"________") for first, last, form in sentence.ranges}
    for number, columns in enumerate(zip(*sentence[:5], heads, sentence.relations, strict=True), start=1):
        if number in ranges:
            lines.append("\t".join(map(writable, _COLUMNS, ranges[number])))
        lines.append("\t".join(map(writable, _COLUMNS, (str(number), *columns, "_", "_"))))
    return "\n".join((*lines, "", ""))


def _columns(content: str, line: Line) -> _Row:
    """Split a line of CoNLL-U, and check its columns."""
    columns = content.split("\t")
    if len(columns) != len(_COLUMNS):
        raise line.error(
            f"{counted(len(columns), 'column')} where CoNLL-U has {len(_COLUMNS)}; give {' '.join(_COLUMNS)}, with a "
            f"tab between each two, _ for what is not known, and an empty line after each sentence"
        )
    if "" in columns[: len(_READ)]:
        raise line.error(f"the column {_READ[columns.index('')]} is empty; write _ for what is not known")
    return line, columns


def _words(rows: list[_Row]) -> tuple[list[_Row], _Ranges]:
    """Return the rows of a sentence that are words, and its tokens of several words, and check the IDs of all rows."""
    words: list[_Row] = []
    ranges: _Ranges = []
    range_end = 0  # the last word of the latest range
    range_line = rows[0][0]
    last_empty = 0  # the number of the latest empty node after the latest word
    for line, columns in rows:
        due = len(words) + 1
        if columns[0] == str(due):
            words.append((line, columns))
            last_empty = 0
            continue
        # A range a-b must begin at the next word, and an empty node a.b follow the latest word or empty node.
        match = _NO_WORD.fullmatch(columns[0])
        kind, first, second = (match[2], int(match[1]), int(match[3])) if match else ("", 0, 0)
        if kind == "-" and range_end < first == due <= second:
            range_end = second
            range_line = line
            ranges.append((first, second, columns[_FORM]))
        elif kind == "." and first == len(words) and second > last_empty:
            last_empty = second
        else:
            raise line.error(
                f"the ID {columns[0]!r} is out of order, the next word is {due}; number the words of each sentence "
                f"1, 2, 3, and end it with an empty line"
            )
    if not words:
        raise rows[0][0].error("the sentence that begins here has no words; remove it, or add them")
    if range_end > len(words):
        raise range_line.error(
            f"a range up to the word {range_end} in a sentence of {counted(len(words), 'word')}; add the words, or end "
            f"the range at the last word"
        )
    return words, ranges


def _sentence(
    words: list[_Row], comments: list[str], heads: tuple[int, ...] | None, ranges: _Ranges
) -> DependencySentence:
    """Make a sentence of the rows of its words, of their heads, and of the tokens of several words."""
    _, forms, lemmas, upos, xpos, feats, _, relations = (
        tuple(map(intern, column)) for column in zip(*(columns[: len(_READ)] for _, columns in words), strict=True)
    )
    return DependencySentence(forms, lemmas, upos, xpos, feats, heads, relations, tuple(comments), tuple(ranges))


def _all_heads(words: list[_Row]) -> tuple[int, ...] | None:
    """Read the heads of all words; None if all are missing."""
    heads = [
        None if columns[_HEAD] == BLANK else _head(columns[_HEAD], word, len(words), line)
        for word, (line, columns) in enumerate(words, start=1)
    ]
    known = tuple(head for head in heads if head is not None)
    if known and len(known) < len(heads):
        line, _ = words[heads.index(None)]
        raise line.error(f"no HEAD where other words of the sentence have one; {_HEAD_REMEDY}, or no heads at all")
    return known or None


def _head(column: str, word: int, n_words: int, line: Line) -> int:
    """Read the head of a word."""
    if not _NUMBER.fullmatch(column):
        raise line.error(f"the HEAD {column!r} is not a number; {_HEAD_REMEDY}")
    head = int(column)
    if head > n_words:
        raise line.error(f"the HEAD {head} in a sentence of {counted(n_words, 'word')}; {_HEAD_REMEDY}")
    if head == word:
        raise line.error(f"the word {word} is its own HEAD; {_HEAD_REMEDY}")
    return head


def writable(name: str, value: str) -> str:
    """Return the value of a column; raise ValueError if CoNLL-U has no place for it."""
    if not value or "\t" in value or "\n" in value or "\r" in value:
        raise ValueError(
            f"the {name} {value!r} cannot be written; give _ for what is not known, and no tab or line break"
        )
    return value


def comment_key(comment: str) -> str:
    """Return the name in a comment `name = value`; an empty string for any other comment."""
    match = _COMMENT.fullmatch(comment)
    return match[1] if match else ""


def comment_value(sentence: DependencySentence, key: str) -> str | None:
    """Return the value of a sentence's first comment of this name, or None."""
    comment = next((comment for comment in sentence.comments if comment_key(comment) == key), None)
    return None if comment is None else comment.partition("=")[2].strip()


class DividedText(NamedTuple):
    """A text with its tokens.

    text: the text, in which an empty line ends a paragraph.
    tokens: the first character and the end of each token, and its words.
    last: the index of the last token of each sentence."""

    text: str
    tokens: list[tuple[int, int, tuple[str, ...]]]
    last: list[int]


def has_text(sentence: DependencySentence) -> bool:
    """Tell whether the comment `text` of a sentence has all its tokens, and nothing else but white space."""
    return _places_of(sentence) is not None


def divided_texts(sentences: Sequence[DependencySentence], most: int | None = None) -> list[DividedText]:
    """Make the paragraphs of a treebank, as the comments `text`, `newpar` and `newdoc` have them.

    Sentences are joined by a space if most tokens are followed by one.  The text of a sentence whose comments do not
    have it is its tokens with spaces between them.

    most: the largest number of sentences of a paragraph; None for any number."""
    found = [_places_of(each) or _places_of(_with_text(each)) or ("", []) for each in sentences]
    spaces = [one[1] < other[0] for _, tokens in found for one, other in pairwise(tokens)]
    between = " " if 2 * sum(spaces) >= len(spaces) else ""
    paragraphs: list[DividedText] = []
    for sentence, (text, tokens) in zip(sentences, found, strict=True):
        opens = any(comment.startswith(("newpar", "newdoc")) for comment in sentence.comments)
        if opens or not paragraphs or len(paragraphs[-1].last) == most:
            paragraphs.append(DividedText("", [], []))
        before, placed, last = paragraphs[-1]
        start = before + between if before else ""
        placed += [(len(start) + first, len(start) + end, words) for first, end, words in tokens]
        last.append(len(placed) - 1)
        paragraphs[-1] = DividedText(start + text, placed, last)
    return paragraphs


def _places_of(sentence: DependencySentence) -> tuple[str, list[tuple[int, int, tuple[str, ...]]]] | None:
    """Find the text of a sentence, and the places of its tokens in it; None if the text does not have them."""
    text = comment_value(sentence, "text") or ""
    tokens = []
    place = 0
    for form, words in _tokens_of(sentence):
        first = text.find(form, place)
        if first < 0 or text[place:first].strip():
            return None
        place = first + len(form)
        tokens.append((first, place, words))
    return None if text[place:].strip() or not tokens else (text, tokens)


def _tokens_of(sentence: DependencySentence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the tokens of a sentence with their words."""
    ranges = {first: (last, form) for first, last, form in sentence.ranges}
    word = 1
    while word <= len(sentence.forms):
        last, form = ranges.get(word, (word, sentence.forms[word - 1]))
        yield form, sentence.forms[word - 1 : last]
        word = last + 1


def _with_text(sentence: DependencySentence) -> DependencySentence:
    """Give a sentence the text of its tokens with spaces between them."""
    return sentence._replace(comments=(f"text = {' '.join(form for form, _ in _tokens_of(sentence))}",))
