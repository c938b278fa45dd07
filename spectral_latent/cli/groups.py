"""Hold groups of commands."""

from __future__ import annotations

import click

__all__ = ["Commands"]


class Commands(click.Group):
    """A group that lists its commands in the order in which they were added, in the help and in an error."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all commands.

        ctx: the command line.
        """
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command.  Raises UsageError, which lists the commands, for a command that does not exist.

        ctx: the command line.
        args: the words after the name of the group.

        >>> group = Commands("cook", commands={"boil": click.Command("boil"), "fry": click.Command("fry")})
        >>> group.resolve_command(click.Context(group), ["bake"])
        Traceback (most recent call last):
        click.exceptions.UsageError: No such command 'bake'. Give one of boil, fry.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            names = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"No such command {args[0]!r}. Give one of {names}.", ctx) from None
