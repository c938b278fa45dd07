"""`spectral-latent verify`."""

from __future__ import annotations

import reprlib
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from spectral_latent._texts import printable
from spectral_latent.cli.console import Console
from spectral_latent.cli.options import jobs_option, quiet_option
from spectral_latent.cli.records import record_of
from spectral_latent.cli.train import train

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["verify"]

_SHOWN = 20  # the largest number of differences that are printed


@click.command()
@click.argument("model")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@jobs_option
@quiet_option
def verify(model: str, sources: tuple[str, ...], jobs: int, quiet: bool) -> None:
    """Train a model again, and compare it with its file to the last bit.

    MODEL is a file that `train` has written.  The record in it, which `info` shows, has the command and a digest of the
    content of each source.  Give the sources in the order of that command, those of --choose-states or --text last.
    Without SOURCE, the names in the record are used: files in this folder, or corpora of NLTK.  Training does not begin
    if the content of a source differs from the record.

    The exit status is 0 if both models are the same.  Otherwise it is 1, and the differences are printed.  The number
    of processes does not change a model.  Other versions of the library, of NumPy and of SciPy, and other kinds of
    processor, may make another model.  An anchor model that got labels after its training differs in its labels.

    \b
    Examples:
      spectral-latent verify wsj.model
      spectral-latent verify wsj.model sections/
    """
    from spectral_latent.files import load_model

    record = record_of(model)
    if record is None:
        raise click.ClickException(f"{model}: no record of training, which only `spectral-latent train` writes")
    with TemporaryDirectory() as folder:
        again = Path(folder, "model")
        with _command_of(model, record, sources, again, jobs) as context:
            Console(quiet).message(f"Training again: {record['command']}")
            context.command.invoke(context)
        old_arrays, old_settings = load_model(model)
        new_arrays, new_settings = load_model(again)
    for settings in (old_settings, new_settings):
        del settings["record"]
    old_library = old_settings.pop("library")
    new_library = new_settings.pop("library")
    differences = [*_differing_settings(old_settings, new_settings), *_differing_arrays(old_arrays, new_arrays)]
    if not differences:
        click.echo(f"{model}: trained again, the same model")
        return
    click.echo(f"{model}: trained again, another model")
    if old_library != new_library:
        click.echo(printable(f"  library: {old_library}, and now {new_library}"))
    for line in differences[:_SHOWN]:
        click.echo(printable(f"  {line}"))
    if len(differences) > _SHOWN:
        click.echo(f"  and {len(differences) - _SHOWN} further differences")
    click.get_current_context().exit(1)


def _command_of(model: str, record: dict[str, Any], sources: tuple[str, ...], output: Path, jobs: int) -> click.Context:
    """Make the command of a record again, with other names of the sources and another output.

    model: the model file, for messages.
    record: the record in the model file.
    sources: the sources to read; none for the sources that the record names.
    output: the model file to write.
    jobs: the number of threads that learn, and of processes that parse while they learn.

    Raises ClickException if this version has no such command, and UsageError for another number of sources.
    """
    try:
        needed = [{key: str(source[key]) for key in ("name", "content")} for source in record["sources"]]
        _, _, kind, *arguments = shlex.split(str(record["command"]))
        context = train.commands[kind].make_context(kind, [*arguments, "-o", str(output), "--quiet"], obj=needed)
    except (click.UsageError, click.exceptions.Exit, KeyError, TypeError, ValueError) as error:
        raise click.ClickException(f"{model}: this version cannot run the command of its record ({error})") from None
    names = tuple(source["name"] for source in needed)
    if sources and len(sources) != len(names):
        raise click.UsageError(f"{model} is made of {len(names)} sources, not {len(sources)}: {', '.join(names)}")
    sources = sources or names
    n_learnt_from = len(context.params["sources"])
    # A command has sources of at most one other kind.
    others = {name: sources[n_learnt_from:] for name in ("held_out", "text") if context.params.get(name)}
    given = {"sources": sources[:n_learnt_from], "jobs": jobs, **others}
    context.params |= {name: value for name, value in given.items() if name in context.params}
    return context


def _differing_arrays(before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Describe the arrays that differ between two models.

    >>> import numpy as np
    >>> list(_differing_arrays({"t": np.ones(3), "q": np.ones(2)}, {"t": np.array([1, 1, 1.5])}))
    ['q: (2,) float64, and now nothing', 't: 1 of 3 numbers differ, by up to 0.5']
    """
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or (old.shape, old.dtype) != (new.shape, new.dtype):
            yield f"{name}: {_type_of(old)}, and now {_type_of(new)}"
        elif old.tobytes() != new.tobytes():
            distances = abs(old.astype(float) - new.astype(float))
            yield f"{name}: {(distances > 0).sum()} of {old.size} numbers differ, by up to {distances.max():.2g}"


def _type_of(array: NDArray[Any] | None) -> str:
    """Write the shape and the type of an array."""
    return "nothing" if array is None else f"{array.shape} {array.dtype}"


def _differing_settings(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Describe the settings that differ between two models.

    before: the settings, or a part of them.
    after: the same part of the settings of the other model.
    place: the names that lead to this part.

    >>> list(_differing_settings({"words": ["a", "b"], "seed": 1}, {"words": ["a", "c"], "seed": 1, "floor": 0}))
    ['floor: None, and now 0', "words 1: 'b', and now 'c'"]
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from _differing_settings(before.get(name), after.get(name), f"{place} {name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _differing_settings(old, new, f"{place} {number}")
    elif before != after:
        yield f"{place.strip()}: {reprlib.repr(before)}, and now {reprlib.repr(after)}"
