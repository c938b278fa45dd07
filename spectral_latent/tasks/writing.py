"""Write answers: the trees, tags and surprisal of a sentence; and give sentences to models as they take them."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from spectral_latent.tasks.inputs import InputSentence, read_text
from spectral_latent.tasks.watch import RequestError

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes, Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.dependency.tree import TagColumn
    from spectral_latent.model import Parse, Parses, Surprisal
    from spectral_latent.trees import FloatArray

__all__ = [
    "SURPRISAL_COLUMNS",
    "Form",
    "Score",
    "conllu_text",
    "drawings_of",
    "given_sentence",
    "given_words",
    "phrase_text",
    "phrases_to_score",
    "score_text",
    "sentences_to_score",
    "surprisal_text",
    "table_row",
    "tagged_text",
]

Form = Literal["text", "json"]
SURPRISAL_COLUMNS = ("sent_id", "number", "word", "seen", "surprisal", "lexical", "syntactic", "sentence")

_HEAD = 6  # the column of HEAD in CoNLL-U, from 0; DEPREL follows
_MISC = 9
_HEAD_PROB = "HeadProb"
_TAG_COLUMNS = {"upos": 3, "xpos": 4}
_FILLED = {"lemmas": 2, **_TAG_COLUMNS, "feats": 5}  # columns that a parser fills
_NAME = re.compile(r"#\s*sent_id\s*=.*\S")  # the comment that names a sentence


def given_words(sentence: InputSentence) -> Any:
    """Return the words, with the brackets around some of them if there are any."""
    from spectral_latent.model import Partial

    return sentence.words if sentence.constraints is None else Partial(sentence.sentence.forms, sentence.constraints)


def given_sentence(sentence: InputSentence) -> Any:
    """Return the words with their tags, and with the heads and relations that are known."""
    from spectral_latent.model import Partial

    bare = sentence.sentence.without_tree()
    return bare if sentence.constraints is None else Partial(bare, sentence.constraints)


def phrases_to_score(
    file: str, changes: Changes, form: Format | None = None, skip_bad: bool = False
) -> Iterator[Phrase]:
    """Read trees in brackets."""
    from spectral_latent.corpora.sources import phrases_of_text

    return phrases_of_text(*read_text(file), changes, form, skip_bad=skip_bad)


def sentences_to_score(
    file: str, changes: Changes, form: Format | None = None, skip_bad: bool = False
) -> Iterator[DependencySentence]:
    """Read dependency trees with one root each."""
    from spectral_latent.corpora.sources import entries_of_text

    if skip_bad:
        raise RequestError("--skip-bad is for trees in brackets")
    return (entry.rooted().sentence for entry in entries_of_text(*read_text(file), changes, form))


def drawings_of(_: InputSentence, parses: Parses[Any]) -> list[tuple[str, str]]:
    """Draw the trees of a sentence."""
    return parses.drawings


def phrase_text(
    sentence: InputSentence, parses: Parses[Phrase], form: Form, given: Format, column: str | None, is_list: bool
) -> str:
    """Write the tree of a sentence in brackets, or a list of trees with scores, or either in JSON."""
    del given, column  # for tables
    if form == "json":
        return _candidates(parses, sentence)
    if not is_list:
        return "".join(each.tree.bracketed() for each in parses) + "\n"
    return "".join(f"{each.log:.6f}\t{each.tree.bracketed()}\n" for each in parses) + "\n"


def conllu_text(
    sentence: InputSentence,
    parses: Parses[DependencySentence],
    form: Form,
    given: Format,
    column: TagColumn,
    is_list: bool,
    posteriors: Sequence[FloatArray] = (),
) -> str:
    """Write the tree of a sentence in CoNLL-U, or a list of trees with ranks and scores, or either in JSON.

    Comments after the last sentence stay as they are, except in JSON.

    posteriors: the posterior (n,) of the arc to each word of each tree, which MISC then has as `HeadProb`."""
    if form == "json":
        return _candidates(parses, sentence)
    if not parses:
        return "".join(sentence.lines) if any(line.startswith("#") for line in sentence.lines) else ""
    table = sentence if given == "conllu" else _in_conllu(sentence, column)
    ranked = enumerate(parses, start=1)
    return "".join(
        _filled(table, each, rank if is_list else None, posteriors[rank - 1] if posteriors else None)
        for rank, each in ranked
    )


def _candidates(parses: Parses[Phrase] | Parses[DependencySentence], sentence: InputSentence) -> str:
    """Write the trees of a sentence as a line of JSON, which `rerank` reads."""
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.reranking import parses_to_nbest

    return "".join(write_nbest([parses_to_nbest(parses, sentence.sent_id)], "json"))


def _in_conllu(given: InputSentence, column: TagColumn) -> InputSentence:
    """Give a sentence lines in CoNLL-U, with its tags in one column."""
    from spectral_latent.corpora import to_conllu

    forms = given.forms
    comments = (f"sent_id = {given.sent_id}", f"text = {given.text}")
    blank = ("_",) * len(forms)
    sentence = given.sentence.without_tree()._replace(forms=tuple(forms), comments=comments, upos=blank, xpos=blank)
    sentence = sentence.with_tags(column, given.sentence.tags(column))
    lines = [f"{line}\n" for line in to_conllu(sentence).split("\n")[:-1]]
    places = tuple(place for place, line in enumerate(lines) if line.partition("\t")[0].isdecimal())
    # Of a token of several words, the line of the range says that no space follows.
    before = {first for first, _, _ in sentence.ranges}
    within = {word for first, last, _ in sentence.ranges for word in range(first + 1, last + 1)}
    for word, (place, space) in enumerate(zip(places, given.spaces, strict=True), start=1):
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


def tagged_text(sentence: InputSentence, tags: Sequence[str], form: Form, column: str) -> str:
    """Write a sentence as its own table with the tag of each word in a column, as a line of word/TAG, or in JSON.

    In a line, white space of a tag becomes `_`."""
    from spectral_latent.corpora.conllu import writable

    if form == "json":
        entry = {"sent_id": sentence.sent_id, "words": sentence.forms, "tags": tags}
        return json.dumps(entry, ensure_ascii=False) + "\n" if sentence.is_whole else ""
    if not sentence.lines:
        pairs = zip(sentence.forms, tags, strict=True)
        return " ".join(f"{word}/{'_'.join(tag.split())}" for word, tag in pairs) + "\n"
    lines = list(sentence.lines)
    at = _TAG_COLUMNS[column]
    for place, name in zip(sentence.places, tags, strict=True):
        columns = lines[place].split("\t")
        columns[at] = writable(column, name)
        lines[place] = "\t".join(columns)
    return "".join(lines)


class Score(NamedTuple):
    """The score of a tree.

    log: the logarithm of the absolute value of its estimated probability p̂.
    error: the standard error of p̂ as a share of its absolute value; NaN where it has none, or was not asked for.
    is_zero: whether the 95 % interval of p̂ contains zero.
    n_groups: the number of groups that the error is computed from."""

    log: float
    sign: float
    error: float = math.nan
    is_zero: bool = False
    n_groups: int = 0


def score_text(number: int | str, found: Score, form: Form, has_errors: bool) -> str:
    """Write the score of a tree as a line."""
    if form == "json":
        entry: dict[str, Any] = {"tree": number, "log": _finite(found.log), "sign": int(found.sign)}
        errors = {"error": _finite(found.error), "zero": found.is_zero} if has_errors else {}
        return json.dumps(entry | errors) + "\n"
    more = f"\t{found.error:.6f}\t{found.is_zero:d}" if has_errors else ""
    return f"{found.log:.6f}\t{found.sign:.0f}{more}\n"


def surprisal_text(sentence: InputSentence, found: Surprisal, form: Form, errors: FloatArray | None = None) -> str:
    """Write a line for each word, or the sentence as a line of JSON.

    errors: (n,) the standard errors of the surprisal of words; None to leave the column out."""
    columns = {"surprisal": found.total, "lexical": found.lexical, "syntactic": found.syntactic}
    extra = {} if errors is None else {"error": errors}
    if form == "json":
        entry = {
            "sent_id": sentence.sent_id,
            "words": sentence.forms,
            "seen": found.seen.tolist(),
            **{name: list(map(_finite, column.tolist())) for name, column in (columns | extra).items()},
            "end": _finite(found.end),
            "sentence": _finite(found.sentence),
        }
        return json.dumps(entry, ensure_ascii=False) + "\n"
    before, after = ([column.tolist() for column in some.values()] for some in (columns, extra))
    whole = [found.sentence] * len(sentence.forms)
    words = zip(sentence.forms, found.seen.tolist(), *before, whole, *after, strict=True)
    return "".join(
        table_row((sentence.sent_id, number, word, str(seen).lower(), *(f"{bits:.6f}" for bits in numbers)))
        for number, (word, seen, *numbers) in enumerate(words, start=1)
    )


def table_row(cells: Iterable[object]) -> str:
    """Write a row of a table with tabs, quoted as the `csv` module, pandas and R read it."""
    row = StringIO()
    csv.writer(row, dialect="excel-tab", lineterminator="\n").writerow(cells)
    return row.getvalue()


def _finite(number: float) -> float | None:
    """Return a number as JSON has it, which has no infinite numbers."""
    return number if math.isfinite(number) else None
