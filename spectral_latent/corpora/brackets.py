"""Read trees in the brackets of the Penn Treebank."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from sys import intern  # one string per distinct label and word

from spectral_latent.constituency.cleaning import is_empty
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.corpora.text import CorpusError, Line, read_text

__all__ = ["parse_brackets", "read_brackets", "without_outer_bracket"]

# A token is a tag with its word, an opening bracket with its label, a closing bracket, or bare text.  ASCII white space
# separates tokens: a no-break or an ideographic space belongs to its word.
_TOKEN = re.compile(
    r"\( \s*+ ([^\s()]++) \s++ ([^\s()]++) \s*+ \) | \( \s*+ ([^\s()]*+) | (\)) | ([^\s()]++)", re.ASCII | re.VERBOSE
)
_TAGGED, _OPEN, _CLOSE, _TEXT = 2, 3, 4, 5  # the last group that each alternative of _TOKEN sets


def read_brackets(path: str | os.PathLike[str]) -> Iterator[Phrase]:
    """Read the trees of a UTF-8 file; see `parse_brackets`.

    The call reads the file; each tree is parsed when the iterator comes to it.  Raises `CorpusError`, which names the
    file and the line, also for a missing file and for bytes that are not UTF-8.

    path: the file, which gzip may have compressed.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "two.mrg")
    ...     _ = file.write_text("( (NP (NNS dogs)) )\\n( (NP (NNS cats)) )")
    ...     for tree in read_brackets(file):
    ...         print(tree.bracketed())
    (NP (NNS dogs))
    (NP (NNS cats))
    """
    return parse_brackets(read_text(path), os.fspath(path))


def parse_brackets(text: str, source: str = "<string>") -> Iterator[Phrase]:
    """Read the trees of a text in Penn Treebank brackets; line breaks have no meaning.

    Labels, words and traces are kept as they stand.  An unlabelled outermost bracket is dropped if it holds one
    tree; if it holds several, they are the children of a phrase with the label "".

    text: the trees.
    source: the name of the text in errors.

    Raises `CorpusError`, which names `source` and the line, for brackets that do not match, text outside brackets,
    an unlabelled bracket within a tree, a constituent that is empty, has several words, or words beside phrases,
    and a text without trees.

    >>> for tree in parse_brackets("( (S (NP (PRP It)) (VP (VBZ works)))) (FRAG (UH Yes))"):
    ...     print(tree.bracketed())
    (S (NP (PRP It)) (VP (VBZ works)))
    (FRAG (UH Yes))
    """
    labels: list[str] = []  # the labels of the open constituents, the outermost first
    families: list[list[Phrase]] = []  # the children so far of each open constituent
    begin = 0  # the index where the outermost constituent begins
    phrase = None
    has_word = False  # whether the outermost constituent has a word that is not a trace
    for token in _TOKEN.finditer(text):
        kind = token.lastindex
        if kind == _TAGGED:
            phrase = Phrase(intern(token[1]), (intern(token[2]),))
            has_word = has_word or not is_empty(token[1], token[2])
            if not labels:
                begin = token.start()
        elif kind == _OPEN:
            if not labels:
                begin = token.start()
            labels.append(intern(token[3]))
            families.append([])
            continue
        # A constituent must have children, and only the outermost one may lack a label.
        elif kind == _CLOSE and labels and families[-1] and (labels[-1] or len(labels) == 1):
            phrase = Phrase(labels.pop(), tuple(families.pop()))
        elif kind == _TEXT and labels and not text[token.end() :].strip():
            break  # the text ends within a tree, so that the error is the open bracket
        else:
            raise _error(text, source, token.start(), _misplaced(token, labels))
        if families:
            families[-1].append(phrase)
        elif has_word:
            has_word = False
            yield without_outer_bracket(phrase)
        else:
            raise _error(text, source, begin, "the tree that begins here has no words; remove it")
    if labels:
        raise _error(text, source, begin, "the bracket that opens here is never closed; add the missing bracket")
    if phrase is None:
        raise CorpusError(f"{source}: no trees; give text such as (S (NP (NNS dogs)) (VP (VBP bark)))")


def without_outer_bracket(phrase: Phrase) -> Phrase:
    """Return the only child of a phrase without a label; return any other phrase unchanged.

    phrase: a tree, such as one in an outer bracket without a label.

    >>> without_outer_bracket(Phrase("", (Phrase("UH", ("Yes",)),)))
    <Phrase: (UH Yes)>
    """
    match phrase:
        case Phrase("", (Phrase() as only,)):
            return only
        case _:
            return phrase


def _misplaced(token: re.Match[str], labels: list[str]) -> str:
    """Say why a closing bracket or bare text cannot stand within the open constituents."""
    if not labels:
        if token.lastindex == _CLOSE:
            return "a bracket closes that was never opened; remove it, or add the bracket that it should close"
        return f"{token[0]!r} stands outside brackets; remove everything that is not a tree"
    if token.lastindex == _TEXT:
        return (
            f"{token[0]!r} makes a constituent {labels[-1]} of several words, or of words beside phrases; "
            f"give each word a tag of its own, as in (NN dog), and close its bracket"
        )
    if not labels[-1] and len(labels) > 1:
        return "a bracket within a tree has no label; add the label: only the outermost bracket may lack one"
    return f"the constituent {labels[-1] or '()'} is empty; remove it, or write a trace as (-NONE- *)"


def _error(text: str, source: str, position: int, problem: str) -> CorpusError:
    """Make the error for a position in the text."""
    return Line(source, text.count("\n", 0, position) + 1).error(problem)
