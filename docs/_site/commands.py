"""Write the reference of all commands, the page commands.md of the site: the help of each, as `--help` prints it."""

from collections.abc import Iterator

import click
from click.testing import CliRunner

from spectral_latent.cli import main
from spectral_latent_annotate._commands import main as annotate

__all__ = ["commands", "help_of", "reference"]

_PROGRAMS = {"spectral-latent": main, "spectral-latent-annotate": annotate}
_WIDTH = 86  # columns of the terminal, which a page shows without a scroll bar
_BEGINNING = """\
# Commands

The help of each command, as `--help` prints it.

The tab key completes commands, options and files after one of these lines, for bash, zsh or fish:

```sh
eval "$(_SPECTRAL_LATENT_COMPLETE=bash_source spectral-latent)"
eval "$(_SPECTRAL_LATENT_COMPLETE=zsh_source spectral-latent)"
_SPECTRAL_LATENT_COMPLETE=fish_source spectral-latent | source
```
"""


def commands(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """List all commands, groups among them, each as the words that call it."""
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


def help_of(path: tuple[str, ...], width: int = _WIDTH, program: str = "spectral-latent") -> str:
    """Print the help of a command of a program, as a terminal of that width shows it."""
    result = CliRunner().invoke(
        _PROGRAMS[program], [*path, "--help"], prog_name=program, terminal_width=width, max_content_width=width
    )
    assert result.exit_code == 0, result.output
    return result.output


def reference() -> str:
    """Write the page."""
    parts = [_BEGINNING]
    for program, command in _PROGRAMS.items():
        for path in commands(command):
            title = " ".join([program, *path])
            parts.append(f"## {title}\n\n```text\n{help_of(path, program=program)}```\n")
    return "\n".join(parts)
