"""Read n-best lists in the formats of several parsers, write them in JSON, and write trees that are chosen from them.

| format | a list | a candidate |
| --- | --- | --- |
| `bllip` | a line with its length and the name of its sentence | a line with the scores, then a line with the tree |
| `trees` | ends at an empty line, or where the name changes | a line: name, scores, tree; only the tree is required |
| `conllu` | sentences with the same `# sent_id` | a sentence of CoNLL-U or CoNLL-X, with `# score = -1.5` |
| `json` | a line `{"sent_id": "7", "candidates": [...]}` | `{"tree": "(S ...)", "score": -1.5}`, or `"heads": [2, 0]` |

If a candidate has several scores, the first is the latest: BLLIP writes the reranker's score before the parser's.  In
JSON, the scores after the first are `"other_scores"`.  In JSON, lists of dependency trees have `"words"` before
`"candidates"`, and may have `"lemmas"`, `"upos"`, `"xpos"` and `"feats"`, each a list of strings.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.tree import written
from spectral_latent.corpora.brackets import parse_brackets
from spectral_latent.corpora.conllu import comment_key, comment_value, parse_with_lines, to_conllu
from spectral_latent.corpora.formats import Guess, sniff_format
from spectral_latent.corpora.rows import parse_objects
from spectral_latent.corpora.text import CorpusError, Line, read_text
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking.candidates import Candidate, CandidateError, NBest

FAILED = "(())"  # what parsers write in place of a tree if they find none
HEADER = re.compile(r"([0-9]{1,9})[ \t]+(\S.*)")  # the length and the name of a list in the format bllip
JSON_COLUMNS = ("lemmas", "upos", "xpos", "feats")  # the columns of a dependency sentence beside its words
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:e[+-]?[0-9]++)?|inf(?:inity)?)",
    re.IGNORECASE,
)
_COUNT = re.compile("[0-9]{1,9}")
# What must be a number: no name begins with a sign, or is what programs write for a missing or an infinite number.
_SCORE = re.compile(r"[+-].*|nan|none|null|n/a", re.IGNORECASE)


# A list as it stands in a file: its name, or None for its number; the candidates, each after the line of its tree; and
# the words, or None if the list does not give them, because the first candidate has them.
_Written: TypeAlias = tuple[str | None, list[tuple[Line, Candidate]], tuple[str, ...] | None]


def read_bllip(lines: Iterable[str], source: str) -> Iterator[_Written]:
    """Read the lists of the format `bllip`."""
    rest = ((Line(source, number), line.strip()) for number, line in enumerate(lines, start=1) if line.strip())
    for first, text in rest:
        header = HEADER.fullmatch(text)
        if header is None:
            raise first.error(f"{text!r:.60} is not the length and the name of a list; give both, as in 50 wsj.1")
        rows = []
        for _ in range(int(header[1])):
            scores_line, scores = next(rest, (first, ""))
            line, tree = next(rest, (first, ""))
            if not tree.startswith("("):
                raise line.error(
                    f"a tree is missing: the list that begins in line {first.number} should have {header[1]} trees; "
                    f"correct this number, or give each tree a line of scores and a line of brackets"
                )
            if _is_failed(tree):
                _numbers(scores.split(), scores_line)
            else:
                rows.append((line, Candidate.of(_phrase(tree, line), _numbers(scores.split(), scores_line))))
        yield header[2], rows, None


def read_trees(lines: Iterable[str], source: str) -> Iterator[_Written]:
    """Read the lists of the format `trees`."""
    for (name, _), group in groupby(_tree_rows(lines, source), key=lambda row: row[0]):
        yield name, [(line, candidate) for _, line, candidate in group if candidate is not None], None


def _tree_rows(lines: Iterable[str], source: str) -> Iterator[tuple[tuple[str | None, int], Line, Candidate | None]]:
    """Read each tree: the key of its list, its line, and its candidate, which is None if the parser failed.

    The key is the name of the list, and the number of empty lines before it if it has no name.  Neighbouring lists
    have different keys."""
    n_empty = 0
    for number, text in enumerate(map(str.strip, lines), start=1):
        if not text:
            n_empty += 1
            continue
        line = Line(source, number)
        begin = text.find("(")
        end = text.rfind(")") + 1
        if not 0 <= begin < end:
            raise line.error(f"no tree in {text!r:.60}; give one in brackets on each line")
        columns = [column for column in (text[:begin] + text[end:]).split() if column != "|||"]
        name = None
        # The first column is a name if it is not a score, or if it is a count and another column follows.
        is_score = bool(columns) and (_is_number(columns[0]) or _SCORE.fullmatch(columns[0]) is not None)
        if columns and (not is_score or (len(columns) > 1 and _COUNT.fullmatch(columns[0]))):
            name = columns.pop(0)
        tree = text[begin:end]
        candidate = None if _is_failed(tree) else Candidate.of(_phrase(tree, line), _numbers(columns, line))
        yield (name, 0 if name else n_empty), line, candidate


def read_conllu_lists(text: str, source: str) -> Iterator[_Written]:
    """Read the lists of the format `conllu`."""
    rows = (_conllu_row(sentence, Line(source, lines[0])) for sentence, lines in parse_with_lines(text, source))
    for name, group in groupby(rows, key=lambda row: row[0]):
        yield name, [row for _, row in group], None


def _conllu_row(sentence: DependencySentence, line: Line) -> tuple[str, tuple[Line, Candidate]]:
    """Return the name and the candidate of a sentence."""
    name = comment_value(sentence, "sent_id")
    scores = comment_value(sentence, "score") or ""
    if name is None:
        raise line.error("the tree has no name; give all trees of a list the same comment, as in # sent_id = 7")
    # The command `parse` gives each tree a name of its own, which ends in the tree's rank.
    rank = comment_value(sentence, "rank")
    list_name = name if rank is None else name.removesuffix(f"-{rank}")
    return list_name, (line, Candidate.of(sentence, _numbers(scores.split(), line)))


def read_json(lines: Iterable[str], source: str) -> Iterator[_Written]:
    """Read the lists of the format `json`."""
    for count, (line, entry) in enumerate(parse_objects(enumerate(lines, start=1), source), start=1):
        candidates = entry.get("candidates")
        name = entry.get("sent_id", count)
        if not isinstance(candidates, list) or not isinstance(name, str | int):
            raise line.error('no list of candidates; give {"sent_id": "7", "candidates": [...]}')
        sentence = _json_sentence(entry, line)
        rows = [(line, _json_candidate(candidate, sentence, line)) for candidate in candidates]
        words = None if sentence is None else sentence.forms
        if words and rows and isinstance(rows[0][1].tree, Phrase):
            words = tuple(map(written, words))  # as the brackets of the candidates have them
        yield str(name), rows, words


def _json_sentence(entry: Mapping[str, Any], line: Line) -> DependencySentence | None:
    """Return the words of a list with their annotation; None if it has no words."""
    if "words" not in entry:
        return None
    columns = {name: entry[name] for name in ("words", *JSON_COLUMNS) if name in entry}
    for name, column in columns.items():
        if not isinstance(column, list) or not all(isinstance(cell, str) for cell in column):
            raise line.error(f"{name} is not a list of strings; give one string for each word")
        if len(column) != len(columns["words"]):
            raise line.error(f"{len(column)} {name} of {len(columns['words'])} words; give one for each word")
    annotation = {name: tuple(column) for name, column in columns.items() if name != "words"}
    return DependencySentence.of(columns["words"])._replace(**annotation)


def _json_candidate(entry: Any, sentence: DependencySentence | None, line: Line) -> Candidate:
    """Return the candidate of a JSON object."""
    match entry:
        case {"tree": str() as brackets}:
            tree: Phrase | DependencySentence = _phrase(brackets, line)
        case {"heads": list() as heads}:
            if sentence is None:
                raise line.error('heads come without words; give the list its "words", and tags as "xpos"')
            tree = _attached(sentence, heads, entry.get("relations"), line)
        case _:
            raise line.error('a candidate is neither {"tree": "(S ...)"} nor {"heads": [2, 0]}; give one')
    score = entry.get("score")
    others = entry.get("other_scores", [])
    scores = [score, *(others if isinstance(others, list) else [others])]
    return Candidate.of(tree, [] if scores == [None] else _numbers(map(str, scores), line))


def _is_number(text: str) -> bool:
    """Tell whether a text is a number as formats write scores."""
    return _NUMBER.fullmatch(text) is not None


def _is_failed(tree: str) -> bool:
    """Tell whether a text stands for the missing tree of a parser that failed."""
    return "".join(tree.split()) == FAILED


def _phrase(text: str, line: Line) -> Phrase:
    """Parse the only tree of a text, which is one line of the source."""
    try:
        trees = list(parse_brackets(text))
    except CorpusError:
        # Parse the text again, so that the error names the line.
        trees = list(parse_brackets("\n" * (line.number - 1) + text, line.source))
    if len(trees) > 1:
        raise line.error("several trees; give each a line of its own")
    if not trees:
        raise line.error("the tree has no words; remove it")
    return trees[0]


def _numbers(columns: Iterable[str], line: Line) -> list[float]:
    """Parse the scores in columns."""
    scores = []
    for column in columns:
        if not _is_number(column):
            raise line.error(f"the score {column!r:.60} is not a number; give one such as -12.5, or none at all")
        scores.append(float(column))
    return scores


def _attached(sentence: DependencySentence, heads: Sequence[Any], relations: Any, line: Line) -> DependencySentence:
    """Return the sentence with these heads, and with these relations unless they are None."""
    n = len(sentence.forms)
    if len(heads) != n:
        raise line.error(f"{len(heads)} heads for a sentence of {n} words; give each word one")
    for head in heads:
        if type(head) is not int or not 0 <= head <= n:
            raise line.error(f"the head {head!r:.60} in a sentence of {n} words; give the number of a word, or 0")
    if relations is None:
        return sentence.with_heads(tuple(heads))
    if not isinstance(relations, list) or list(map(type, relations)) != [str] * n:
        raise line.error(f"relations that are not a string for each of {n} words; give them, or none")
    return sentence.with_heads(tuple(heads), tuple(relations))


NBestFormat = Literal["bllip", "trees", "conllu", "json"]


def read_nbest(path: str | os.PathLike[str], form: NBestFormat | None = None) -> Iterator[NBest]:
    """Read the lists of a UTF-8 file; see `parse_nbest`.

    The call reads the file; each list is parsed when the iterator comes to it.  Raises `CorpusError`, which names the
    file and the line, also for a missing file and for bytes that are not UTF-8."""
    return parse_nbest(read_text(path), os.fspath(path), form)


def parse_nbest(text: str, source: str = "<string>", form: NBestFormat | None = None) -> Iterator[NBest]:
    """Read the n-best lists of a text in one of the formats at the head of this module.

    Lists without a name are numbered from 1.  In the format `trees`, white space or ||| divides the columns.  The first
    of several columns is a name if it is not a number, or if it is a number without sign and point, such as 7; `nan`
    and what begins with a sign are no names.  Scores
    may also follow the tree.  A parser that failed writes (()) for a tree; such a candidate is left out."""
    guess = Guess(form) if form else Guess(nbest_format(text, source), "its first lines")
    form = guess.form
    if form not in get_args(NBestFormat):
        raise ValueError(f"form must be one of {', '.join(get_args(NBestFormat))}, not {form!r}")
    text = text.removeprefix("\ufeff")
    match form:
        case "bllip":
            blocks = read_bllip(text.split("\n"), source)
        case "trees":
            blocks = read_trees(text.split("\n"), source)
        case "conllu":
            blocks = read_conllu_lists(text, source)
        case "json":
            blocks = read_json(text.split("\n"), source)
    return guess.noted(_check_list(number, *block) for number, block in enumerate(blocks, start=1))


def nbest_format(text: str, source: str = "<string>") -> NBestFormat:
    """Tell the format of a text by its first lines.  Raises `CorpusError` for a text in none of the formats."""
    beginning = text.removeprefix("\ufeff").lstrip()
    first = beginning.partition("\n")[0].strip()
    if first.startswith("{"):
        return "json"
    if sniff_format(source, beginning).form == "conllu":
        return "conllu"
    if "(" in first:
        return "trees"
    if HEADER.fullmatch(first):
        return "bllip"
    raise CorpusError(f"{source}: no n-best list; give one in one of the formats {', '.join(get_args(NBestFormat))}")


def _check_list(
    number: int, name: str | None, rows: list[tuple[Line, Candidate]], words: tuple[str, ...] | None
) -> NBest:
    """Make an n-best list of a written list; an error names the line of the candidate."""
    try:
        return NBest.of((candidate for _, candidate in rows), str(number) if name is None else name, words)
    except CandidateError as error:
        raise rows[error.number - 1][0].error(str(error)) from None


# Writers


def write_nbest(lists: Iterable[NBest]) -> Iterator[str]:
    """Write each list as a line of JSON, which `parse_nbest` reads as the same list; dependency trees lose comments."""
    for nbest in lists:
        entry: dict[str, Any] = {"sent_id": nbest.id, "words": nbest.words}
        if nbest.candidates and isinstance(sentence := nbest.candidates[0].tree, DependencySentence):
            columns = {name: getattr(sentence, name) for name in JSON_COLUMNS}
            entry |= {name: column for name, column in columns.items() if any(cell != "_" for cell in column)}
        entry["candidates"] = list(map(_candidate_row, nbest.candidates))
        yield json.dumps(entry, ensure_ascii=False) + "\n"


def best_trees(lists: Sequence[NBest], chosen: Iterable[int]) -> Iterator[str]:
    """Write the chosen candidate of each list: a line of brackets, or a sentence of CoNLL-U.

    A list without candidates becomes (()), or the words without heads.

    chosen: (L,) the place of a candidate in each list."""
    has_heads = any(nbest.has_heads for nbest in lists)
    for nbest, i in zip(lists, chosen, strict=True):
        if nbest.candidates:
            tree = nbest.candidates[i].tree
            yield f"{tree.bracketed()}\n" if isinstance(tree, Phrase) else _named(tree, nbest.id)
        elif has_heads:
            yield _named(DependencySentence.of(nbest.words), nbest.id)
        else:
            yield f"{FAILED}\n"


def _candidate_row(candidate: Candidate) -> dict[str, Any]:
    """Make the object of a candidate; infinite scores are strings, because JSON has no such numbers."""
    tree = candidate.tree
    entry: dict[str, Any] = {"tree": tree.bracketed()} if isinstance(tree, Phrase) else {"heads": tree.heads}
    if isinstance(tree, DependencySentence) and any(relation != "_" for relation in tree.relations):
        entry["relations"] = tree.relations
    scores = [score if np.isfinite(score) else str(score) for score in candidate.scores]
    if scores:
        entry["score"] = scores[0]
    if scores[1:]:
        entry["other_scores"] = scores[1:]
    return entry


def _named(sentence: DependencySentence, name: str) -> str:
    """Write a sentence in CoNLL-U with its name, and without a score."""
    kept = [comment for comment in sentence.comments if comment_key(comment) not in ("sent_id", "score")]
    return to_conllu(sentence._replace(comments=(f"sent_id = {name}", *kept)))
