"""Readers of n-best lists, which other parsers write in formats of their own.

| format | a list | a candidate |
| --- | --- | --- |
| `bllip` | a line of its length and its sentence's name | a line of scores, then a line with the tree |
| `trees` | ends at an empty line, or where the name changes | a line: name, scores, tree; the tree is enough |
| `conllu` | sentences with the same `# sent_id` | a sentence of CoNLL-U or CoNLL-X, with `# score = -1.5` |
| `heads` | begins at a line `# sent_id = 7` | a line: rank, score, and the heads with spaces between, by tabs |
| `json` | a line `{"sent_id": "7", "candidates": [...]}` | `{"tree": "(S ...)", "score": -1.5}`, or `"heads": [2, 0]` |

Where a candidate has several scores, the first is the latest, as BLLIP writes the reranker's before the parser's; in
JSON those after it are `"further"`.  Only heads come without words: their sentences are to be given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

from spectral_latent.constituency import Phrase
from spectral_latent.corpora._nbest_formats import (
    HEADER,
    Block,
    Sentences,
    bllip_blocks,
    comment_of,
    conllu_blocks,
    heads_blocks,
    json_blocks,
    tree_blocks,
)
from spectral_latent.corpora.brackets import parse_brackets
from spectral_latent.corpora.nltk_graphs import sentence_from_nltk
from spectral_latent.corpora.nltk_trees import phrase_from_nltk
from spectral_latent.corpora.text import CorpusError, read_text
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import Candidate, CandidateError, NBest, Tree

__all__ = ["NBestFormat", "nbest_format", "nbest_of", "parse_nbest", "read_nbest"]

NBestFormat = Literal["bllip", "trees", "conllu", "heads", "json"]


def read_nbest(
    path: str | os.PathLike[str],
    sentences: Sequence[DependencySentence] | None = None,
    form: NBestFormat | None = None,
) -> Iterator[NBest]:
    """The lists of a UTF-8 file; see `parse_nbest`.

    The file is read at the call, and its lists as they are asked for.  Raises `CorpusError`, which names file and
    line, also for a missing file and for bytes that are not UTF-8.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "one.trees")
    ...     _ = file.write_text("-1.5\\t( (NP (NN run)) )\\n-2.0\\t( (VP (VB run)) )\\n")
    ...     [[candidate.score for candidate in nbest.candidates] for nbest in read_nbest(file)]
    [[-1.5, -2.0]]
    """
    return parse_nbest(read_text(path), os.fspath(path), sentences, form)


def parse_nbest(
    text: str,
    source: str = "<string>",
    sentences: Sequence[DependencySentence] | None = None,
    form: NBestFormat | None = None,
) -> Iterator[NBest]:
    """The n-best lists of a text in one of the formats of the head of this module.

    The format, if not said, is found by `nbest_format`.  Lists without a name are numbered from 1.  In `trees`, white
    space parts the columns, and ||| may; the first of several is a name if it is no number, or one without sign and
    point, such as 7; scores may also follow the tree.  A candidate written (()) is none: the parser failed.
    sentences: what heads are those of, by their comment `sent_id`, or else by their number.

    Raises `CorpusError`, which names `source` and the line, for what is not in the format, for heads whose sentence
    is not given or has another length, and for what `NBest` refuses.

    >>> lists = parse_nbest("2 wsj.1\\n-8.5\\n(S1 (NP (NN run)))\\n-9.5\\n(S1 (VP (VB run)))\\n\\n")
    >>> [(nbest.id, len(nbest), nbest.candidates[1].score) for nbest in lists]
    [('wsj.1', 2, -9.5)]
    """
    form = form or nbest_format(text, source)
    text = text.removeprefix("\ufeff")
    lines = text.split("\n")
    match form:
        case "bllip":
            blocks = bllip_blocks(lines, source)
        case "trees":
            blocks = tree_blocks(lines, source)
        case "conllu":
            blocks = conllu_blocks(text, source)
        case "heads":
            blocks = heads_blocks(lines, source, _by_name(sentences))
        case "json":
            blocks = json_blocks(lines, source, _by_name(sentences))
    return (_checked(block, number, source) for number, block in enumerate(blocks, start=1))


def nbest_format(text: str, source: str = "<string>") -> NBestFormat:
    """The format of a text, by its first lines.  Raises `CorpusError` if it is none of them.

    >>> texts = "# sent_id = 1|0;-1.5;2 0", "(S1 (NN run))", "50 wsj.1|-8.5"
    >>> [nbest_format(text.replace("|", "\\n").replace(";", "\\t")) for text in texts]
    ['heads', 'trees', 'bllip']
    """
    lines = (line for line in text.removeprefix("\ufeff").split("\n") if line.strip())
    first = content = next(lines, "").strip()
    while content.startswith("#"):
        content = next(lines, "")
    if first.startswith("{"):
        return "json"
    if content.count("\t") == 9:
        return "conllu"
    if first.startswith("#"):
        return "heads"
    if "(" in first:
        return "trees"
    if HEADER.fullmatch(first):
        return "bllip"
    raise CorpusError(f"{source}: no n-best list; give one in a format of {', '.join(get_args(NBestFormat))}")


def nbest_of(items: Iterable[Any], id: str = "1", words: Iterable[str] | None = None) -> NBest:
    """The list of what another parser gives in Python, the best first.

    An item is a pair of a score, which may be None or several, and a tree: a `Phrase`, a `DependencySentence`, an
    `nltk.Tree`, an nltk `DependencyGraph`, or a string of brackets; or it is a `ScoredParse` of bllipparser, whose
    `NBestList` may be given as it is; or an nltk `ProbabilisticTree`.

    Raises `CandidateError` for what `NBest` refuses, `TypeError` and `ValueError` for what is no tree.

    >>> nbest = nbest_of([(-1.5, "(S1 (NN run))"), (-2.5, Phrase("VB", ("run",)))])
    >>> nbest.candidates[0].tree, nbest.candidates[1].score
    (Phrase(label='S1', children=(Phrase(label='NN', children=('run',)),)), -2.5)
    """
    return NBest.of(map(_candidate, items), id, words)


def _candidate(item: Any) -> Candidate:
    if hasattr(item, "ptb_parse"):
        scores = [item.reranker_score, item.parser_score]
        return Candidate.of(_tree(str(item.ptb_parse)), [float(score) for score in scores if score is not None])
    if hasattr(item, "logprob") and hasattr(item, "label"):
        return Candidate(phrase_from_nltk(item), float(item.logprob()))
    if not isinstance(item, tuple | list) or len(item) != 2 or hasattr(item, "label"):
        raise TypeError(f"expected a pair of score and tree, got {type(item).__name__} {item!r:.80}")
    scores, tree = item
    known = [] if scores is None else scores if isinstance(scores, tuple | list) else [scores]
    return Candidate.of(_tree(tree), map(float, known))


def _tree(tree: Any) -> Tree:
    if isinstance(tree, Phrase | DependencySentence):
        return tree
    if isinstance(tree, str):
        return next(parse_brackets(tree))
    return sentence_from_nltk(tree) if hasattr(tree, "nodes") else phrase_from_nltk(tree)


def _by_name(sentences: Sequence[DependencySentence] | None) -> Sentences:
    """Sentences by their number, and by their comment `sent_id`, if they have one."""
    if sentences is None:
        return None
    numbered = {str(number): sentence for number, sentence in enumerate(sentences, start=1)}
    named = {name: sentence for sentence in sentences if (name := comment_of(sentence, "sent_id"))}
    return numbered | named


def _checked(block: Block, number: int, source: str) -> NBest:
    name = str(number) if block.name is None else block.name
    try:
        return NBest.of((row.candidate for row in block.rows), name, block.words)
    except CandidateError as error:
        line = block.rows[error.number - 1].line
        raise CorpusError(f"{source}, line {line}: {error}") from None
