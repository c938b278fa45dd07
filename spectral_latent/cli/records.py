"""Keep records of training in model files: the command, and a digest of each source."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["Record", "record_of"]

_T = TypeVar("_T")
_NO_SETTINGS = ("output", "jobs", "quiet", "dev")  # parameters that do not change the model


class Record:
    """The record of a training: the command, the names of the sources, and digests of the content that was read.

    Names are without folders, and the record has neither the time nor the machine, so that the same training makes the
    same file.

    kind: the name of the examples that are read, such as `trees`.
    examples: the number of examples that were read so far.
    changes: the changes to the examples that were counted so far.
    """

    def __init__(self, context: click.Context, kind: str) -> None:
        """Begin the record of a command.

        context: the command line.  Its `obj` is None, or the sources of an earlier record; then the sources of this
            command must have the same contents.
        kind: the name of the examples that are read, such as `trees`.
        """
        from spectral_latent.constituency import Changes

        self._context = context
        self.kind = kind
        self.changes = Changes()
        self._sources: list[dict[str, str]] = []
        self._dev: dict[str, Any] = {}
        self.examples = 0
        self._words = 0

    def read(self, read: Callable[[Sequence[str]], Iterable[_T]], sources: Sequence[str]) -> Iterator[_T]:
        """Read sources one after the other, and keep a digest (BLAKE2b) of the examples of each source, in order.

        read: the function that reads sources.
        sources: the names of the sources on the command line.

        Raises ClickException if a source does not have the content of the earlier record.
        """
        for source in sources:
            digest = blake2b(digest_size=32)
            for example in read([source]):
                digest.update(_text(example).encode("utf-8", "surrogatepass"))
                yield example
            content = digest.hexdigest()
            self._check(source, content)
            self._sources.append({"name": _name(source), "content": content})

    def _check(self, source: str, content: str) -> None:
        """Raise ClickException if an earlier record has another digest for the next source."""
        n_before = len(self._sources)
        if self._context.obj is not None and content != self._context.obj[n_before]["content"]:
            name = self._context.obj[n_before]["name"]
            raise click.ClickException(f"{source}: other content than source {n_before + 1} of the record, {name}")

    def count(self, example: Any) -> None:
        """Count an example that the model learns from, and its words.

        example: a tree, or a sentence with tags or without.
        """
        self.examples += 1
        self._words += _n_words(example)

    def evaluated(self, sources: Sequence[str], figures: Mapping[str, Any]) -> None:
        """Keep the figures of an evaluation, except the figures of speed, which are never the same twice.

        sources: the sources that the model was evaluated on.
        figures: the figures of `evaluate`.
        """
        kept = {name: value for name, value in figures.items() if not name.endswith("_per_second")}
        rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in kept.items()}
        self._dev = {"dev": {"sources": [_name(source) for source in sources], **rounded}}

    def contents(self) -> dict[str, Any]:
        """Return the record as an object that JSON can hold."""
        from spectral_latent.constituency import Changes

        left_out = {kind: list(map(_name, places)) for kind, places in self.changes.left_out.items()}
        changes = Changes(self.changes.counts, left_out).contents()
        return {
            "command": shlex.join(_command(self._context)),
            "sources": self._sources,
            self.kind: self.examples,
            "words": self._words,
            **({"changes": changes} if changes else {}),
            **self._dev,
        }


def record_of(file: str) -> dict[str, Any] | None:
    """Read the record in a model file; None for the file of a model that was saved in Python.

    file: the file of the model.

    Raises ModelFileError for a file that is not a whole model.
    """
    from spectral_latent.files import ModelFileError, load_model

    _, settings = load_model(file)
    record = settings.get("record")
    if not isinstance(record, dict | None):
        raise ModelFileError(f"{file}: the record of training is damaged; train the model again")
    return record


def _command(context: click.Context) -> list[str]:
    """List the options of a command line that differ from their defaults, without folders and without `_NO_SETTINGS`.

    >>> command = click.Command("brew", params=[
    ...     click.Argument(["sources"], nargs=-1), click.Option(["--minutes"], default=10), click.Option(["--jobs"])])
    >>> _command(command.make_context("brew", ["kitchen/leaves", "--minutes", "8", "--jobs", "2"]))
    ['spectral-latent', 'train', 'brew', 'leaves', '--minutes', '8']
    """
    parts = ["spectral-latent", "train", str(context.command.name)]
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if parameter.name in _NO_SETTINGS or value in (None, (), parameter.get_default(context)):
            continue
        values = [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
        if isinstance(parameter, click.Argument):
            parts += map(_name, values)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            parts.append(parameter.opts[0])
        else:
            for each in values:
                parts += [max(parameter.opts, key=len), _name(each)]
    return parts


def _name(source: str) -> str:
    """Leave the folder out of the name of a source, if it is a path."""
    return Path(source).name or source


def _text(example: Any) -> str:
    """Write an example as a line; different examples have different lines."""
    from spectral_latent.constituency import Phrase

    return f"{example.bracketed() if isinstance(example, Phrase) else json.dumps(example)}\n"


def _n_words(example: Any) -> int:
    """Count the words of an example, traces left out.

    >>> from spectral_latent.constituency import Phrase
    >>> _n_words(Phrase("S", (Phrase("NN", ("dogs",)), Phrase("-NONE-", ("*",))))), _n_words(["dogs", "bark"])
    (1, 2)
    """
    from spectral_latent.constituency import Phrase
    from spectral_latent.constituency.cleaning import tagged_words
    from spectral_latent.dependency import DependencySentence

    if isinstance(example, DependencySentence):
        return len(example.forms)
    if not isinstance(example, Phrase):
        return len(example)
    return sum(1 for _ in tagged_words(example))
