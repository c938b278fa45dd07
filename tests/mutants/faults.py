"""Faults of the library: single changes of an expression or a statement, of the kinds that people make.

Two operands or indices that change places, another operator or comparison, a factor or term that is left out, a number
that is one more, a condition turned round, left in the place of right, the minimum in that of the maximum.
"""

from __future__ import annotations

import ast
import random
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "spectral_latent"
# The rooms that compute something, each with the tests beyond its own that must catch its faults.
ROOMS = {
    "trees": ("tests/theorems",),
    "operators": ("tests/inference",),
    "inference": (),
    "estimation": (),
    "lexicon": (),
    "model": ("tests/grammar", "tests/constituency/test_model.py"),
    "grammar": ("tests/constituency",),
    "sequence": (),
    "constituency": (),
    "dependency": (),
    "anchors": ("tests/cli/test_anchors.py",),
    "reranking": (),
    "evaluation": (),
}
# Modules without mathematics: damage to files has tests of another kind, and options are declarations.
_LEFT_OUT = {
    "__init__.py",
    "options.py",
    "_options.py",
    "presets.py",
    "drawing.py",
}

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_PAIRS = (
    ("left", "right"),
    ("first", "last"),
    ("inside", "outside"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
)
_TWINS = {name: twin for pair in _PAIRS for name, twin in (pair, pair[::-1])}
_BUILT_IN = {"min", "max", "any", "all"}


class Fault(NamedTuple):
    """A change of one place in a module.

    module: the file, from the project's folder.
    line: the number of the first line that changes.
    function: the number of the first line of its function, that of a decorator if there is one.
    before: the lines that change, without indentation.
    after: the same lines with the fault.
    text: the whole module with the fault.
    """

    module: str
    line: int
    function: int
    before: str
    after: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """The content that tells the fault from others, wherever in its module it stands."""
        return self.module, self.before, self.after


def draw(room: str, n: int, seed: int) -> list[Fault]:
    """Draw faults of a room that are not known to change nothing: a function, then a fault of this function.

    room: the name of the room.
    n: the number of faults.
    seed: the seed of the choice.
    """
    rng = random.Random(f"{seed}:{room}")
    functions = [faults for module in modules(room) for faults in faults_of(module)]
    known = equivalents()
    drawn: dict[tuple[str, str, str], Fault] = {}
    while len(drawn) < n:
        fault = rng.choice(rng.choice(functions))
        if fault.key not in known:
            drawn[fault.key] = fault
    return list(drawn.values())


def modules(room: str) -> list[str]:
    """List the modules of a room that have faults, as paths from the project's folder.

    room: the name of the room.
    """
    paths = sorted((ROOT / PACKAGE / room).glob("*.py"))
    return [path.relative_to(ROOT).as_posix() for path in paths if path.name not in _LEFT_OUT]


def equivalents() -> dict[tuple[str, str, str], str]:
    """Read the faults that change no result, and the reason for each."""
    with Path(__file__).with_name("equivalents.toml").open("rb") as file:
        entries = tomllib.load(file)["fault"]
    return {(entry["module"], entry["before"], entry["after"]): entry["reason"] for entry in entries}


@cache
def faults_of(module: str) -> list[list[Fault]]:
    """List the faults of each function of a module that can have any.

    module: the file, from the project's folder.
    """
    source = (ROOT / module).read_text(encoding="utf-8")
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    faults = [
        [
            _fault(module, source, function, node, changed)
            for node in _parts(function)
            for changed in _changes(node, function)
            if ast.dump(node) != ast.dump(changed)  # two equal arguments that change places are no fault
        ]
        for function in functions
    ]
    return [each for each in faults if each]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """List the parts of a function that may change: no types, messages, docstrings or inner functions."""
    if isinstance(node, ast.FunctionDef):
        children: list[ast.AST] = list(node.body)
    elif isinstance(node, ast.AnnAssign):
        children = [node.target, *([node.value] if node.value else [])]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not is_text and not isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.FunctionDef):
            yield child
            yield from _parts(child)


def _changes(node: ast.AST, function: ast.FunctionDef) -> Iterator[ast.AST]:
    """List what may stand in the place of a part of a function.

    node: the part.
    function: the function.
    """
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in _OPERATORS:
                yield _with(node, op=_OPERATORS[type(operator)]())
            if isinstance(operator, ast.Sub | ast.Div | ast.MatMult):
                yield _with(node, left=right, right=left)
            if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield left
            if isinstance(operator, ast.Add | ast.Mult):
                yield right
        case ast.AugAssign(op=operator):
            if type(operator) in _OPERATORS:
                yield _with(node, op=_OPERATORS[type(operator)]())
            yield ast.Pass()
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BoolOp(op=connective):
            yield _with(node, op=ast.Or() if isinstance(connective, ast.And) else ast.And())
        case ast.Compare(ops=[comparison]):
            yield _with(node, ops=[_COMPARISONS[type(comparison)]()])
        case ast.IfExp(body=body, orelse=other):
            yield _with(node, body=other, orelse=body)
        case ast.Subscript(slice=ast.Tuple([first, second, *rest]) as index):
            yield _with(node, slice=_with(index, elts=[second, first, *rest]))
        case ast.Call(args=[ast.Name() as first, ast.Name() as second, *rest]) if (
            ast.unparse(node.func) != "isinstance"
        ):
            yield _with(node, args=[second, first, *rest])
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(float() as value):
            yield ast.Constant(2 * value or 1.0)
        case ast.Constant(str() as value) if value in _TWINS:
            yield ast.Constant(_TWINS[value])
        case ast.Attribute(attr=name) if name in _TWINS:
            yield _with(node, attr=_TWINS[name])
        case ast.Name(name, ast.Load()) if name in _TWINS and _TWINS[name] in _names(function):
            yield _with(node, id=_TWINS[name])


def _with(node: ast.AST, **changes: object) -> ast.AST:
    """Copy a node with other fields."""
    return type(node)(**dict(ast.iter_fields(node)) | changes)


def _names(function: ast.FunctionDef) -> set[str]:
    """List the names that a function can use in the place of others: its own, and the built-in ones."""
    own = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return own | {argument.arg for argument in function.args.args} | _BUILT_IN


def _fault(module: str, source: str, function: ast.FunctionDef, node: ast.AST, changed: ast.AST) -> Fault:
    """Put a changed part of a function into the text of a module."""
    assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno is not None
    lines = source.splitlines(keepends=True)
    first, end = node.lineno - 1, node.end_lineno
    part = "".join(lines[first:end])
    start = len(lines[first].encode()[: node.col_offset].decode())
    rest = len(lines[end - 1].encode()[node.end_col_offset :].decode())
    text = ast.unparse(changed)
    if isinstance(changed, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.UnaryOp):
        text = f"({text})"
    after = f"{part[:start]}{text}{part[len(part) - rest :]}"
    whole = "".join([*lines[:first], after, *lines[end:]])
    begin = min(part.lineno for part in (function, *function.decorator_list))
    return Fault(module, node.lineno, begin, _flat(part), _flat(after), whole)


def _flat(lines: str) -> str:
    """Write lines as one, with single spaces."""
    return " ".join(lines.split())
