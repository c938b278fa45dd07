"""Hold commands that never write what they read, and groups of commands."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import click

from spectral_latent.cli.outputs import LEFT, refuse_inputs

__all__ = ["Command", "Commands"]


class Command(click.Command):
    """A command that never writes a file that it reads."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless a file to write is also a file to read."""
        refuse_inputs(ctx)
        return super().invoke(ctx)


class Commands(click.Group):
    """A group that lists its commands in the order in which they were added, in the help and in an error."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for one that does not exist names similar commands, or all."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args[0] in LEFT:
                raise click.UsageError(f"The command {args[0]!r} left; {LEFT[args[0]]}", ctx) from None
            names = self.list_commands(ctx)
            alike = get_close_matches(args[0], names)
            remedy = f"Did you mean {' or '.join(alike)}?" if alike else f"Give one of {', '.join(names)}."
            raise click.UsageError(f"No such command {args[0]!r}. {remedy}", ctx) from None
