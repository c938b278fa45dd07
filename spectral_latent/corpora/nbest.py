"""Read n-best lists, which parsers write in several formats.

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

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args

from spectral_latent.constituency import Phrase
from spectral_latent.corpora._nbest_formats import (
    HEADER,
    WrittenList,
    read_bllip,
    read_conllu_lists,
    read_json,
    read_trees,
)
from spectral_latent.corpora.brackets import parse_brackets
from spectral_latent.corpora.formats import sniff_format
from spectral_latent.corpora.nltk_graphs import sentence_from_nltk
from spectral_latent.corpora.nltk_trees import phrase_from_nltk
from spectral_latent.corpora.text import CorpusError, read_text
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, CandidateError, NBest, Tree

__all__ = ["NBestFormat", "nbest_format", "parse_nbest", "read_nbest", "to_nbest"]

NBestFormat = Literal["bllip", "trees", "conllu", "json"]


def read_nbest(path: str | os.PathLike[str], form: NBestFormat | None = None) -> Iterator[NBest]:
    """Read the lists of a UTF-8 file; see `parse_nbest`.

    The call reads the file; each list is parsed when the iterator comes to it.  Raises `CorpusError`, which names the
    file and the line, also for a missing file and for bytes that are not UTF-8.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.trees")
    ...     _ = file.write_text("-1.5\\t( (NP (NN run)) )\\n-2.0\\t( (VP (VB run)) )\\n")
    ...     [[candidate.score for candidate in nbest.candidates] for nbest in read_nbest(file)]
    [[-1.5, -2.0]]
    """
    return parse_nbest(read_text(path), os.fspath(path), form)


def parse_nbest(text: str, source: str = "<string>", form: NBestFormat | None = None) -> Iterator[NBest]:
    """Read the n-best lists of a text in one of the formats at the head of this module.

    Lists without a name are numbered from 1.  In the format `trees`, white space or ||| divides the columns.  The first
    of several columns is a name if it is not a number, or if it is a number without sign and point, such as 7.  Scores
    may also follow the tree.  A parser that failed writes (()) for a tree; such a candidate is left out.

    Raises `CorpusError`, which names `source` and the line, for a text that is not in the format, and for lists that
    `NBest` refuses; ValueError for an unknown format.

    >>> lists = parse_nbest("2 wsj.1\\n-8.5\\n(S1 (NP (NN run)))\\n-9.5\\n(S1 (VP (VB run)))\\n\\n")
    >>> [(nbest.id, len(nbest), nbest.candidates[1].score) for nbest in lists]
    [('wsj.1', 2, -9.5)]
    """
    form = form or nbest_format(text, source)
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
    return (_checked(block, number) for number, block in enumerate(blocks, start=1))


def nbest_format(text: str, source: str = "<string>") -> NBestFormat:
    """Tell the format of a text by its first lines.  Raises `CorpusError` for a text in none of the formats.

    >>> texts = "{}", "(S1 (NN run))", "50 wsj.1|-8.5"
    >>> [nbest_format(text.replace("|", "\\n")) for text in texts]
    ['json', 'trees', 'bllip']
    """
    beginning = text.removeprefix("\ufeff").lstrip()
    first = beginning.partition("\n")[0].strip()
    if first.startswith("{"):
        return "json"
    if sniff_format("", beginning) == "conllu":
        return "conllu"
    if "(" in first:
        return "trees"
    if HEADER.fullmatch(first):
        return "bllip"
    raise CorpusError(f"{source}: no n-best list; give one in one of the formats {', '.join(get_args(NBestFormat))}")


def to_nbest(items: Iterable[Any], id: str = "1", words: Iterable[str] | None = None) -> NBest:
    """Make a list of the trees that another parser returns in Python.

    items: the trees with their scores, the best first.  An item is a pair of a score, a list of scores or None, and a
        tree: a `Phrase`, a `DependencySentence`, an `nltk.Tree`, an nltk `DependencyGraph`, or a string of brackets.
        It may also be an nltk `ProbabilisticTree`, or a `ScoredParse` of bllipparser; `items` may be its `NBestList`.

    Raises `CandidateError` for a list that `NBest` refuses, and `TypeError` or `ValueError` for an item without a tree.

    >>> nbest = to_nbest([(-1.5, "(S1 (NN run))"), (-2.5, Phrase("VB", ("run",)))])
    >>> nbest.candidates[0].tree, nbest.candidates[1].score
    (<Phrase: (S1 (NN run))>, -2.5)
    """
    return NBest.of(map(_candidate, items), id, words)


def _candidate(item: Any) -> Candidate:
    """Make a candidate of an item of `to_nbest`."""
    if hasattr(item, "ptb_parse"):  # a `ScoredParse` of bllipparser
        scores = [item.reranker_score, item.parser_score]
        return Candidate.of(_tree(str(item.ptb_parse)), [float(score) for score in scores if score is not None])
    if hasattr(item, "logprob") and hasattr(item, "label"):  # a `ProbabilisticTree` of nltk
        return Candidate(phrase_from_nltk(item), float(item.logprob()))
    if not isinstance(item, tuple | list) or len(item) != 2 or hasattr(item, "label"):
        raise TypeError(f"expected a pair of score and tree, got {type(item).__name__} {item!r:.80}")
    scores, tree = item
    known = [] if scores is None else scores if isinstance(scores, tuple | list) else [scores]
    return Candidate.of(_tree(tree), map(float, known))


def _tree(tree: Any) -> Tree:
    """Make a tree of one of the kinds that `to_nbest` takes."""
    if isinstance(tree, Phrase | DependencySentence):
        return tree
    if isinstance(tree, str):
        return next(parse_brackets(tree))
    return sentence_from_nltk(tree) if hasattr(tree, "nodes") else phrase_from_nltk(tree)


def _checked(block: WrittenList, number: int) -> NBest:
    """Make an n-best list of a written list; an error names the line of the candidate."""
    name = str(number) if block.name is None else block.name
    try:
        return NBest.of((row.candidate for row in block.rows), name, block.words)
    except CandidateError as error:
        raise block.rows[error.number - 1].line.error(str(error)) from None
