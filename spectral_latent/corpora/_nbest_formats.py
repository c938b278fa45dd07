"""How each format of n-best lists is taken apart; the formats are those of `nbest`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from spectral_latent.constituency import Phrase
from spectral_latent.corpora.brackets import parse_brackets
from spectral_latent.corpora.conllu import parse_with_lines
from spectral_latent.corpora.text import CorpusError
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate

__all__ = [
    "FAILED",
    "HEADER",
    "Block",
    "Sentences",
    "bllip_blocks",
    "comment_of",
    "conllu_blocks",
    "heads_blocks",
    "is_number",
    "json_blocks",
    "key_of",
    "tree_blocks",
]

FAILED = "(())"  # what parsers write in place of a tree if they find none
HEADER = re.compile(r"([0-9]{1,9})[ \t]+(\S.*)")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?)",
    re.IGNORECASE,
)
_COUNT = re.compile("[0-9]{1,9}")
_COMMENT = re.compile(r"([^\s=]+)\s*=\s*(.*)")

Sentences = Mapping[str, DependencySentence] | None  # those of heads, by their names


class _Row(NamedTuple):
    line: int
    candidate: Candidate


class Block(NamedTuple):
    """A list as it stands in a file.  Without a name, the name is its number; without words, they are the trees'."""

    line: int
    name: str | None
    rows: list[_Row]
    words: tuple[str, ...] | None = None


def bllip_blocks(lines: Iterable[str], source: str) -> Iterator[Block]:
    """The lists of `bllip`."""
    rest = _with_content(lines)
    for first, line in rest:
        header = HEADER.fullmatch(line)
        if header is None:
            raise _error(source, first, f"{line!r:.60} is no length and name of a list; give them, as in 50 wsj.1")
        rows = []
        for _ in range(int(header[1])):
            (at, scores), (below, tree) = next(rest, (first, "")), next(rest, (first, ""))
            problem = f"the list that begins in line {first} is to have {header[1]} trees; correct its length"
            if not tree.startswith("("):
                raise _error(source, below, f"a tree is missing: {problem}, or give scores and tree, a line each")
            rows.append(_Row(below, _scored(tree, scores.split(), source, at, below)))
        yield Block(first, header[2], rows)


def tree_blocks(lines: Iterable[str], source: str) -> Iterator[Block]:
    """The lists of `trees`."""
    for _, group in groupby(_tree_rows(lines, source), key=lambda row: row[0]):
        rows = list(group)
        (name, _), line = rows[0][:2]
        yield Block(line, name, [_Row(at, candidate) for _, at, candidate in rows if candidate is not None])


def _tree_rows(lines: Iterable[str], source: str) -> Iterator[tuple[tuple[str | None, int], int, Candidate | None]]:
    """For each tree, what tells its list from the next one, its line, and the candidate, if it is one."""
    gaps = 0
    for number, line in enumerate(map(str.strip, lines), start=1):
        if not line:
            gaps += 1
            continue
        begin, end = line.find("("), line.rfind(")") + 1
        if not 0 <= begin < end:
            raise _error(source, number, f"no tree in {line!r:.60}; give one in brackets on each line")
        columns = [column for column in (line[:begin] + line[end:]).split() if column != "|||"]
        name = None
        if columns and (not is_number(columns[0]) or (len(columns) > 1 and _COUNT.fullmatch(columns[0]))):
            name = columns.pop(0)
        tree = line[begin:end]
        candidate = None if tree == FAILED else _scored(tree, columns, source, number, number)
        yield (name, 0 if name else gaps), number, candidate


def conllu_blocks(text: str, source: str) -> Iterator[Block]:
    """The lists of `conllu`."""
    rows = (_conllu_row(sentence, lines[0], source) for sentence, lines in parse_with_lines(text, source))
    for name, group in groupby(rows, key=lambda row: row[0]):
        candidates = [row for _, row in group]
        yield Block(candidates[0].line, name, candidates)


def _conllu_row(sentence: DependencySentence, line: int, source: str) -> tuple[str, _Row]:
    name, scores = comment_of(sentence, "sent_id"), comment_of(sentence, "score")
    if name is None:
        raise _error(source, line, "no sentence is named; give each of its trees the comment, as in # sent_id = 7")
    return name, _Row(line, Candidate.of(sentence, _numbers((scores or "").split(), source, line)))


def heads_blocks(lines: Iterable[str], source: str, sentences: Sentences) -> Iterator[Block]:
    """The lists of `heads`."""
    block: Block | None = None
    for number, line in _with_content(lines):
        if line.startswith("#"):
            if key_of(line[1:].strip()) == "sent_id":
                if block:
                    yield block
                name = line.partition("=")[2].strip()
                block = Block(number, name, [], _sentence(name, sentences, source, number).forms)
            continue
        if block is None or block.name is None:
            raise _error(source, number, "no sentence is named yet; begin each list with a line such as # sent_id = 7")
        rank, *scores, heads = line.split("\t") if "\t" in line else (line, "")
        if not _COUNT.fullmatch(rank):
            raise _error(source, number, f"the rank {rank!r:.60} is no number; give rank, score and heads, with tabs")
        positions = [int(head) if _COUNT.fullmatch(head) else head for head in heads.split()]
        tree = _attached(_sentence(block.name, sentences, source, number), positions, source, number)
        block.rows.append(_Row(number, Candidate.of(tree, _numbers(scores, source, number))))
    if block:
        yield block


