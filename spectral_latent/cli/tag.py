"""`spectral-latent tag`."""

import re
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import click

from spectral_latent.cli.answers import Answer, answers, asks_for_json, write_answers
from spectral_latent.cli.inputs import load_for
from spectral_latent.cli.options import AsJson, Command, Files, FromText, InputFormat, Jobs, Output, function_for
from spectral_latent.cli.outputs import message
from spectral_latent.cli.sentences import InputSentence, read_sentences

_SEPARATOR = re.compile(r"[/\s]")  # divides words from tags, and from other words


def with_tags_of_words(model: Any, file: str) -> Any:
    """Return a tagger.  Raises ModelFileError if its tags are not strings."""
    from spectral_latent.files import ModelFileError

    if wrong := [tag for tag in tags_of(model) if not isinstance(tag, str)]:
        raise ModelFileError(f"{file}: the tag {wrong[0]!r} is not a string; use the model in Python")
    return model


def with_labels(model: Any, file: str) -> Any:
    """Return an anchor model as a tagger; without labels, the tags are the names of the anchors."""
    labelled = model if model.labels is not None else replace(model, labels=tuple(model.names))
    return with_tags_of_words(labelled, file)


def tags_of(model: Any) -> list[str]:
    """List the tags of a tagger, or the labels of an anchor model."""
    return list(model.labels if model.kind == "anchors" else model.tags)


def tag(
    model: str,
    files: Files = ("-",),
    *,
    format_: InputFormat = None,
    text: FromText = False,
    column: Literal["upos", "xpos"] | None = None,
    json_: AsJson = False,
    output: Output | None = None,
    jobs: Jobs = 1,
) -> None:
    """Tag the sentences of FILE or of standard input.

    FILE has one tokenised sentence per line, or another format of docs/command_line.md; raw text needs --text.
    The output is lines of the/DT dog/NN, or for CoNLL-U the same tables with other tags.  For an anchor model, a tag is
    the label of an anchor, or the anchor in capitals if there are no labels.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent tag tagger.model --text
      spectral-latent tag tagger.model dev.conllu > tagged.conllu

    column: the column of CoNLL-U to fill.  [default: the column that the model was trained on, or else upos]"""
    loaded = load_for(model)
    tagger = function_for(loaded.kind, model, {})(loaded, model)
    given = read_sentences(files, "text" if text else format_, loaded.tokenisation)
    if column and given.form != "conllu":
        raise click.UsageError("--column is for CoNLL-U; give --format conllu if the input is CoNLL-U")
    as_json = asks_for_json(json_, output)
    strange = [name for name in tags_of(tagger) if _SEPARATOR.search(name)]
    if strange and not as_json and given.form != "conllu":
        message(f"The tag {strange[0]!r} has a slash or a space within; only CoNLL-U keeps such tags apart")
    filled = "xpos" if (column or getattr(tagger, "tagset", None)) == "xpos" else "upos"
    ask = partial(_tag, column=filled, as_json=as_json)
    write_answers(given, answers(ask, tagger, given, jobs, "Tagging", at_once=256), output)


def _tag(model: Any, sentences: list[InputSentence], column: str, as_json: bool) -> list[Answer]:
    """Write sentences with their tags: as tables, as lines of word/TAG, or in JSON.

    In a line, white space of a tag becomes `_`."""
    import json

    from spectral_latent.cli.conllu import with_tags

    written = []
    for sentence, tags in zip(sentences, model.tag_all([each.words for each in sentences]), strict=True):
        if as_json:
            entry = {"sent_id": sentence.sent_id, "words": sentence.forms, "tags": tags}
            text = json.dumps(entry, ensure_ascii=False) + "\n"
        elif sentence.lines:
            text = with_tags(sentence, tags, column)
        else:
            pairs = zip(sentence.forms, tags, strict=True)
            text = " ".join(f"{word}/{'_'.join(tag.split())}" for word, tag in pairs) + "\n"
        written.append(Answer(text))
    return written


COMMAND = Command(tag, {"tagger": with_tags_of_words, "anchors": with_labels})
