"""`spectral-latent demo`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from spectral_latent.cli.options import Command
from spectral_latent.cli.outputs import bar, message

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Phrase

_TEXT = "My dog ate the sandwich that I made."
_GARDEN_PATH = "After they won the war ended."
_TAG = "VBD"
_STATES = 4
_TRAINED_ON, _HELD_OUT = 2000, 300  # trees
_NEXT = """
Next: your own text, then your own treebank.
  echo "Time flies like an arrow." | spectral-latent parse en --text
  spectral-latent train constituency TREES -o my.model"""


def demo() -> None:
    """Parse English with a ready model, and train a small parser.

    The training trees come from a small known grammar with latent states.  A plain PCFG and a latent PCFG learn
    from the trees alone.  Both parse other sentences, and so does the known grammar, which no parser can beat.

    \b
    Example:
      spectral-latent demo"""
    from spectral_latent.ready import ready_models

    if any(model.name == "en" for model in ready_models()):
        message("Loading the ready model en")
        for line in _english():
            click.echo(line)
    _train_and_compare()
    click.echo(_NEXT)


def _english() -> Iterator[str]:
    """Show a tree, the surprisal of words, and the states of a tag, all of the model `en`."""
    from spectral_latent.cli.info import states_of_symbols
    from spectral_latent.kinds import load

    model: Any = load("en")
    text, words = ([token.word for token in model.tokenisation.words(text)] for text in (_TEXT, _GARDEN_PATH))
    (parses,) = model.parse_all([text], scored=False)  # whose functions need not be compiled, too
    yield from _drawn(parses[0].tree)
    yield f"\nSurprisal of each word after the words before it, in bits: {_GARDEN_PATH}"
    for word, bits in zip(words, model.surprisal(words).total, strict=True):
        yield f"  {word:<6} {bits:5.1f} {'█' * round(bits)}"
    yield f"\nLatent states of {_TAG}, which nobody annotated, with their likeliest words:"
    ((found, _),) = states_of_symbols(model, (_TAG,), 8)
    states: Any = found[:_STATES]
    for state in states:
        yield f"  {100 * state.share:4.0f} %  {' '.join(word for word, _ in state.words)}"


def _drawn(node: Phrase, indent: str = "") -> Iterator[str]:
    """Draw a tree with a line for each constituent, to the right of the one above it."""
    yield f"{indent}{node.label} {node.children[0]}" if node.is_preterminal() else f"{indent}{node.label}"
    for child in () if node.is_preterminal() else node.children:
        yield from _drawn(cast("Phrase", child), indent + "  ")


def _train_and_compare() -> None:
    """Train a plain and a latent PCFG on trees of the model `toy`, and compare all three."""
    import numpy as np

    from spectral_latent.evaluation import evaluate_parser
    from spectral_latent.kinds import load

    truth: Any = load("toy")
    trees, held_out = (truth.sample(n, np.random.default_rng(seed)) for seed, n in enumerate((_TRAINED_ON, _HELD_OUT)))
    _train(trees[:20])  # compiles the functions whose time is measured below
    click.echo(f"\nNow a parser of a made-up language, trained on {len(trees)} trees; tried on {len(held_out)} others:")
    click.echo(f"{'':<12}{'F1':>8}{'exact':>8}{'training':>12}")
    for name, model, taken in (*_train(trees), ("truth", truth, "-")):
        score = evaluate_parser(model, held_out, progress=partial(bar, label="Parsing")).score
        click.echo(f"{name:<12}{score.f1:>8.1f}{score.exact:>8.1f}{taken:>12}")


def _train(trees: Sequence[Phrase]) -> list[tuple[str, ConstituencyModel, str]]:
    """Train a plain and a spectral model; return their names, and the CPU seconds of each training."""
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare

    start = time.process_time()
    (training,) = prepare(trees, [ConstituencyOptions()])
    coarse = ConstituencyModel((training.coarse,))
    plain = f"{time.process_time() - start:.1f} CPU s"
    latent = ConstituencyModel((training.estimate(),))
    return [("plain PCFG", coarse, plain), ("spectral", latent, f"{time.process_time() - start:.1f} CPU s")]


COMMAND = Command(demo)
