"""Hold the base of all models that can be saved."""

import os
from collections.abc import Mapping
from html import escape
from typing import Any, ClassVar, Self

import numpy as np

from spectral_latent._options import ShortRepr, check_fields
from spectral_latent._threads import on_one_thread
from spectral_latent.files.codec import Contents, read, write
from spectral_latent.files.storage import HEADING, MAX_BYTES, RECORD, digest_of, open_model, save_model

_SHOWN = 10  # the number of entries of a list in a summary


def _shorten(value: Any) -> str:
    """Write a fact about a model in short: the first entries of a list."""
    if value is None:
        return "-"
    if isinstance(value, list) and any(isinstance(entry, list) for entry in value):
        return "; ".join(map(_shorten, value))
    if isinstance(value, list):
        shown = [str(entry) for entry in value[:_SHOWN]]
        return f"{len(value)}: {', '.join([*shown, *(['...'] if len(value) > _SHOWN else [])])}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items()) or "-"
    return str(value)


class StoredModel(ShortRepr):
    """Base of models, each of which is saved in one file, by the declarations of its fields; see `codec`.

    later: fields that older files lack.
    earlier: fields of older files that are gone; a file in which one of them holds something is refused.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Kettle(StoredModel):
    ...     kind = "kettle"
    ...     sizes = "2 litres"
    ...     material: str
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Kettle("copper").save(Path(folder, "model"))
    ...     Kettle.load(Path(folder, "model"))
    <Kettle: 2 litres>
    >>> print(Kettle("copper").summary)
    {'kind': 'kettle', 'sizes': '2 litres'}
    """

    kind: ClassVar[str]
    later: ClassVar[frozenset[str]] = frozenset()
    earlier: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **rest: Any) -> None:
        """Let all functions of a model that train keep linear algebra to one thread."""
        super().__init_subclass__(**rest)
        for name, function in list(vars(cls).items()):
            if name.startswith("train") and isinstance(function, staticmethod):
                setattr(cls, name, staticmethod(on_one_thread()(function.__func__)))

    def __post_init__(self) -> None:
        """Raise ValueError for a field of another type than declared, in models that are dataclasses."""
        check_fields(self)

    def contents(self) -> Contents:
        """Return the arrays and the settings of the model, from which `from_contents` makes it again.

        Raises ValueError if a name within the model is not made of strings, numbers, None and tuples."""
        return write(self)

    @classmethod
    def from_contents(cls, contents: Contents, **given: Any) -> Self:
        """Make a model of the contents of its file; `load` turns the errors of damaged contents into ModelFileError.

        contents: the arrays and the settings of the file; the kind, the record and the versions are left out.
        given: the values of fields that are marked as `Given`."""
        arrays, settings = contents
        return read(cls, arrays, {name: value for name, value in settings.items() if name not in HEADING}, **given)

    @property
    def fingerprint(self) -> str:
        """The digest of the contents; it is equal for models whose answers are the same to the last bit."""
        arrays, settings = self.contents()
        return digest_of(settings, {name: np.ascontiguousarray(array) for name, array in arrays.items()})

    @property
    def description(self) -> dict[str, Any]:
        """The facts that describe the model, by name; JSON can hold them."""
        options = getattr(self, "options", None)
        facts: dict[str, Any] = {"kind": self.kind, "sizes": self.sizes}
        if options is not None:
            facts["options"] = options.table()
        if objective := getattr(self, "objective", ()):
            facts["objective"] = [round(value, 2) for value in objective]
        return facts

    @property
    def summary(self) -> dict[str, str]:
        """The description in short texts: the first entries of lists, and the options that differ from the defaults."""
        options = getattr(self, "options", None)
        texts = {name: _shorten(value) for name, value in self.description.items()}
        return texts | ({} if options is None else {"options": repr(options)})

    def _repr_html_(self) -> str:
        """Write the summary as a table, which notebooks show."""
        rows = (
            f'<tr><th>{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
            for name, text in self.summary.items()
        )
        return f"<table>{''.join(rows)}</table>"

    def save(self, path: str | os.PathLike[str], record: Mapping[str, Any] | None = None) -> None:
        """Write the model to one file, whole or not at all.

        record: a record of the training, which the file keeps and `record_of` returns; JSON can hold it.
        Raises ValueError as `contents` does."""
        arrays, settings = self.contents()
        save_model(path, arrays, {"kind": self.kind, **settings, **({} if record is None else {RECORD: record})})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Self:
        """Read a model.

        path: the file of the model, or the name of a ready model, such as `en`.
        max_bytes: the largest memory of its arrays, in bytes: 4 GB if not given.

        Raises ModelFileError if the file is not a whole model of this kind and version, or needs more memory."""
        with open_model(path, cls.kind, max_bytes) as (arrays, settings):
            return cls.from_contents((arrays, settings))
