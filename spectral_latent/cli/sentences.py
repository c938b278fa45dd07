"""Read the sentences of FILE, or of standard input: lines as they come, tables and trees as a whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from spectral_latent.cli.outputs import message, users_errors

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.tokenisation import Token, Tokenisation

Lines: TypeAlias = Iterable[tuple[int, str]]  # the number of each line, and its text with its end
_CHUNK = 1 << 16  # the number of bytes that are read at once
_SHOWING = 100  # the first sentences, whose words show whether a text is in the language of the model


class InputSentence(NamedTuple):
    """A sentence, and its place in the input.

    sentence: the words, with tags and heads where the input has them; no words for an empty line of tokens.
    number: the number of the line if each line is a sentence; otherwise the number of the sentence; after the name of
    its file if there are several, as in `b.txt:3`.
    lines: the lines of the sentence in a table, each with its line end; none in other formats.
    places: the index in `lines` of the line of each word.
    tokens: the words as they stand in raw text; none in other formats.
    name: the name in the row or the comments of the sentence; empty if there is none.
    constraints: the known parts of the tree, as the parser takes them; None if no part is known."""

    sentence: DependencySentence
    number: int | str
    lines: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    tokens: tuple[Token, ...] = ()
    name: str = ""
    constraints: Any = None

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
    def tags(self) -> dict[int, str]:
        """The tags by the numbers of words from 0: XPOS, or UPOS if no word has XPOS."""
        for column in (self.sentence.xpos, self.sentence.upos):
            if tags := {word: tag for word, tag in enumerate(column) if tag != "_"}:
                return tags
        return {}


class Input(NamedTuple):
    """The sentences of an input.

    waits: tells whether the next line of a pipe has not come yet; who writes it may wait for answers."""

    source: str
    form: Format
    sentences: Iterator[InputSentence]
    waits: Callable[[], bool] = lambda: False


# Files, and lines of them


def _name(file: str) -> str:
    """Name an input in messages."""
    return "standard input" if file == "-" else file


def _chunks(file: str) -> Iterator[bytes]:
    """Read a file, or standard input for `-`, in parts; the parts of a pipe are read as they come."""
    if file == "-" and sys.stdin.isatty():
        message("Reading from the terminal; Ctrl-D ends")
    stream: Any = sys.stdin.buffer if file == "-" else open(file, "rb")  # noqa: SIM115
    try:
        while chunk := stream.read1(_CHUNK):
            yield chunk
    finally:
        if file != "-":
            stream.close()


def _batches(file: str) -> Iterator[list[tuple[int, bytes]]]:
    """Read the whole lines that come together, each with its number; the last line may have no end."""
    from spectral_latent.corpora.text import utf8_chunks

    number = 1
    rest = bytearray()
    for chunk in utf8_chunks(_chunks(file), _name(file)):
        rest += chunk
        if b"\n" in chunk:
            *whole, rest = rest.split(b"\n")
            yield [(number + at, bytes(line) + b"\n") for at, line in enumerate(whole)]
            number += len(whole)
    if rest:
        yield [(number, bytes(rest))]


def read_text(file: str) -> tuple[str, str]:
    """Read a file, or standard input for `-`, as a whole; return its text and its name in messages."""
    from spectral_latent.corpora.text import decode_all

    return decode_all(_chunks(file), _name(file)), _name(file)


# Sentences


def read_sentences(files: Sequence[str], form: Format | None, tokenisation: Tokenisation) -> Input:
    """Read the sentences of files, or of standard input for `-`, as they are asked for, one file after the other.

    Without a format, the names of files or their first lines show it; of a pipe, the lines that come at first.  The
    tokenisation divides raw text, and recognises raw text among lines that should be tokenised, of which there is a
    message."""
    return _joined([_read_file(file, form, tokenisation) for file in files])


def _joined(given: Sequence[Input]) -> Input:
    """Join the inputs of several files, whose names then stand before the numbers of sentences."""
    if len(given) == 1:
        return given[0]
    first, *others = given
    from spectral_latent.corpora import CorpusError
    from spectral_latent.corpora.formats import NAMES

    for each in others:
        if each.form != first.form:
            raise CorpusError(
                f"{first.source}: {NAMES[first.form]}, and {each.source}: {NAMES[each.form]}; give files of one "
                f"format, or --format"
            )
    sentences = (_of_file(Path(each.source).name, sentence) for each in given for sentence in each.sentences)
    source = ", ".join(each.source for each in given)
    return Input(source, first.form, sentences, lambda: any(each.waits() for each in given))


def _of_file(file: str, sentence: InputSentence) -> InputSentence:
    """Return a sentence of one of several files, whose lines end with an empty line."""
    lines = sentence.lines
    if lines and lines[-1].strip(" \t\r\n"):
        lines = (*lines[:-1], lines[-1].rstrip("\r\n") + "\n", "\n")
    return sentence._replace(number=f"{file}:{sentence.number}", lines=lines)


def _read_file(file: str, form: Format | None, tokenisation: Tokenisation) -> Input:
    """Read the sentences of a file in a format that is given or shown."""
    from spectral_latent.corpora.formats import SHOWING, Guess, sniff_format
    from spectral_latent.corpora.text import decode

    source = _name(file)
    is_pipe = file == "-" or not Path(file).is_file()
    batches = _batches(file)
    guess = Guess(form)
    if form is None:
        begun: list[list[tuple[int, bytes]]] = []
        n_left = 1 if is_pipe else SHOWING  # lines that show the format
        while n_left > 0 and (batch := next(batches, None)):
            begun.append(batch)
            n_left -= sum(bool(line.strip()) and not line.startswith(b"#") for _, line in batch)
        batches = chain(begun, batches)
        guess = sniff_format(source, b"".join(line for batch in begun for _, line in batch).decode(errors="replace"))
        if guess.doubt:
            message(f"Warning: {guess.warning(source)}")
    n_come = 0  # lines that have come and were not yet asked for

    def come() -> Iterator[tuple[int, str]]:
        """Decode lines when they are asked for."""
        nonlocal n_come
        for batch in batches:
            n_come = len(batch)
            for number, line in batch:
                n_come -= 1
                yield number, decode(line, source, number)

    sentences = _READERS.get(guess.form, _read_trees)(come(), source, tokenisation)
    noted = guess.noted(_with_known_words(sentences, tokenisation))
    return Input(source, guess.form, noted, lambda: is_pipe and not n_come)


def _with_known_words(sentences: Iterable[InputSentence], tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Return sentences; warn once if most words of the first ones were never seen."""
    seen: list[list[str]] = []
    for sentence in sentences:
        if len(seen) < _SHOWING:
            seen.append(sentence.words)
        yield sentence
    if warning := tokenisation.warns_of(seen):
        message(f"Warning: {warning}")


