"""Write dependency trees and tags into the lines of a table, which otherwise stay as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.dependency.tree import TagColumn
    from spectral_latent.model import Parse
    from spectral_latent.trees import FloatArray

_HEAD = 6  # the column of HEAD in CoNLL-U, from 0; DEPREL follows
_MISC = 9
_HEAD_PROB = "HeadProb"
_TAG_COLUMNS = {"upos": 3, "xpos": 4}
_FILLED = {"lemmas": 2, **_TAG_COLUMNS, "feats": 5}  # columns that a parser fills
_NAME = re.compile(r"#\s*sent_id\s*=.*\S")  # the comment that names a sentence


def conllu_text(
    sentence: InputSentence, parses: Any, column: TagColumn | None, is_list: bool, posteriors: Sequence[FloatArray]
) -> str:
    """Write the tree of a sentence in CoNLL-U, or a list of trees with ranks and scores.

    column: the column of the tags of a sentence that does not come from CoNLL-U; None for one that does.
    posteriors: the posterior (n,) of the arc to each word of each tree, which MISC then has as `HeadProb`."""
    if not parses:
        return ""
    table = sentence if column is None else _in_conllu(sentence, column)
    return "".join(
        _filled(table, each, rank if is_list else None, posteriors[rank - 1] if posteriors else None)
        for rank, each in enumerate(parses, start=1)
    )


def _in_conllu(given: InputSentence, column: TagColumn) -> InputSentence:
    """Give a sentence lines in CoNLL-U, with its tags in one column."""
    from spectral_latent.corpora import to_conllu

    forms = given.forms
    # White space follows a word or its token, except where the next one begins; after the last word it always does.
    starts = {token.first for token in given.tokens}
    spaces = [token.end not in starts for token in given.tokens] or [True] * len(forms)
    tokens = zip(given.tokens, spaces, strict=False)
    raw = "".join(token.form + " " * space for token, space in tokens if token.part < 2).strip()
    comments = (f"sent_id = {given.sent_id}", f"text = {raw or ' '.join(forms)}")
    blank = ("_",) * len(forms)
    sentence = given.sentence.without_tree()._replace(forms=tuple(forms), comments=comments, upos=blank, xpos=blank)
    sentence = sentence.with_tags(column, given.sentence.tags(column))
    lines = [f"{line}\n" for line in to_conllu(sentence).split("\n")[:-1]]
    places = tuple(place for place, line in enumerate(lines) if line.partition("\t")[0].isdecimal())
    # Of a token of several words, the line of the range says that no space follows.
    before = {first for first, _, _ in sentence.ranges}
    within = {word for first, last, _ in sentence.ranges for word in range(first + 1, last + 1)}
    for word, (place, space) in enumerate(zip(places, spaces, strict=True), start=1):
        if not space and word not in within:
            place -= word in before
            lines[place] = lines[place].removesuffix("_\n") + "SpaceAfter=No\n"
    return given._replace(lines=tuple(lines), places=places)


def _filled(
    given: InputSentence, parse: Parse[DependencySentence], rank: int | None, posterior: FloatArray | None = None
) -> str:
    """Write the lines of a sentence with heads, relations, and other columns that were missing; a rank has a score.

    The posterior (n,) of the arc to each word replaces an earlier `HeadProb` in MISC."""
    from spectral_latent.corpora.conllu import writable

    lines = list(given.lines)
    tree = parse.tree
    for word, (place, head, relation) in enumerate(zip(given.places, tree.heads or (), tree.relations, strict=True)):
        columns = lines[place].split("\t")
        columns[_HEAD : _HEAD + 2] = [str(head), writable("DEPREL", relation)]
        for column, at in _FILLED.items():
            if columns[at] == "_" == getattr(given.sentence, column)[word]:
                columns[at] = writable(column, getattr(tree, column)[word])
        if posterior is not None and len(columns) > _MISC:
            misc = columns[_MISC].rstrip("\r\n")
            end = columns[_MISC][len(misc) :]
            kept = [part for part in misc.split("|") if part != "_" and not part.startswith(f"{_HEAD_PROB}=")]
            columns[_MISC] = "|".join([*kept, f"{_HEAD_PROB}={posterior[word]:.3f}"]) + end
        lines[place] = "\t".join(columns)

    comments = ["# FALLBACK\n"] if parse.is_fallback else []
    if rank is not None:
        names = [place for place, line in enumerate(lines) if _NAME.match(line)]
        for place in names:
            lines[place] = _NAME.sub(rf"\g<0>-{rank}", lines[place])
        name = [] if names else [f"# sent_id = {given.sent_id}-{rank}\n"]
        comments = [*name, f"# rank = {rank}\n", f"# score = {parse.log:.6f}\n", *comments]

    # Comments stand before the first word, and the sentence ends with an empty line.
    begin = next(at for at, line in enumerate(lines) if line.strip(" \t\r\n") and not line.startswith("#"))
    text = "".join([*lines[:begin], *comments, *lines[begin:]])
    if not text.endswith("\n"):
        text += "\n"
    return text if not lines[-1].strip(" \t\r\n") else f"{text}\n"


def with_tags(sentence: InputSentence, tags: Sequence[str], column: str) -> str:
    """Write the lines of a sentence with the tag of each word in a column."""
    from spectral_latent.corpora.conllu import writable

    lines = list(sentence.lines)
    at = _TAG_COLUMNS[column]
    for place, name in zip(sentence.places, tags, strict=True):
        columns = lines[place].split("\t")
        columns[at] = writable(column, name)
        lines[place] = "\t".join(columns)
    return "".join(lines)
