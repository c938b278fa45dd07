"""Load the models that a command is for, and read the examples of each SOURCE."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import click

from spectral_latent.kinds import KINDS, find_kind, make_model, usual_kind

_T = TypeVar("_T")


def load_for(file: str, *kinds: str) -> Any:
    """Read a model of one of the kinds that the running command is for, the usual kind first.

    kinds: the kinds; none for those of the command's functions.  Raises ModelFileError for a model of another kind."""
    from spectral_latent.files import ModelFileError, open_model

    kinds = kinds or tuple(click.get_current_context().command.kinds)  # type: ignore[attr-defined]
    with open_model(file) as (arrays, settings):
        kind = str(settings.get("kind"))
        usual = usual_kind(kind)
        if usual in kinds:
            return make_model(arrays, settings)
        known = find_kind(kind)
        found = f"a {kind} model" if known is None else known.name
        *others, last = (KINDS[each].name for each in kinds)
        needed = f"{', '.join(others)} or {last}" if others else last
        raise ModelFileError(f"{found}, where {needed} is needed; {_advice(usual)}")


def _advice(kind: str) -> str:
    """Say what to do with a model of a kind, from what the commands are for."""
    main: Any = click.get_current_context().find_root().command
    if kind not in KINDS:
        return "train it again"
    if kind == "reranker":
        return "use it with `rerank`, or with `parse --rerank`"
    commands = [name for name in main.list_commands(None) if kind in getattr(main.get_command(None, name), "kinds", ())]
    return f"use it with {', '.join(f'`{name}`' for name in dict.fromkeys([*commands, 'info']))}, or in Python"


def record_of(file: str) -> dict[str, Any] | None:
    """Read the record in a model file; None for the file of a model that was saved in Python."""
    from spectral_latent.files import ModelFileError, open_model

    with open_model(file) as (_, settings):
        record = settings.get("record")
    if not isinstance(record, dict | None):
        raise ModelFileError(f"{file}: the record of training is damaged; train the model again")
    return record


# Examples


def of_each(read: Callable[..., Iterable[_T]], sources: Iterable[str], **settings: Any) -> Iterator[_T]:
    """Read sources one after the other: each is a file, a folder, or a corpus of NLTK."""
    return chain.from_iterable(read(source, **settings) for source in sources)


def rooted_sentences(source: str, changes: Any = None, form: Any = None) -> Iterator[Any]:
    """Read dependency trees, and refuse a tree with several roots."""
    from spectral_latent.corpora.sources import tree_entries

    return (entry.rooted().sentence for entry in tree_entries(source, changes, form))


def universal(source: str, changes: Any = None, form: Any = None) -> Iterator[list[tuple[str, str]]]:
    """Read sentences with universal tags, which are made of UPOS tags, or by NLTK of the tags of a corpus."""
    from spectral_latent.corpora import CorpusError, tagged_sentences, universal_tag

    column = "universal" if source.startswith("nltk:") else None
    for sentence in tagged_sentences(source, column, changes=changes, form=form):
        try:
            yield [(word, universal_tag(tag)) for word, tag in sentence]
        except ValueError as error:
            raise CorpusError(f"{source}: {error}") from None
