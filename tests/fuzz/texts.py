"""Texts of every format, changed at random, and what a reader must make of them.

A text is read to its end, or refused by a CorpusError that names it, and what was read is written and read again as the
same.
"""

import json
import random
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, get_args

from spectral_latent.corpora import (
    CorpusError,
    parse_brackets,
    parse_partial,
    parse_partial_conllu,
    parse_tagged,
    to_conllu,
)
from spectral_latent.corpora.conllu import parse_conllu
from spectral_latent.corpora.rows import Row, parse_rows
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.corpora.text import decode
from spectral_latent.reranking import NBestFormat, parse_nbest
from tests.reranking.nbest_lists import written

TREES = """( (S (NP-SBJ (PRP They)) (VP (VBD left) (NP (DT the) (JJ old) (NN house)) (-NONE- *T*-1)) (. .)) )
(S (NP (NNS dogs) (PRN (-LRB- -LRB-) (NNS pets) (-RRB- -RRB-))) (VP (VBP bark)))
(FRAG (NP (NN café)) (: --) (NP (CD 1/2) (NN 東京)))
"""
CONLLU = """# sent_id = 1
# text = They left.
1-2\tTheyleft\t_\t_\t_\t_\t_\t_\t_\t_
1\tThey\tthey\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\t_
2\tleft\tleave\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No
2.1\tfast\t_\t_\t_\t_\t_\t_\t_\t_

# sent_id = 2
1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_

"""
TAB = "Dogs\tNNS\t2\tnsubj\nbark\tVBP\t0\troot\n\nYes\tUH\t0\troot\n"
TAGGED = "They/PRP left/VBD 1\\/2/CD ./.\n\nDogs/NNS bark/VBP\n"
ROWS = """{"sent_id": "a", "words": ["They", "left"], "tags": ["PRP", "VBD"], "other": {"x": [1.5, null]}}
{"id": 7, "text": "Dogs bark. Why?"}
"""
PARTIAL = """They ( left (NP the old (NN house) (-NONE- *)) ) .
(S (NP-SBJ dogs
 ( -LRB- pets -RRB- )) bark)
"""
PARTIAL_CONLLU = CONLLU.replace("\t2\tnsubj", "\t_\tnsubj").replace("\t0\troot", "\t0\t_")
LISTS = {
    "trees": "-1.5\t(S (NNS dogs) (VBP bark))\n-2.5\t(S (NN dogs) (NN bark))\n\n-1\t(NN run)\n",
    "bllip": "2 wsj.1\n-1.5 -2.5\n(S1 (S (NNS dogs) (VBP bark)))\n-3 -4\n(S1 (NP (NNS dogs) (NN bark)))\n",
    "conllu": "# sent_id = 1\n# score = -1.5\n" + CONLLU.split("\n\n")[1].split("\n", 1)[1] + "\n\n",
    "json": '{"sent_id": "1", "candidates": [{"tree": "(S (NN run))", "score": -1.5}, '
    '{"tree": "(VB run)", "score": -2}]}\n'
    '{"candidates": [{"tree": "(UH yes)"}]}\n',
}
ODD = [*'\ufeff\u202e\x00\r\t\n \u00a0\u2028()/_#-0\ud800{}[]<é"', "\x1b[31m", "\r\n", "\n\n", "-1", "99999", "1" * 400]
ODD += ["1" * 5000, "\\ud800", "nan", "&x;"]


class Format(NamedTuple):
    """A format: a text in it, how it is read, and how what was read is written, or None."""

    text: str
    read: Callable[[str, str], Iterable[Any]]
    write: Callable[[list[Any]], str] | None = None


def _of_lists(form: NBestFormat) -> Format:
    return Format(
        LISTS[form],
        lambda text, source: parse_nbest(text, source, form),
        lambda lists: written(lists, form),
    )


def _json_rows(rows: list[tuple[int, Row]]) -> str:
    """Write rows on the lines of their numbers."""
    lines = {number: json.dumps(row._asdict() | {"sent_id": row.name}) for number, row in rows}
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1))


FORMATS: dict[str, Format] = {
    "brackets": Format(TREES, parse_brackets, lambda trees: "\n".join(tree.bracketed() for tree in trees)),
    "conllu": Format(CONLLU, parse_conllu, lambda sentences: "".join(map(to_conllu, sentences))),
    "partial": Format(PARTIAL, parse_partial),
    "partial conllu": Format(PARTIAL_CONLLU, parse_partial_conllu),
    "tab": Format(TAB, lambda text, source: parse_conllu(in_conllu(text), source)),
    "tagged": Format(TAGGED, parse_tagged, lambda rows: "".join(" ".join(map("/".join, row)) + "\n" for row in rows)),
    "rows": Format(ROWS, lambda text, source: parse_rows(enumerate(text.split("\n"), start=1), source), _json_rows),
    **{f"lists: {form}": _of_lists(form) for form in get_args(NBestFormat)},
}


def changed(rng: random.Random, text: str) -> bytes:
    """Change a text in a few places: characters, lines, columns, brackets; or its bytes, or its encoding."""
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice([0, 0, 1, 1, 2, 5, 40]))
        how = rng.choice(["odd", "odd", "delete", "double", "swap", "line", "big"])
        if how == "odd":
            text = text[:at] + rng.choice(ODD) + text[end:]
        elif how == "delete":
            text = text[:at] + text[end:]
        elif how == "double":
            text = text[:end] + text[at:]
        elif how == "big" and rng.random() < 0.01:
            size = rng.choice([1000, 20_000])
            text = text[:at] + (rng.choice(ODD) * size)[:size] + text[at:]
        else:
            pieces = re.split("(\n)" if how == "line" else r"(\s)", text)
            one, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
            pieces[one], pieces[other] = pieces[other], pieces[one]
            text = "".join(pieces)
    content = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.03:
        return text.encode(rng.choice(["utf-16", "utf-32"]), "surrogatepass")
    if rng.random() < 0.08 and content:
        at = rng.randrange(len(content))
        return content[:at] + rng.randbytes(rng.choice([1, 2, 8])) + content[at + 1 :]
    return content


def check(name: str, case: int, seed: int) -> str:
    """Read a changed text, or a few changed lines of it: "refused" or "read".

    Raises AssertionError or any other error at a fault of a reader."""
    form = FORMATS[name]
    rng = random.Random(f"{seed}:{name}:{case}")
    lines = form.text.splitlines(keepends=True)
    if rng.random() < 0.7:
        first = rng.randrange(len(lines))
        lines = lines[first : first + rng.randint(1, 3)]
    try:
        found = list(form.read(decode(changed(rng, "".join(lines)), "source"), "source"))
    except CorpusError as error:
        assert str(error).startswith("source"), error
        found = None
    if found is None:
        return "refused"
    if form.write is not None and found:
        try:
            text = form.write(found)
        except ValueError as error:
            assert "write" in str(error), error  # such as a name that this format cannot have: the message says so
            return "read"
        text.encode("utf-8")  # what was read has no surrogates
        again = list(form.read(text, "again"))
        assert form.write(again) == text, "what was written is not what was read"
    return "read"
