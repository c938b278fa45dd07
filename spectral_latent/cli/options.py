"""Make commands of functions: positional parameters are arguments, keywords are options, and docstrings are help.

An annotation tells how an option reads its value.  What several commands share is declared once, below; the docstring
of a function has a line for each option of its own.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import click

from spectral_latent.cli.outputs import OutputFile, be_quiet, refuse_inputs


class Value(NamedTuple):
    """How an option or argument reads its value: its help, type, name in usage, and names on the command line."""

    help: str = ""
    type: "click.ParamType[Any] | None" = None  # a class without parameters in click 8.2
    metavar: str | None = None
    names: tuple[str, ...] = ()


# Types of values

_Format = Literal["brackets", "penn", "historical", "conllu", "tagged", "json", "tokens", "text"]
_AT_LEAST_ONE = click.IntRange(1)

Count: TypeAlias = Annotated[int, Value(type=_AT_LEAST_ONE, metavar="N")]
Seed: TypeAlias = Annotated[int, Value("The seed of random starts.", click.IntRange(0), "N")]
Jobs: TypeAlias = Annotated[
    int, Value("The number of threads or processes; it does not change the result.", _AT_LEAST_ONE, "N")
]
Files: TypeAlias = Annotated[tuple[str, ...], Value(metavar="[FILE]...")]
Sources: TypeAlias = Annotated[tuple[str, ...], Value(metavar="SOURCE...")]
InputFormat: TypeAlias = Annotated[_Format | None, Value("The format of FILE.  [default: guessed]")]
SourceFormat: TypeAlias = Annotated[_Format | None, Value("The format of input files.  [default: guessed]")]
FromText: TypeAlias = Annotated[bool, Value("FILE is raw text: divide it into sentences and words.")]
SkipBad: TypeAlias = Annotated[bool, Value("Leave out trees in brackets that cannot be read, and count them.")]
AsJson: TypeAlias = Annotated[bool, Value("Print JSON, one object per line.")]
Output: TypeAlias = Annotated[
    Any,
    Value(
        "The file to write, whole or not at all: JSON if its name ends in .jsonl, compressed if in .gz.",
        OutputFile(),
        "FILE",
        ("-o", "--output"),
    ),
]
Limit: TypeAlias = Annotated[
    tuple[str, ...],
    Value("The most words, CPU seconds or megabytes per sentence.  [default: as in MODEL]", None, "NAME=N"),
]

SOURCES = "of trees: brackets (*.mrg ...), a file or folder, or nltk:NAME, a treebank of NLTK."
DEPENDENCY_SOURCES = "of dependency trees: CoNLL-U or CoNLL-X, a file or folder, or nltk:NAME."
TAGGED_SOURCES = "of tags: a table as CoNLL-U, or lines of the/DT dog/NN, a file or folder, or nltk:NAME."
TEXT_SOURCES = "of sentences: the same, or lines of tokens in *.tok or *.txt."
PARTS = "A part of a corpus is nltk:NAME:train, :dev or :test."


# Commands


class Command(click.Command):
    """A command that is made of a function, and that never writes a file that it reads.

    function: the command; its keywords are options, and so are those of the functions of `kinds`, of which it is given
    only those that stand on the command line.
    text: the docstring that is the help, if it is not that of the function.
    sources: what SOURCE, GOLD or LISTS may be, for the end of the help."""

    def __init__(
        self,
        function: Callable[..., None],
        kinds: Mapping[str, Callable[..., Any]] | None = None,
        *,
        name: str = "",
        text: str | None = None,
        sources: tuple[str, ...] = (),
    ) -> None:
        self.kinds = kinds or {}
        self._of_kinds: set[str] = set()
        params: dict[str, click.Parameter] = {}
        for each in (function, *self.kinds.values()):
            for param in _parameters(each, has_arguments=each is function):
                params.setdefault(str(param.name), param)
                if each is not function:
                    self._of_kinds.add(str(param.name))
        text_of_quiet = "Print no messages or progress bars."
        quiet = click.Option(["--quiet", "-q"], is_flag=True, expose_value=False, callback=be_quiet, help=text_of_quiet)
        super().__init__(
            name or function.__name__,
            callback=function,
            params=[*params.values(), quiet],
            help=_help_lines(text or function.__doc__)[0],
            epilog="\n".join(["\b", *sources]) if sources else None,
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless a file to write is also a file to read."""
        refuse_inputs(ctx)
        for name in self._of_kinds:
            if ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT:
                del ctx.params[name]
        return super().invoke(ctx)


