"""Models from files, each for the commands that it is made for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.sequence import LatentHMM

__all__ = ["load", "load_parser", "load_tagger"]


class _Kind(NamedTuple):
    """What a model is, and what to do with it."""

    name: str
    use: str


_PARSER = _Kind("a parser", "use it with `spectral-latent parse`, `score` or `evaluate`")
_TAGGER = _Kind("a tagger", "use it with `spectral-latent tag` or `evaluate`")
_UNTAGGED = _Kind("a model of sequences without tags", "use it in Python, with LatentHMM.load")
_KINDS = {("constituency", False): _PARSER, ("sequence", True): _TAGGER, ("sequence", False): _UNTAGGED}


def load(file: str) -> ConstituencyModel | LatentHMM:
    """A parser or a tagger, whichever it is.  Raises ModelFileError if it is neither.

    >>> import pathlib, tempfile
    >>> from spectral_latent.sequence import LatentHMM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = str(pathlib.Path(folder, "model"))
    ...     LatentHMM.fit_tagged([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load(file).tags
    ['N', 'V']
    """
    return load_parser(file) if _kind(file) is _PARSER else load_tagger(file)


def load_parser(file: str) -> ConstituencyModel:
    """A parser.  Raises ModelFileError, which tells what the file is and where it is of use, if it is none."""
    from spectral_latent.constituency import ConstituencyModel

    _require(file, _PARSER)
    return ConstituencyModel.load(file)


def load_tagger(file: str) -> LatentHMM:
    """A tagger, the tags of which are strings.  Raises ModelFileError as `load_parser` does."""
    from spectral_latent.operators import ModelFileError
    from spectral_latent.sequence import LatentHMM

    _require(file, _TAGGER)
    tagger = LatentHMM.load(file)
    if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
        raise ModelFileError(f"{file}: the tag {wrong[0]!r} is no string; use the model in Python, with LatentHMM.load")
    return tagger


def _kind(file: str) -> _Kind | None:
    """None for what this version does not know."""
    from spectral_latent.operators import load_settings

    settings = load_settings(file)
    kind = settings.get("kind")
    return _KINDS.get((kind, settings.get("tagged") is True)) if isinstance(kind, str) else None


def _require(file: str, needed: _Kind) -> None:
    from spectral_latent.operators import ModelFileError

    kind = _kind(file)
    if kind not in (needed, None):
        raise ModelFileError(f"{file}: {kind.name}, where {needed.name} is needed; {kind.use}")