def json_blocks(lines: Iterable[str], source: str, sentences: Sentences) -> Iterator[Block]:
    """The lists of `json`."""
    for count, (number, line) in enumerate(_with_content(lines), start=1):
        try:
            entry = json.loads(line)
            if "\\u" in line:  # half of a pair, which no text can have, is escaped
                json.dumps(entry, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise _error(source, number, f"not JSON ({error}); give one object for each list, on a line") from None
        candidates = entry.get("candidates") if isinstance(entry, dict) else None
        name = entry.get("sent_id", count) if isinstance(entry, dict) else None
        if not isinstance(candidates, list) or not isinstance(name, str | int):
            raise _error(source, number, 'no list of candidates; give {"sent_id": "7", "candidates": [...]}')
        rows = [_Row(number, _json_candidate(each, str(name), source, number, sentences)) for each in candidates]
        yield Block(number, str(name), rows)


def _json_candidate(entry: Any, name: str, source: str, line: int, sentences: Sentences) -> Candidate:
    match entry:
        case {"tree": str() as brackets}:
            tree: Phrase | DependencySentence = _phrase(brackets, source, line)
        case {"heads": list() as heads}:
            tree = _attached(_sentence(name, sentences, source, line), heads, source, line)
        case _:
            raise _error(source, line, 'a candidate is neither {"tree": "(S ...)"} nor {"heads": [2, 0]}; give one')
    score, further = entry.get("score"), entry.get("further", [])
    scores = [score, *(further if isinstance(further, list) else [further])]
    return Candidate.of(tree, [] if scores == [None] else _numbers(map(str, scores), source, line))


def key_of(comment: str) -> str:
    """The name in a comment `name = value`; of any other comment, nothing.

    >>> key_of("sent_id = 7"), key_of("by hand")
    ('sent_id', '')
    """
    match = _COMMENT.fullmatch(comment)
    return match[1] if match else ""


def comment_of(sentence: DependencySentence, key: str) -> str | None:
    """The value of the first comment of this name.

    >>> comment_of(DependencySentence.of(["Yes"])._replace(comments=("sent_id = 7",)), "sent_id")
    '7'
    """
    of_key = (comment for comment in sentence.comments if key_of(comment) == key)
    first = next(of_key, None)
    return None if first is None else first.partition("=")[2].strip()


def is_number(text: str) -> bool:
    """Whether a text is a number as formats write scores.

    >>> [is_number(text) for text in ("-1.5e3", "7", "-Infinity", "nan", "1_0")]
    [True, True, True, False, False]
    """
    return _NUMBER.fullmatch(text) is not None


def _with_content(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers and without white space around them."""
    return ((number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip())


def _scored(tree: str, scores: Iterable[str], source: str, at: int, below: int) -> Candidate:
    """The candidate whose scores stand in line `at`, and whose tree in line `below`."""
    return Candidate.of(_phrase(tree, source, below), _numbers(scores, source, at))


def _phrase(text: str, source: str, line: int) -> Phrase:
    try:
        tree, *others = parse_brackets(text)
    except CorpusError:
        tree, *others = parse_brackets("\n" * (line - 1) + text, source)  # the same error, with its line
    if others:
        raise _error(source, line, "several trees; give each a line of its own")
    return tree


def _numbers(columns: Iterable[str], source: str, line: int) -> list[float]:
    scores = []
    for column in columns:
        if not is_number(column):
            raise _error(source, line, f"the score {column!r:.60} is no number; give one such as -12.5, or none at all")
        scores.append(float(column))
    return scores


def _sentence(name: str, sentences: Sentences, source: str, line: int) -> DependencySentence:
    if sentences is None:
        raise _error(source, line, "heads come without words; give their sentences too, such as a file in CoNLL-U")
    if name not in sentences:
        raise _error(
            source, line, f"no sentence {name!r:.60} among the {len(sentences)} names of those given; give it too"
        )
    return sentences[name]


def _attached(sentence: DependencySentence, heads: Sequence[Any], source: str, line: int) -> DependencySentence:
    """The sentence with other heads."""
    n = len(sentence.forms)
    if len(heads) != n:
        raise _error(source, line, f"{len(heads)} heads for a sentence of {n} words; give each word one")
    for head in heads:
        if type(head) is not int or not 0 <= head <= n:
            raise _error(
                source, line, f"the head {head!r:.60} in a sentence of {n} words; give the number of a word, or 0"
            )
    return sentence._replace(heads=tuple(heads))


def _error(source: str, line: int, problem: str) -> CorpusError:
    return CorpusError(f"{source}, line {line}: {problem}")
