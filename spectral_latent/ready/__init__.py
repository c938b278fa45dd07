"""Find the models that come with the library by their names.

The models lie in this folder, with the list `models.json` and the licence of those that learnt from treebanks.
`python -m benchmarks.models` makes them; a wheel may be built without them.
"""

import json
import os
import warnings
from pathlib import Path
from typing import NamedTuple

__all__ = ["FOLDER", "ReadyModel", "find_model", "listed_models", "missing_model", "ready_models"]

FOLDER = Path(__file__).parent


class ReadyModel(NamedTuple):
    """A model that comes with the library."""

    name: str
    """The name to load it by, such as `en`."""
    language: str
    about: str
    """What the model does, in a line."""
    sources: str
    """The treebanks that it was trained on, with their versions."""
    licence: str
    good_at: str
    bad_at: str
    figures: str
    """How accurate it is on text that it was not trained on, in percent."""

    @property
    def file(self) -> Path:
        """The file of the model."""
        return FOLDER / f"{self.name}.model"

    @property
    def facts(self) -> dict[str, str]:
        """What the record in the file does not say: what the model is for, and how good it is."""
        return {
            "about": f"{self.language}: {self.about}",
            "learnt from": self.sources,
            "good at": self.good_at,
            "bad at": self.bad_at,
            "figures": self.figures,
        }


def listed_models() -> list[ReadyModel]:
    """List all ready models, whether this installation has them or not."""
    return [ReadyModel(**entry) for entry in json.loads((FOLDER / "models.json").read_text("utf-8"))]


def ready_models() -> list[ReadyModel]:
    """List the models that this installation has.

    >>> all(model.file.is_file() for model in ready_models())
    True
    """
    return [model for model in listed_models() if model.file.is_file()]


def _is_name(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path may be the name of a ready model: it has no folder and no ending."""
    return Path(path).name == str(path) and not Path(path).suffix


def find_model(path: str | os.PathLike[str]) -> Path:
    """Find the file of a model: the path itself, or the ready model of this name.

    path: a path, or a name; a file of this name in the current folder wins, and a warning says so.

    >>> find_model("folder/english.model").name
    'english.model'
    """
    file = Path(path)
    ready = next((each.file for each in ready_models() if each.name == str(path)), None) if _is_name(path) else None
    if ready is None or not file.exists():
        return ready or file
    warnings.warn(f"{path}: the file in this folder is read, not the ready model of this name", stacklevel=4)
    return file


def missing_model(path: str | os.PathLike[str]) -> str:
    """Say that there is no such file, and which names of ready models there are if the path may be a name."""
    if not _is_name(path):
        return f"{path}: No such file or directory"
    names = ", ".join(model.name for model in ready_models())
    ready = f"the ready models are {names}" if names else "this installation has no ready models"
    return f"{path}: neither a file nor a ready model; {ready}"
