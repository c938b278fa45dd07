"""The command `spectral-latent`: each module with a COMMAND is a command.

Packages on top make commands of their own from the same parts.
"""

from spectral_latent._names import counted
from spectral_latent.cli.answers import asks_for_json
from spectral_latent.cli.command import CommandGroup, main, run
from spectral_latent.cli.inputs import load_for, of_each
from spectral_latent.cli.options import (
    SOURCES,
    AsJson,
    Command,
    Count,
    Files,
    FromText,
    InputFormat,
    Jobs,
    Output,
    SkipBad,
    SourceFormat,
    Sources,
    Value,
)
from spectral_latent.cli.outputs import message, results, table
from spectral_latent.cli.sentences import read_sentences, read_text, tell_of_tags

__all__ = [
    "SOURCES",
    "AsJson",
    "Command",
    "CommandGroup",
    "Count",
    "Files",
    "FromText",
    "InputFormat",
    "Jobs",
    "Output",
    "SkipBad",
    "SourceFormat",
    "Sources",
    "Value",
    "asks_for_json",
    "counted",
    "load_for",
    "main",
    "message",
    "of_each",
    "read_sentences",
    "read_text",
    "results",
    "run",
    "table",
    "tell_of_tags",
]
