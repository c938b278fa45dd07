"""`spectral-latent tag`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import click

from spectral_latent.cli.answers import Answer, answers, asks_for_json, write_answers
from spectral_latent.cli.console import message
from spectral_latent.cli.models import load_for
from spectral_latent.cli.options import AnswersFile, AsJson, Command, Files, FromText, InputFormat, Jobs, function_for
from spectral_latent.cli.sentences import InputSentence, read_sentences

__all__ = ["COMMAND", "NamedTagger", "tagger_of_anchors", "tagger_of_tags"]

_SEPARATOR = re.compile(r"[/\s]")  # divides words from tags, and from other words


class NamedTagger(NamedTuple):
    """A tagger whose tags are strings.

    model: the tagger itself, or an anchor model with labels.
    tags: all tags that the tagger knows.
    knows: the function that tells whether a word was in the training data.
    column: the column of the tags in the training data; None if it is not known."""

    model: Any
    tags: list[str]
    knows: Callable[[str], bool]
    column: str | None = None


def tagger_of_tags(model: Any) -> NamedTagger:
    """Take a tagger as it is."""
    return NamedTagger(model, model.tags, frozenset(model.observations.known).__contains__, model.tagset)


def tagger_of_anchors(model: Any) -> NamedTagger:
    """Make a tagger of an anchor model; without labels, the tags are the names of the anchors."""
    labelled = model if model.labels is not None else replace(model, labels=tuple(model.names))
    words = frozenset(model.words)
    return NamedTagger(labelled, list(labelled.labels), lambda word: word.lower() in words)


def tag(
    model: str,
    files: Files = ("-",),
    *,
    format_: InputFormat = None,
    text: FromText = False,
    column: Literal["upos", "xpos"] | None = None,
    json_: AsJson = False,
    output: AnswersFile | None = None,
    jobs: Jobs = 1,
) -> None:
    """Tag the sentences of FILE or of standard input.

    FILE has a tokenised sentence on each line, or another format of docs/command_line.md; raw text needs --text.
    The output is lines of the/DT dog/NN, or for CoNLL-U the same tables with other tags.  For an anchor model, a tag is
    the label of an anchor, or the anchor in capitals if there are no labels.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent tag tagger.model --text
      spectral-latent tag tagger.model dev.conllu > tagged.conllu

    column: the column of CoNLL-U to fill.  [default: the column that the model was trained on, or else upos]"""
    loaded = load_for(model)
    tagger = checked_tags(function_for(loaded.kind, model, {})(loaded), model)
    given = read_sentences(files, "text" if text else format_, loaded.tokenisation)
    if column and given.form != "conllu":
        raise click.UsageError("--column is for CoNLL-U; give --format conllu if the input is CoNLL-U")
    as_json = asks_for_json(json_, output)
    strange = [name for name in tagger.tags if _SEPARATOR.search(name)]
    if strange and not as_json and given.form != "conllu":
        message(f"The tag {strange[0]!r} has a slash or a space within; only CoNLL-U keeps such tags apart")
    filled = "xpos" if (column or tagger.column) == "xpos" else "upos"
    ask = partial(_tag, column=filled, as_json=as_json)
    write_answers(given, answers(ask, tagger.model, given, jobs, "Tagging"), output)


def checked_tags(tagger: NamedTagger, file: str) -> NamedTagger:
    """Return a tagger whose tags are strings.  Raises ModelFileError for one with other tags."""
    from spectral_latent.files import ModelFileError

    if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
        raise ModelFileError(f"{file}: the tag {wrong[0]!r} is not a string; use the model in Python")
    return tagger


def _tag(model: Any, sentences: list[InputSentence], column: str, as_json: bool) -> list[Answer]:
    """Write sentences with their tags: as tables, as lines of word/TAG, or in JSON.

    In a line, white space of a tag becomes `_`."""
    import json

    from spectral_latent.cli.conllu import with_tags

    written = []
    for sentence, tags in zip(sentences, model.tag_all([each.words for each in sentences]), strict=True):
        if as_json:
            entry = {"sent_id": sentence.sent_id, "words": sentence.forms, "tags": tags}
            text = json.dumps(entry, ensure_ascii=False) + "\n" if sentence.is_whole else ""
        elif sentence.lines:
            text = with_tags(sentence, tags, column)
        else:
            pairs = zip(sentence.forms, tags, strict=True)
            text = " ".join(f"{word}/{'_'.join(tag.split())}" for word, tag in pairs) + "\n"
        written.append(Answer(text))
    return written


COMMAND = Command(tag, {"tagger": tagger_of_tags, "anchors": tagger_of_anchors})
