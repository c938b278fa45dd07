"""Read the sentences of FILE, or of standard input, each with its number and its lines, in one pass."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from string import whitespace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from spectral_latent.tasks.watch import Watch

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencyModel, DependencySentence
    from spectral_latent.tokenisation import Token, Tokenisation

__all__ = [
    "FORMATS",
    "Input",
    "InputFormat",
    "InputSentence",
    "RawTextCheck",
    "is_pipe",
    "partial_sentences",
    "partial_trees",
    "read_files",
    "read_sentences",
    "read_text",
    "source_name",
    "with_phrase_tags",
    "with_sentence_tags",
]

NumberedLine: TypeAlias = tuple[int, str]  # the number of a line, and its text with its end

_CHUNK = 1 << 16  # the number of bytes that are read at once
_SHOWING = 100  # the first sentences, whose words show whether a text is in the language of the model
_LINE_ENDS = re.compile(rb"\n")
_SHOWING_LINE = re.compile(rb"^(?!(?:\xef\xbb\xbf)?#)[^\S\n]*\S[^\n]*\n", re.MULTILINE)  # shows the format
_WORD_LINE = re.compile(rb"^(?![ \t]*\r?\n|#)[^\n]*\n", re.MULTILINE)  # neither empty nor a comment


class InputFormat(NamedTuple):
    """A format of FILE.

    awaited: the name of what a terminal is asked to type.
    end: the pattern at whose end a sentence ends; None if the text is read as a whole."""

    awaited: str
    end: re.Pattern[bytes] | None


_LINES = "sentences from the terminal, one a line, with spaces between words and marks; Ctrl-D ends"
_END_OF_BLOCK = "an empty line ends a sentence, and Ctrl-D the input"
FORMATS: Mapping[Format, InputFormat] = MappingProxyType(
    {
        "brackets": InputFormat("trees from the terminal; Ctrl-D ends", None),
        # A sentence ends with the line of a word, comments, and an empty line.
        "conllu": InputFormat(
            f"CoNLL-U from the terminal; {_END_OF_BLOCK}",
            re.compile(rb"^(?![ \t]*\r?\n|#)[^\n]*\n(?:#[^\n]*\n)*[ \t]*\r?\n", re.MULTILINE),
        ),
        "tagged": InputFormat(_LINES, _LINE_ENDS),
        "json": InputFormat("JSON from the terminal, an object on each line; Ctrl-D ends", _LINE_ENDS),
        "tokens": InputFormat(_LINES, _LINE_ENDS),
        "text": InputFormat(
            "text from the terminal; an empty line ends a paragraph, and Ctrl-D the text",
            re.compile(rb"^[ \t]*\r?\n", re.MULTILINE),
        ),
    }
)


class InputSentence(NamedTuple):
    """A sentence, and its place in the input.

    sentence: the words, with tags and heads where the input has them; no words for an empty line of tokens.
    number: the number of the line if each line is a sentence; otherwise the number of the sentence; after the name of
    its file if there are several, as in `b.txt:3`.
    lines: the lines of the sentence in a table, each with its line end; none in other formats.
    places: the index in `lines` of the line of each word.
    tokens: the words as they stand in raw text; none in other formats.
    name: the name in the row or the comments of the sentence; empty if there is none.
    constraints: the known parts of the tree, as the parser takes them; None if no part is known.
    unknown: the tags that the parser does not know, which are left open."""

    sentence: DependencySentence
    number: int | str
    lines: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()
    name: str = ""
    constraints: Any = None
    unknown: tuple[str, ...] = ()

    @property
    def sent_id(self) -> str:
        """The name of the sentence, or its number if it has no name."""
        return self.name or str(self.number)

    @property
    def words(self) -> list[str]:
        """The words of the sentence."""
        return list(self.sentence.forms)

    @property
    def forms(self) -> list[str]:
        """The words as they stand in the input: brackets of raw text are not escaped."""
        return [token.shown for token in self.tokens] or self.words

    @property
    def is_whole(self) -> bool:
        """Tell whether this is a sentence.  An empty line is a sentence; comments at the end of a table are not."""
        return bool(self.sentence.forms) or not self.lines

    @property
    def spaces(self) -> list[bool]:
        """Tell for each word whether white space follows it or its token; after the last word it always does."""
        if not self.tokens:
            return [True] * len(self.words)
        first = {token.first for token in self.tokens}
        return [token.end not in first for token in self.tokens]

    @property
    def text(self) -> str:
        """The sentence as a line of text."""
        if not self.tokens:
            return " ".join(self.words)
        rows = zip(self.tokens, self.spaces, strict=True)
        return "".join(f"{token.form} " if space else token.form for token, space in rows if token.part < 2).strip()


class Input(NamedTuple):
    """The sentences of an input.

    source: the name of the input in messages.
    batches: the sentences in batches; a batch of a pipe has the sentences that came together."""

    source: str
    form: Format
    batches: Iterator[Iterable[InputSentence]]

    @property
    def parts(self) -> Iterator[InputSentence]:
        """Return all sentences, and then the comments after the last sentence of a table if there are any."""
        return chain.from_iterable(self.batches)

    @property
    def sentences(self) -> Iterator[InputSentence]:
        """Return all sentences; comments after the last sentence of a table are left out."""
        return (each for each in self.parts if each.is_whole)

    def map(self, change: Callable[[InputSentence], InputSentence]) -> Input:
        """Change each sentence as it is read."""
        return self._replace(batches=(map(change, batch) for batch in self.batches))

    def without_tags(self, watch: Watch) -> Input:
        """Return the input, and say once that its tags are not used if it has some."""
        is_told = False

        def look_at(sentence: InputSentence) -> InputSentence:
            """Tell of the first sentence with tags."""
            nonlocal is_told
            if not is_told and _tags_of(sentence):
                is_told = True
                watch.message(f"The tags of {self.source} are not used: this command takes the words alone")
            return sentence

        return self.map(look_at)

    @property
    def unit(self) -> str:
        """The name of the unit that the numbers of sentences count."""
        return "line" if FORMATS[self.form].end is _LINE_ENDS else "sentence"


def read_files(files: Sequence[str], read: Callable[[str], Input]) -> Input:
    """Read the sentences of one or several files, one file after the other."""
    from spectral_latent.corpora import CorpusError
    from spectral_latent.corpora.formats import NAMES

    first, *others = map(read, files)
    if not others:
        return first
    for each in others:
        if each.form != first.form:
            raise CorpusError(
                f"{first.source}: {NAMES[first.form]}, and {each.source}: {NAMES[each.form]}; give files of one "
                f"format, or --format"
            )
    every = [first, *others]
    batches = chain.from_iterable(each.map(partial(_of_file, Path(each.source).name)).batches for each in every)
    return Input(", ".join(each.source for each in every), first.form, batches)


def _of_file(file: str, sentence: InputSentence) -> InputSentence:
    """Return a sentence of one of several files, whose lines end with an empty line."""
    lines = sentence.lines
    if lines and lines[-1].strip(" \t\r\n"):
        lines = (*lines[:-1], lines[-1].rstrip("\r\n") + "\n", "\n")
    return sentence._replace(number=f"{file}:{sentence.number}", lines=lines)


def source_name(file: str) -> str:
    """Name an input in messages."""
    return "standard input" if file == "-" else file


def is_pipe(file: str) -> bool:
    """Tell whether an input is read as it comes: standard input, or a file that is no regular one."""
    return file == "-" or not Path(file).is_file()


def _chunks(file: str) -> Iterator[bytes]:
    """Read a file, or standard input for `-`, in parts; the parts of a pipe are read as they come."""
    stream: Any = sys.stdin.buffer if file == "-" else open(file, "rb")  # noqa: SIM115
    try:
        while chunk := stream.read1(_CHUNK):
            yield chunk
    finally:
        if file != "-":
            stream.close()


def read_text(file: str, *needed: Format, form: Format | None = None) -> tuple[str, str]:
    """Read a file as a whole, in one of the needed formats if there are any; return its text and its name."""
    from spectral_latent.corpora import sniff_format
    from spectral_latent.corpora.text import decode_all

    source = source_name(file)
    text = decode_all(_chunks(file), source)
    if needed:
        sniff_format(source, text, *needed, given=form)  # refuses other formats
    return text, source


def read_sentences(file: str, form: Format | None, tokenisation: Tokenisation, watch: Watch | None = None) -> Input:
    """Read the sentences of a file, or of standard input for `-`, as they are asked for.

    Without a format, the name of the file or its first lines show it; of a pipe, those that come at first.  The
    tokenisation divides raw text, and recognises raw text among lines that should be tokenised, of which there is a
    message."""
    from spectral_latent.corpora import Guess, sniff_format
    from spectral_latent.corpora.formats import SHOWING
    from spectral_latent.corpora.text import utf8_chunks

    source = source_name(file)
    watch = watch or Watch()
    chunks = utf8_chunks(_chunks(file), source)
    if form is None:
        begun = bytearray()
        beginning = _read_beginning(chunks, begun, 1 if is_pipe(file) else SHOWING)
        guess = sniff_format(source, beginning.decode("utf-8", errors="replace"))
        chunks = chain([bytes(begun)], chunks)
        if guess.doubt:
            watch.message(f"Warning: {guess.warning(source)}")
    else:
        guess = Guess(form)
    reader = _FormatReader(source, tokenisation, RawTextCheck(tokenisation, watch), count(1))
    end = FORMATS[guess.form].end
    if end is None:
        return Input(source, guess.form, iter([guess.noted(reader.trees(chunks))]))
    read = {
        "tokens": reader.tokens,
        "tagged": reader.tagged,
        "json": reader.rows,
        "text": reader.text,
        "conllu": reader.table,
    }[guess.form]
    pieces = (guess.noted(read(reader.lines(first, piece))) for first, piece in _pieces(chunks, end))
    return Input(source, guess.form, _checked_words(pieces, tokenisation, watch))


def _checked_words(
    pieces: Iterable[Iterator[InputSentence]], tokenisation: Tokenisation, watch: Watch
) -> Iterator[Iterator[InputSentence]]:
    """Return pieces of a text; warn once, at the end of a piece, if most words so far were never seen."""
    seen: list[list[str]] = []
    has_warned = False

    def noted(piece: Iterator[InputSentence]) -> Iterator[InputSentence]:
        """Keep the words of the first sentences."""
        for sentence in piece:
            if len(seen) < _SHOWING:
                seen.append(sentence.words)
            yield sentence

    for piece in pieces:
        yield noted(piece)
        if not has_warned and len(seen) < _SHOWING and (warning := tokenisation.warns_of(seen)):
            has_warned = True
            watch.message(f"Warning: {warning}")


def _read_beginning(chunks: Iterator[bytes], begun: bytearray, n_lines: int) -> bytes:
    """Read until so many lines show the format, and return all whole lines so far; `begun` gets what was read."""
    n_shown = 0
    whole = 0  # the end of the lines that have been searched
    for chunk in chunks:
        begun += chunk
        if b"\n" in chunk:
            n_shown += sum(1 for _ in _SHOWING_LINE.finditer(begun, whole))
            whole = begun.rindex(b"\n") + 1
            if n_shown >= n_lines:
                return bytes(begun[:whole])
    return bytes(begun)


def _pieces(chunks: Iterable[bytes], end: re.Pattern[bytes]) -> Iterator[tuple[int, bytes]]:
    """Join parts of a text into pieces of whole sentences, each with the number of its first line."""
    first = 1
    rest = bytearray()
    start = 0  # the beginning of the lines in which a match may begin
    for chunk in chunks:
        rest += chunk
        if b"\n" not in chunk:
            continue
        whole = rest.rindex(b"\n") + 1
        at = max((match.end() for match in end.finditer(rest, start)), default=0)
        # A match of several lines begins with the line of a word.  All other complete lines have been searched.
        start = max((line.start() for line in _WORD_LINE.finditer(rest, max(at, start), whole)), default=whole) - at
        if at:
            yield first, bytes(rest[:at])
            first += rest.count(b"\n", 0, at)
            del rest[:at]
    if rest:
        yield first, bytes(rest)


class RawTextCheck:
    """A check that warns of the first line that is clearly not tokenised."""

    def __init__(
        self,
        tokenisation: Tokenisation,
        watch: Watch,
        kind: str = "line",
        remedy: str = "for raw text, give --text",
    ) -> None:
        self._tokenisation = tokenisation
        self._watch = watch
        self._kind = kind
        self._remedy = remedy
        self._has_warned = False

    def look_at(self, words: Sequence[str], number: int) -> None:
        """Warn if a line is not tokenised, unless there was a warning before."""
        if not self._has_warned and self._tokenisation.is_raw(words):
            self._has_warned = True
            self._watch.message(
                f"Warning: {self._kind} {number} has no spaces between words and marks, as tokenised text has; "
                f"{self._remedy}"
            )


class _FormatReader(NamedTuple):
    """The readers of all formats, from the numbered lines of whole sentences to sentences."""

    source: str
    tokenisation: Tokenisation
    check: RawTextCheck
    numbers: Iterator[int]  # of the sentences of formats whose lines are not sentences

    def lines(self, first: int, piece: bytes) -> Iterator[NumberedLine]:
        """Decode the lines of a piece one by one, so that the lines before an error are returned first."""
        from spectral_latent.corpora.text import decode

        return ((number, decode(line, self.source, number)) for number, line in enumerate(BytesIO(piece), start=first))

    def tokens(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each line of words with spaces between them."""
        from spectral_latent.corpora import plain_sentences
        from spectral_latent.dependency import DependencySentence

        for number, line in lines:
            (words,) = plain_sentences([line])
            self.check.look_at(words, number)
            yield InputSentence(DependencySentence.of(words), number)

    def tagged(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each line of tokens word/TAG."""
        from spectral_latent.corpora import parse_tagged
        from spectral_latent.dependency import DependencySentence

        for number, line in lines:
            pairs = next(parse_tagged(line, self.source, number)) if line.strip(whitespace) else []
            yield InputSentence(DependencySentence.of([word for word, _ in pairs], [tag for _, tag in pairs]), number)

    def text(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Divide whole paragraphs of raw text into sentences and words."""
        for tokens in self.tokenisation.sentences("".join(line for _, line in lines)):
            yield _of_tokens(tokens, next(self.numbers))

    def rows(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each row of words, and all sentences of each row of raw text."""
        from spectral_latent.corpora.formats import parse_json_rows
        from spectral_latent.dependency import DependencySentence

        for number, row in parse_json_rows(lines, self.source):
            name = row.name or ""
            if row.words is not None:
                yield InputSentence(DependencySentence.of(row.words, row.tags), number, name=name)
                continue
            for place, tokens in enumerate(self.tokenisation.sentences(row.text or ""), start=1):
                yield _of_tokens(tokens, number)._replace(name=f"{name or number}.{place}")

    def trees(self, chunks: Iterable[bytes]) -> Iterator[InputSentence]:
        """Read the words and tags of bracketed trees, traces left out."""
        from spectral_latent.constituency import clean
        from spectral_latent.corpora import parse_brackets
        from spectral_latent.corpora.text import decode_all
        from spectral_latent.dependency import DependencySentence

        text = decode_all(chunks, self.source)
        trees = parse_brackets(text, self.source) if text.strip() else iter(())
        for tree in filter(None, map(clean, trees)):
            tags = [leaf.label for leaf in tree.preterminals()]
            yield InputSentence(DependencySentence.of(list(tree.words()), tags), next(self.numbers))

    def table(self, lines: Iterable[NumberedLine]) -> Iterator[InputSentence]:
        """Read a sentence from each block of lines; lines after the last block make a sentence without words."""
        from spectral_latent.corpora.conllu import parse_with_lines
        from spectral_latent.corpora.nbest import comment_value
        from spectral_latent.dependency import DependencySentence

        for block in _blocks(lines):
            first = block[0][0]
            texts = tuple(line for _, line in block)
            if any(map(_has_word, texts)):
                ((sentence, word_lines),) = parse_with_lines("".join(texts), self.source, first)
                places = tuple(line - first for line in word_lines)
                name = comment_value(sentence, "sent_id") or ""
                yield InputSentence(sentence, next(self.numbers), texts, places, name=name)
            else:
                yield InputSentence(DependencySentence.of([]), 0, texts)


def _of_tokens(tokens: Sequence[Token], number: int) -> InputSentence:
    """Make a sentence of the tokens of raw text."""
    from spectral_latent.dependency import DependencySentence

    return InputSentence(DependencySentence.of_tokens(tokens), number, tokens=tuple(tokens))


def _blocks(lines: Iterable[NumberedLine]) -> Iterator[list[NumberedLine]]:
    """Divide lines after each empty line that comes after words."""
    block: list[NumberedLine] = []
    has_words = False
    for number, line in lines:
        block.append((number, line))
        has_words = has_words or _has_word(line)
        if has_words and not line.strip(" \t\r\n"):
            yield block
            block = []
            has_words = False
    if block:
        yield block


def _has_word(line: str) -> bool:
    """Tell whether a line of a table is neither empty nor a comment."""
    return bool(line.strip(" \t\r\n")) and not line.startswith("#")


def _tags_of(sentence: InputSentence) -> dict[int, str]:
    """Return the tags of a sentence by the numbers of words from 0: XPOS, or UPOS if no word has XPOS."""
    from spectral_latent.dependency.tree import BLANK

    columns = (sentence.sentence.xpos, sentence.sentence.upos)
    found = ({word: tag for word, tag in enumerate(column) if tag != BLANK} for column in columns)
    return next(filter(None, found), {})


def with_phrase_tags(sentence: InputSentence, model: ConstituencyModel) -> InputSentence:
    """Require the tags that a sentence has; those that the parser does not know are left open, and listed."""
    from spectral_latent.constituency import PhraseConstraints

    given = sentence.constraints
    if given is None:
        if not (tags := _tags_of(sentence)):
            return sentence
        given = PhraseConstraints(tags=tags)
    constraints, unknown = model.known(given)
    return sentence._replace(constraints=constraints, unknown=(*sentence.unknown, *unknown))


def with_sentence_tags(sentence: InputSentence, model: DependencyModel) -> InputSentence:
    """List the tags of a sentence that the parser does not know, and therefore leaves open."""
    return sentence._replace(unknown=tuple(model.unknown_tags(sentence.sentence)))


def partial_trees(file: str, model: ConstituencyModel, projective: bool, form: Format | None = None) -> Input:
    """Read sentences with brackets around some of their words, and check them all."""
    from spectral_latent.corpora.brackets import parse_partial_with_lines
    from spectral_latent.corpora.text import Line
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.model import Partial

    del projective  # of all trees in brackets
    text, source = read_text(file, "brackets", form=form)
    sentences = []
    for number, (line, tree) in enumerate(parse_partial_with_lines(text, source), start=1):
        whole = InputSentence(DependencySentence.of(tree.sentence), number, constraints=tree.constraints)
        sentences.append(with_phrase_tags(whole, model))
        try:
            model.checked(Partial(tree.sentence, sentences[-1].constraints))
        except ValueError as error:
            raise Line(source, line).error(str(error)) from None
    return Input(source, "brackets", iter([sentences]))


def partial_sentences(file: str, model: DependencyModel, projective: bool, form: Format | None = None) -> Input:
    """Read sentences in CoNLL-U some of whose heads and relations are known, and check them as `partial_trees` does."""
    from spectral_latent.corpora.conllu import parse_partial_conllu_with_lines
    from spectral_latent.corpora.nbest import comment_value
    from spectral_latent.corpora.text import Line
    from spectral_latent.dependency import DependencySentence

    text, source = read_text(file, "conllu", form=form)
    lines = [f"{line}\n" for line in text.removesuffix("\n").split("\n")]
    begin = 0
    sentences = []
    for number, (tree, of_words) in enumerate(parse_partial_conllu_with_lines(text, source), start=1):
        try:
            model.checked(tree, projective=projective)
        except ValueError as error:
            raise Line(source, of_words[0]).error(str(error)) from None
        # The sentence ends with the first empty line after its words.
        end = of_words[-1]
        while end < len(lines) and lines[end].strip(" \t\r\n"):
            end += 1
        own = tuple(lines[begin : end + 1])
        places = tuple(line - 1 - begin for line in of_words)
        name = comment_value(tree.sentence, "sent_id") or ""
        sentences.append(InputSentence(tree.sentence, number, own, places, name=name, constraints=tree.constraints))
        begin = end + 1
    rest = tuple(lines[begin:])
    if any(line.startswith("#") for line in rest):
        sentences.append(InputSentence(DependencySentence.of([]), 0, rest))
    return Input(source, "conllu", iter([sentences]))