def function_for(kind: str, name: str, given: Mapping[str, Any]) -> Callable[..., Any]:
    """Find the function of the running command for a kind of model.  Raises UsageError for options of other kinds.

    given: the options of kinds that stand on the command line."""
    from spectral_latent.kinds import KINDS, usual_kind

    kinds = click.get_current_context().command.kinds  # type: ignore[attr-defined]
    usual = usual_kind(kind)
    if wrong := given.keys() - inspect.signature(kinds[usual]).parameters.keys():
        option = min(wrong)
        able = [KINDS[each].name for each in kinds if option in inspect.signature(kinds[each]).parameters]
        raise click.UsageError(f"{option_name(option)} is for {' or '.join(able)}, and {name} is {KINDS[usual].name}")
    return kinds[usual]  # type: ignore[no-any-return]


def option_name(name: str) -> str:
    """Write the name of a parameter as that of an option, `from_` as `--from`."""
    return f"--{name.rstrip('_').replace('_', '-')}"


def _help_lines(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Divide a docstring into the help of a command, and the lines `name: text` of its parameters."""
    line = re.compile(r"^(\w+): (.+(?:\n +.+)*)\n?", re.MULTILINE)
    text = inspect.cleandoc(docstring or "")
    return line.sub("", text), {name: " ".join(text.split()) for name, text in line.findall(text)}


def _parameters(function: Callable[..., Any], has_arguments: bool) -> list[click.Parameter]:
    """Make an option of each keyword of a function, and an argument of each other parameter."""
    _, lines = _help_lines(function.__doc__)
    keyword, positional = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    kinds = {keyword, positional} if has_arguments else {keyword}
    wanted = [each for each in inspect.signature(function).parameters.values() if each.kind in kinds]
    # Only these annotations are looked up: those of models are for type checkers alone.
    holder = type("", (), {"__annotations__": {each.name: each.annotation for each in wanted}})
    holder.__module__ = function.__module__
    hints = get_type_hints(holder, include_extras=True)
    return [_parameter(each, hints[each.name], lines.get(each.name, "")) for each in wanted]


def _parameter(parameter: inspect.Parameter, hint: Any, line: str) -> click.Parameter:
    """Make an option or an argument; one without a default is required."""
    value = Value()
    # Take the annotation apart: its type without None, of a tuple that of its items, and how values are read.
    is_multiple = False
    while (origin := get_origin(hint)) is Annotated or origin is tuple or NoneType in get_args(hint):
        if origin is Annotated:
            hint, value = get_args(hint)[:2]
        elif origin is tuple:
            hint, is_multiple = get_args(hint)[0], True
        else:
            (hint,) = (part for part in get_args(hint) if part is not NoneType)
    is_required = parameter.default is parameter.empty
    settings: dict[str, Any] = {"required": True} if is_required else {"default": parameter.default}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        nargs = -1 if is_multiple else 1
        settings |= {"required": is_required}
        if is_multiple and not is_required:  # such arguments have no default in click 8.2
            settings["callback"] = lambda _context, _argument, given: given or parameter.default
            del settings["default"]
        return click.Argument([parameter.name], type=value.type, metavar=value.metavar, nargs=nargs, **settings)
    if hint is bool:
        settings["is_flag"] = True
    else:
        metavar = value.metavar or (parameter.name.rstrip("_").upper() if hint is str else None)
        kind = click.Choice(get_args(hint)) if get_origin(hint) is Literal else value.type
        settings |= {"type": kind, "metavar": metavar, "multiple": is_multiple}
    if not is_required:
        settings["show_default"] = parameter.default not in (None, ()) and parameter.default is not False
    text = line or value.help
    names = [*(value.names or (option_name(parameter.name),)), parameter.name]
    return click.Option(names, help=text[:1].upper() + text[1:], **settings)
