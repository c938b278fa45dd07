"""Write n-best lists in the formats that `lists` describes, and trees that are chosen from the lists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from spectral_latent.constituency import Phrase
from spectral_latent.corpora.conllu import comment_key, to_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking.candidates import Candidate, NBest
from spectral_latent.reranking.lists import FAILED, JSON_COLUMNS, NBestFormat, is_number

_NAME = re.compile(r"(?!\ufeff)[^\s()]+")  # a byte order mark at the beginning of a text is not a part of a name


def write_nbest(lists: Iterable[NBest], form: NBestFormat) -> Iterator[str]:
    """Write each list; all texts together are a file that `parse_nbest` reads as the same lists.

    All scores of a candidate are written, the latest first.  Phrases are written by `Phrase.bracketed`.  In JSON,
    dependency trees lose their comments."""
    for number, nbest in enumerate(lists, start=1):
        match form:
            case "bllip":
                yield _bllip(nbest)
            case "trees":
                yield _trees(nbest, number)
            case "conllu":
                yield _conllu(nbest)
            case "json":
                yield _json(nbest)


def best_trees(lists: Sequence[NBest], chosen: Iterable[int]) -> Iterator[str]:
    """Write the chosen candidate of each list: a line of brackets, or a sentence of CoNLL-U.

    A list without candidates becomes (()), or the words without heads.

    chosen: (L,) the place of a candidate in each list."""
    has_heads = any(nbest.has_heads for nbest in lists)
    for nbest, i in zip(lists, chosen, strict=True):
        if nbest.candidates:
            tree = nbest.candidates[i].tree
            yield f"{tree.bracketed()}\n" if isinstance(tree, Phrase) else to_conllu(_add_comments(tree, nbest.id))
        elif has_heads:
            yield to_conllu(_add_comments(DependencySentence.of(nbest.words), nbest.id))
        else:
            yield f"{FAILED}\n"


def _bllip(nbest: NBest) -> str:
    """Write a list as a block of BLLIP."""
    if nbest.candidates and not nbest.n_scores:
        raise ValueError(f"sentence {nbest.id}: no scores, which the format bllip needs; write trees")
    lines = [f"{len(nbest)} {_in_line(nbest.id)}"]
    for candidate in nbest.candidates:
        lines += [" ".join(map(repr, candidate.scores)), _phrase(candidate, nbest).bracketed()]
    return "\n".join((*lines, "", ""))


def _trees(nbest: NBest, number: int) -> str:
    """Write a list as a line for each tree; `number` is its place among all lists."""
    names = [] if nbest.id == str(number) else [nbest.id]
    for name in names:
        if not _NAME.fullmatch(name) or (is_number(name) and not (nbest.n_scores and name.isdecimal())):
            raise ValueError(f"sentence {name!r}: the format trees would not read this as a name; write json")
    trees = [(candidate.scores, _outer(_phrase(candidate, nbest))) for candidate in nbest.candidates]
    lines = ["\t".join((*names, *map(repr, scores), tree)) for scores, tree in trees or [((), FAILED)]]
    return "\n".join((*lines, "", ""))


def _outer(tree: Phrase) -> str:
    """Write a tree with an outer bracket without a label, as treebanks have it."""
    return f"( {tree.bracketed()} )" if tree.label else tree.bracketed()


def _conllu(nbest: NBest) -> str:
    """Write a list as sentences of CoNLL-U with comments."""
    if not nbest.candidates:
        raise ValueError(f"sentence {nbest.id}: no candidates, which the format conllu cannot show; write json")
    return "".join(
        to_conllu(_add_comments(_sentence(candidate, nbest), nbest.id, candidate.scores))
        for candidate in nbest.candidates
    )


def _json(nbest: NBest) -> str:
    """Write a list as one object."""
    entry: dict[str, Any] = {"sent_id": nbest.id, "words": nbest.words}
    for sentence in [candidate.tree for candidate in nbest.candidates[:1]]:
        if isinstance(sentence, DependencySentence):
            columns = {name: getattr(sentence, name) for name in JSON_COLUMNS}
            entry |= {name: column for name, column in columns.items() if any(cell != "_" for cell in column)}
    entry["candidates"] = list(map(_json_candidate, nbest.candidates))
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _json_candidate(candidate: Candidate) -> dict[str, Any]:
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


def _phrase(candidate: Candidate, nbest: NBest) -> Phrase:
    """Return the tree of a candidate; raise ValueError if it is not a phrase."""
    if isinstance(candidate.tree, Phrase):
        return candidate.tree
    raise ValueError(f"sentence {nbest.id}: dependencies have no brackets; write conllu or json")


def _sentence(candidate: Candidate, nbest: NBest) -> DependencySentence:
    """Return the tree of a candidate; raise ValueError if it is not a dependency tree."""
    if isinstance(candidate.tree, DependencySentence):
        return candidate.tree
    raise ValueError(f"sentence {nbest.id}: phrases have no heads; write bllip, trees or json")


def _add_comments(sentence: DependencySentence, name: str, scores: Sequence[float] = ()) -> DependencySentence:
    """Return the sentence with the comments `sent_id` and, if there are scores, `score`."""
    kept = [comment for comment in sentence.comments if comment_key(comment) not in ("sent_id", "score")]
    own = [f"sent_id = {name}", *([f"score = {' '.join(map(repr, scores))}"] if scores else [])]
    return sentence._replace(comments=(*own, *kept))


def _in_line(name: str) -> str:
    """Return the name without line breaks and tabs."""
    return " ".join(name.split())