def warn_of_raw_text(
    sentences: Iterable[list[str]],
    tokenisation: Tokenisation,
    kind: str = "line",
    remedy: str = "for raw text, give --text",
) -> Iterator[list[str]]:
    """Return sentences as they are read; warn of the first that is clearly not divided into words."""
    is_told = False
    for number, words in enumerate(sentences, start=1):
        if not is_told and tokenisation.is_raw(words):
            is_told = True
            text = f"{kind} {number} has no spaces between words and marks, as tokenised text has; {remedy}"
            message(f"Warning: {text}")
        yield words


# Readers of each format, from lines to sentences


def _read_tokens(lines: Lines, _source: str, tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Read a sentence from each line of words with spaces between them."""
    from spectral_latent.corpora import plain_sentences

    sentences = warn_of_raw_text(plain_sentences(line for _, line in lines), tokenisation)
    return (_of_words(words, number) for number, words in enumerate(sentences, start=1))


def _read_tagged(lines: Lines, source: str, _: Tokenisation) -> Iterator[InputSentence]:
    """Read a sentence from each line of tokens word/TAG."""
    from spectral_latent.corpora import parse_tagged

    for number, line in lines:
        pairs = next(parse_tagged(line, source, number)) if line.strip(" \t\r\n\v\f") else []
        yield _of_words([word for word, _ in pairs], number, tags=[tag for _, tag in pairs])


def _read_rows(lines: Lines, source: str, tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Read a sentence from each row of words, and all sentences of each row of raw text."""
    from spectral_latent.corpora.rows import parse_rows

    for number, row in parse_rows(lines, source):
        name = row.name or ""
        if row.words is not None:
            yield _of_words(row.words, number, tags=row.tags, name=name)
            continue
        for place, tokens in enumerate(tokenisation.sentences(row.text or ""), start=1):
            yield _of_words(tokens=tokens, number=number, name=f"{name or number}.{place}")


def _read_raw_text(lines: Lines, _source: str, tokenisation: Tokenisation) -> Iterator[InputSentence]:
    """Divide each paragraph of raw text, which an empty line ends, into sentences and words."""
    numbers = count(1)
    paragraph = ""
    for _, line in chain(lines, [(0, "\n")]):
        paragraph += line
        if not line.strip(" \t\r\n"):
            for tokens in tokenisation.sentences(paragraph):
                yield _of_words(tokens=tokens, number=next(numbers))
            paragraph = ""


def _read_trees(lines: Lines, source: str, _: Tokenisation) -> Iterator[InputSentence]:
    """Read the words and tags of bracketed trees, traces left out."""
    from spectral_latent.constituency import clean
    from spectral_latent.corpora import parse_brackets

    text = "".join(line for _, line in lines)
    trees = parse_brackets(text, source) if text.strip() else iter(())
    for number, tree in enumerate(filter(None, map(clean, trees)), start=1):
        yield _of_words(list(tree.words()), number, tags=[leaf.label for leaf in tree.preterminals()])


def _read_conllu(lines: Lines, source: str, _: Tokenisation) -> Iterator[InputSentence]:
    """Read the sentences of a table."""
    from spectral_latent.corpora.conllu import parse_with_lines

    text = "".join(line for _, line in lines)
    has_words = any(line.strip(" \t\r\ufeff") and not line.startswith("#") for line in text.split("\n"))
    return _with_lines(parse_with_lines(text, source) if has_words else (), text)


_READERS: dict[Any, Callable[[Lines, str, Tokenisation], Iterator[InputSentence]]] = {
    "tokens": _read_tokens,
    "tagged": _read_tagged,
    "json": _read_rows,
    "text": _read_raw_text,
    "conllu": _read_conllu,
}


def _of_words(
    words: Sequence[str] = (),
    number: int = 0,
    *,
    tags: Sequence[str] | None = None,
    tokens: Sequence[Token] = (),
    name: str = "",
) -> InputSentence:
    """Make a sentence of words, or of the tokens of raw text."""
    from spectral_latent.dependency import DependencySentence

    sentence = DependencySentence.of_tokens(tokens) if tokens else DependencySentence.of(words, tags or None)
    return InputSentence(sentence, number, tokens=tuple(tokens), name=name)


def _with_lines(parsed: Iterable[tuple[DependencySentence, Sequence[int]]], text: str) -> Iterator[InputSentence]:
    """Give each sentence of a table its lines, up to the empty line after its words."""
    from spectral_latent.corpora.conllu import comment_value

    lines = text.split("\n")
    lines = [*(f"{line}\n" for line in lines[:-1]), *filter(None, lines[-1:])]
    begin = 0
    for number, (sentence, of_words) in enumerate(parsed, start=1):
        end = of_words[-1]
        while end < len(lines) and lines[end].strip(" \t\r\n"):
            end += 1
        places = tuple(line - 1 - begin for line in of_words)
        name = comment_value(sentence, "sent_id") or ""
        yield InputSentence(sentence, number, tuple(lines[begin : end + 1]), places, name=name)
        begin = end + 1


def tell_of_tags(given: Input) -> Input:
    """Return an input, and say once that its tags are not used if it has some."""

    def sentences() -> Iterator[InputSentence]:
        is_told = False
        for sentence in given.sentences:
            if not is_told and sentence.tags:
                is_told = True
                message(f"The tags of {given.source} are not used: this command uses the words only")
            yield sentence

    return given._replace(sentences=sentences())


# Partly known trees, which are all checked before the first is parsed


def read_partial_phrases(files: Sequence[str], form: Format | None, parser: Any) -> Input:
    """Read sentences with brackets around some of their words."""
    from spectral_latent.corpora.brackets import parse_partial_with_lines
    from spectral_latent.model import Partial

    def read(file: str) -> Input:
        text, source = _read_as(file, "brackets", form)
        sentences = []
        for number, (line, tree) in enumerate(parse_partial_with_lines(text, source), start=1):
            constraints, _ = parser.known(tree.constraints)
            with users_errors(f"{source}, line {line}: "):
                parser.checked(Partial(tree.sentence, constraints))
            sentences.append(_of_words(tree.sentence, number)._replace(constraints=tree.constraints))
        return Input(source, "brackets", iter(sentences))

    return _joined([read(file) for file in files])


def read_partial_sentences(
    files: Sequence[str], form: Format | None, parser: Any, *, non_projective: bool = False, **_: Any
) -> Input:
    """Read sentences in CoNLL-U some of whose heads and relations are known."""
    from spectral_latent.corpora.conllu import parse_partial_conllu_with_lines

    def read(file: str) -> Input:
        text, source = _read_as(file, "conllu", form)
        trees = list(parse_partial_conllu_with_lines(text, source))
        for tree, lines in trees:
            with users_errors(f"{source}, line {lines[0]}: "):
                parser.checked(tree, projective=not non_projective)
        read = _with_lines(((tree.sentence, lines) for tree, lines in trees), text)
        sentences = [each._replace(constraints=tree.constraints) for each, (tree, _) in zip(read, trees, strict=True)]
        return Input(source, "conllu", iter(sentences))

    return _joined([read(file) for file in files])


def _read_as(file: str, needed: Format, form: Format | None) -> tuple[str, str]:
    """Read a file as a whole; refuse other formats than the needed one."""
    from spectral_latent.corpora import sniff_format

    text, source = read_text(file)
    sniff_format(source, text, needed, given=form)
    return text, source
