"""The reference of all commands, docs/commands.md: their help, as `python -m tests.cli.reference` writes it."""

from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from spectral_latent.cli import main

FILE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
BEGINNING = """\
# Commands

The help of each command, as `--help` prints it.

Completion of commands, options and files by the tab key is part of the command:

```sh
eval "$(_SPECTRAL_LATENT_COMPLETE=bash_source spectral-latent)"                  # in ~/.bashrc
eval "$(_SPECTRAL_LATENT_COMPLETE=zsh_source spectral-latent)"                   # in ~/.zshrc
_SPECTRAL_LATENT_COMPLETE=fish_source spectral-latent | source                   # in fish's config.fish
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


def help_of(path: tuple[str, ...]) -> str:
    """Print the help of a command, as a wide terminal shows it."""
    result = CliRunner().invoke(main, [*path, "--help"], prog_name="spectral-latent", terminal_width=110)
    assert result.exit_code == 0
    return result.output


def reference() -> str:
    """Write the reference."""
    parts = [
        f"## spectral-latent {' '.join(path)}".strip() + f"\n\n```text\n{help_of(path)}```\n" for path in commands()
    ]
    return "\n".join([BEGINNING, *parts])


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
