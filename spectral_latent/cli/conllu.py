"""Write sentences with their parses as lines of CoNLL-U."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.dependency.sentence import DependencySentence, TagColumn
    from spectral_latent.model import Parse

__all__ = ["filled_conllu", "in_conllu"]

_UPOS = 3  # the column of UPOS in CoNLL-U, from 0
_XPOS = 4
_NAME = re.compile(r"#\s*sent_id\s*=.*\S")  # the comment that names a sentence
_HEAD = 6  # the column of HEAD; DEPREL follows


def in_conllu(given: InputSentence, column: TagColumn) -> InputSentence:
    """Give a sentence lines in CoNLL-U, with its tags in one column.

    given: the sentence of the input.
    column: the column of the tags.
    """
    from spectral_latent.corpora import to_conllu

    forms = given.forms
    text = "".join(f"{form} " if space else form for form, space in zip(forms, given.spaces, strict=True))
    comments = (f"sent_id = {given.sent_id}", f"text = {text.strip()}")
    blank = ("_",) * len(forms)
    sentence = given.sentence.without_tree()._replace(forms=tuple(forms), comments=comments, upos=blank, xpos=blank)
    sentence = sentence.with_tags(column, given.sentence.tags(column))
    lines = [f"{line}\n" for line in to_conllu(sentence).split("\n")[:-1]]
    places = tuple(range(len(comments), len(lines) - 1))
    for place, space in zip(places, given.spaces, strict=True):
        if not space:
            lines[place] = lines[place].removesuffix("_\n") + "SpaceAfter=No\n"
    return given._replace(lines=tuple(lines), places=places)


def filled_conllu(given: InputSentence, parse: Parse[DependencySentence], column: TagColumn, rank: int | None) -> str:
    """Write the lines of a sentence with heads, relations, and tags of a column where they were missing.

    given: the sentence, with its lines.
    parse: the parse of the sentence.
    column: the column of the parser's tags.
    rank: the rank of the tree among several trees of the sentence, which get names and scores; None for a single tree.

    >>> from spectral_latent.dependency import DependencySentence
    >>> from spectral_latent.model import Parse
    >>> words = DependencySentence.of(["Yes"])
    >>> parse = Parse(words.with_heads((0,)), sign=1, log=-0.5)
    >>> table = in_conllu(InputSentence(words, 3), "upos")
    >>> print(filled_conllu(table, parse, "upos", rank=2).replace("\\t", " "), end="")
    # sent_id = 3-2
    # text = Yes
    # rank = 2
    # score = -0.500000
    1 Yes _ _ _ _ 0 _ _ _
    <BLANKLINE>
    """
    lines = list(given.lines)
    tree = parse.tree
    at = _UPOS if column == "upos" else _XPOS
    for place, head, relation, tag in zip(
        given.places, tree.heads or (), tree.relations, getattr(tree, column), strict=True
    ):
        columns = lines[place].split("\t")
        columns[_HEAD : _HEAD + 2] = [str(head), relation]
        columns[at] = tag if columns[at] == "_" else columns[at]
        lines[place] = "\t".join(columns)

    comments = ["# FALLBACK\n"] if parse.is_fallback else []
    if rank is not None:
        names = [place for place, line in enumerate(lines) if _NAME.match(line)]
        for place in names:
            lines[place] = _NAME.sub(rf"\g<0>-{rank}", lines[place])
        name = [] if names else [f"# sent_id = {given.sent_id}-{rank}\n"]
        comments = [*name, f"# rank = {rank}\n", f"# score = {parse.log:.6f}\n", *comments]

    # Comments stand before the first word, and the sentence ends with an empty line.
    begin = next(at for at, line in enumerate(lines) if line.strip(" \r\n") and not line.startswith("#"))
    text = "".join([*lines[:begin], *comments, *lines[begin:]])
    if not text.endswith("\n"):
        text += "\n"
    return text if not lines[-1].strip(" \r\n") else f"{text}\n"
