"""Train a model again from the record in its file, and compare both models."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from spectral_latent._texts import printable
from spectral_latent.cli.models import record_of
from spectral_latent.cli.outputs import message
from spectral_latent.cli.record import Run
from spectral_latent.cli.train import TRAIN
from spectral_latent.kinds import usual_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHOWN = 20  # the largest number of differences that are printed


def verify(file: str, sources: Sequence[str], jobs: int = 1) -> bool:
    """Train a model again, and print what differs from its file; tell whether nothing does.

    sources: the sources in the order of the record; none for those of the names in the record."""
    differences, library = _differences_of(file, train_again(file, sources, jobs))
    click.echo(f"{file}: trained again, {'another' if differences else 'the same'} model")
    if differences:
        for line in [*filter(None, [library]), *differences[:_SHOWN]]:
            click.echo(printable(f"  {line}"))
        if len(differences) > _SHOWN:
            click.echo(f"  and {len(differences) - _SHOWN} further differences")
    return not differences


def train_again(file: str, sources: Sequence[str] = (), jobs: int = 1) -> Any:
    """Train a model with the settings of its record, on sources with the same contents."""
    from spectral_latent._options import counted
    from spectral_latent.corpora import CorpusError
    from spectral_latent.estimation import EstimationError

    record = _checked_record(file)
    try:
        expected = [{key: str(source[key]) for key in ("name", "content")} for source in record["sources"]]
        kind = str(record["training"]["kind"])
        train = TRAIN[usual_kind(kind)]
        settings = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in dict(record["training"]["settings"]).items()
        }
        names = [source["name"] for source in expected]
        if sources and len(sources) != len(names):
            raise click.UsageError(
                f"{file} is made of {counted(len(names), 'source')}, not {len(sources)}: {', '.join(names)}"
            )
        given = list(sources or (_named(file, name) for name in names))
        if n_texts := len(settings.get("text", ())):  # sources that are read in another way come last
            settings["text"] = given[-n_texts:]
            del given[-n_texts:]
        message(f"Training again: {record['command']}")
        settings |= {} if kind == "anchors" else {"jobs": jobs}
        return train(Run(given, kind, expected), **settings)
    except (CorpusError, EstimationError):
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CorpusError(f"{file}: this version cannot repeat the training of its record ({error})") from None


def _named(file: str, name: str) -> str:
    """Return the name of a source in a record.  Raises CorpusError unless it may be read because a file names it.

    A record has no folders.  Whoever made the file may have written others into it, or the names of pipes and devices.
    """
    from spectral_latent.corpora import CorpusError

    path = Path(name)
    if name.startswith("nltk:") or (path.name == name != ".." and (path.is_file() or path.is_dir())):
        return name
    raise CorpusError(
        f"{file}: its record names the source {name}, which is no file or folder within the current folder; "
        "give its sources after the name of the model"
    )


def _checked_record(file: str) -> dict[str, Any]:
    """Read the record in a model file.  Raises CorpusError for a model whose training cannot be repeated."""
    from spectral_latent.corpora import CorpusError

    record = record_of(file)
    if record is None:
        raise CorpusError(f"{file}: no record of training, which only `spectral-latent train` writes")
    if "training" not in record:
        raise CorpusError(
            f"{file}: made by `{record.get('command')}`, not by `spectral-latent train`, so that its training cannot "
            f"be repeated here. Train a model of your own; or, if you trust this program, run it in a checkout with "
            f"the sources that `spectral-latent info` lists, and compare the fingerprints"
        )
    return record


def _differences_of(file: str, model: Any) -> tuple[list[str], str]:
    """Describe what differs between a file and a model, and the versions of the library if they differ."""
    from spectral_latent.files import load_model

    with TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        old_arrays, old_settings = load_model(file)
        new_arrays, new_settings = load_model(Path(folder, "model"))
    old_settings.pop("record", None)
    libraries = [settings.pop("library") for settings in (old_settings, new_settings)]
    before, after = (dict(_leaves(settings)) for settings in (old_settings, new_settings))
    differences = [
        f"{name}: {reprlib.repr(before.get(name))}, and now {reprlib.repr(after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    differences += _differing_arrays(old_arrays, new_arrays)
    return differences, "" if len({*libraries}) == 1 else "library: {}, and now {}".format(*libraries)


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """List the settings that have no parts, each with its place."""
    if isinstance(value, dict | list) and value:
        for name, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(part, f"{place} {name}".strip())
    else:
        yield place, value


def _differing_arrays(before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Describe the arrays that differ between two models."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or (old.shape, old.dtype) != (new.shape, new.dtype):
            shown = ("nothing" if array is None else f"{array.shape} {array.dtype}" for array in (old, new))
            yield f"{name}: {', and now '.join(shown)}"
        elif old.tobytes() != new.tobytes():
            distances = abs(old.astype(float) - new.astype(float))
            yield f"{name}: {(distances > 0).sum()} of {old.size} numbers differ, by up to {distances.max():.2g}"
