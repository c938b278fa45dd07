"""`spectral-latent info`."""

from __future__ import annotations

import json
from typing import Any

import click

from spectral_latent._texts import printable
from spectral_latent.cli.options import json_option

__all__ = ["info"]


@click.command()
@click.argument("model")
@json_option
def info(model: str, as_json: bool) -> None:
    """Show what is in a model file.

    The output is a table with the kind of the model, its sizes, labels, tags or anchors, the options that differ from
    the defaults, and the record of `train`: the command, what was read, and the figures of --dev.  With --json, all
    lists are complete, and all options are given.

    \b
    Examples:
      spectral-latent info wsj.model
      spectral-latent info wsj.model --json"""
    description, summary = _descriptions(model)
    click.echo(json.dumps(description, ensure_ascii=False) if as_json else _table(summary))


def _descriptions(file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the description of a model, and its summary."""
    from spectral_latent._options import counted
    from spectral_latent.files import open_model
    from spectral_latent.ready import find_model
    from spectral_latent.tasks.kinds import make_model
    from spectral_latent.tasks.training import record_of

    record = record_of(file) or {}
    with open_model(file) as (arrays, settings):
        facts = {"library": settings["library"], "bytes": find_model(file).stat().st_size}
        if settings["kind"] == "reranker":
            # A reranker can be made only together with its latent models, which are in other files.
            sizes = counted(len(arrays["choice.weights"]), "feature")
            options = settings["choice"]["options"]
            own = {"kind": "reranker", "sizes": sizes, "options": options, "models": settings["models"]}
            summary = {name: _text(value) for name, value in own.items()}
        else:
            model = make_model(arrays, settings)
            own = {**model.description, "fingerprint": model.fingerprint}
            summary = {**model.summary, "fingerprint": model.fingerprint}
    further = {**facts, **record}
    return {**own, **further}, summary | {name: _text(value) for name, value in further.items()}


def _text(value: Any) -> str:
    """Write a fact on a line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return "-" if value is None else str(value)


def _table(summary: dict[str, str]) -> str:
    """Write a line for each fact."""
    return "\n".join(f"{printable(name):<12} {printable(text)}" for name, text in summary.items())
