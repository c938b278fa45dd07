"""Faults of the library: single changes of one place, of the kinds that people make.

In functions: two operands or indices that change places, another operator or comparison, a factor or term that is left
out, a number that is one more, a condition turned round, left in the place of right, the minimum in that of the
maximum, a text that lacks its last character.  In tables: an entry that is missing, or two neighbours that change
places.  In regular expressions: another class or quantifier, or an end that is not looked for.

What cannot change results is left out: the order of operands where it does not matter, and that of tables whose members
alone are looked for; tables that are read at import, before a fault comes; node 0 as a parent or a right child.
"""

import ast
import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeGuard

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT / "spectral_latent", *sorted((ROOT / "adapters").glob("spectral_latent_*")))

_KINDS = ((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitAnd, ast.BitOr), (ast.And, ast.Or))
_KINDS += ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
_OTHER: dict[type[ast.AST], Any] = {kind: twin for pair in _KINDS for kind, twin in (pair, pair[::-1])}
_OTHER[ast.FloorDiv] = ast.Mult
_PAIRS = ("left right", "first last", "inside outside", "min max", "minimum maximum", "argmin argmax", "any all")
_PAIRS += ("floor ceil",)
_TWINS = {name: twin for pair in map(str.split, _PAIRS) for name, twin in (pair, pair[::-1])}
_BUILT_IN = {"min", "max", "any", "all"}
_EXPRESSIONS = (
    *((r"\+", "*"), (r"\*", "+"), (r"\?", ""), (r"\[\^", "["), (r"(?<!\[)\^", ""), (r"\$", "")),
    *((r"\\d", r"\w"), (r"\\s", r"\w"), (r"\\[wS]", r"\d"), (r"\|", "")),
)  # patterns that occur in regular expressions, and what stands in their place
_TYPE = r"((Literal|TypeVar|Callable)\b|(tuple|list|dict)\[|str \|)"
_SYMMETRIC = re.compile(r"(^|\.)(max|min|maximum|minimum|array_equal|allclose|union1d|intersect1d|gcd)$")
_NEVER_NODE_0 = re.compile(r"^(trees|self)\.(parent|right)(\[.*\])? (>=|<) 0$")  # node 0 is a first leaf
_MEMBERS = {"isinstance", "startswith", "endswith", "suppress", "set", "frozenset"}  # see no order
_NO_RESULT = {"strict", "stacklevel", "figsize", "alpha", "linewidth"}  # of `zip`, of warnings, of pictures
_TEXTUAL = re.compile(r"\.(split|rsplit|startswith|endswith|remove(pre|suf)fix|r?partition|replace|join|[lr]?strip)$")


@dataclass(frozen=True, eq=False)
class Fault:
    """A node of the syntax tree of a module, and what stands in its place.

    `module` is the path from the project's folder, `unit` the function or the assignment that has the fault, and
    `function` the qualified name of the outermost function around it, which is empty for an assignment.
    """

    module: str
    function: str
    tree: ast.Module
    unit: ast.stmt
    node: ast.expr | ast.stmt
    changed: ast.AST

    def put(self) -> None:
        """Change the tree, which keeps the fault."""
        target, changed = self.node, ast.copy_location(self.changed, self.node)

        class Put(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                return changed if node is target else self.generic_visit(node)

        ast.fix_missing_locations(Put().visit(self.tree))

    @property
    def place(self) -> str:
        """The module and the line."""
        return f"{self.module}:{self.node.lineno}"

    @property
    def lines(self) -> tuple[str, str]:
        """The lines that change, and the same lines with the fault, as one line each."""
        assert self.node.end_lineno is not None
        lines = _lines_of(self.module)
        part = "".join(lines[self.node.lineno - 1 : self.node.end_lineno])
        start = len(lines[self.node.lineno - 1].encode()[: self.node.col_offset].decode())
        rest = len(lines[self.node.end_lineno - 1].encode()[self.node.end_col_offset :].decode())
        text = ast.unparse(self.changed)
        if isinstance(self.changed, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp | ast.UnaryOp):
            text = f"({text})"
        return _flat(part), _flat(f"{part[:start]}{text}{part[len(part) - rest :]}")

    @property
    def key(self) -> tuple[str, str, str]:
        """The content that tells the fault from others, wherever in its module it stands."""
        return (self.module, *self.lines)


@cache
def _lines_of(module: str) -> list[str]:
    return (ROOT / module).read_text(encoding="utf-8").splitlines(keepends=True)


def _flat(lines: str) -> str:
    return " ".join(lines.split())


def rooms() -> dict[str, list[str]]:
    """List the modules of each room: a folder of the library, its modules outside folders, or a package on top."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            inside = path.relative_to(folder).parts[:-1]
            room = folder.name.removeprefix("spectral_latent_") if folder != FOLDERS[0] else (*inside, "modules")[0]
            if path.name != "__main__.py":
                found.setdefault(room, []).append(path.relative_to(ROOT).as_posix())
    return {room: modules for room, modules in found.items() if any(map(faults_of, modules))}


def draw(room: str, n: int, seed: int) -> list[Fault]:
    """Draw n faults of a room that are not known to change nothing: a function or table, then a fault of it."""
    rng = random.Random(f"{seed}:{room}")
    modules = tuple(rooms()[room])
    units = [faults for module in modules for faults in faults_of(module)]
    drawn: dict[tuple[str, str, str], Fault] = {}
    for _ in range(20 * n):  # small rooms have fewer faults
        fault = rng.choice(rng.choice(units))
        if fault.key not in equivalents(modules) and len(drawn) < n:
            drawn[fault.key] = fault
    return list(drawn.values())


@cache
def equivalents(modules: tuple[str, ...]) -> dict[tuple[str, str, str], str]:
    """Read the faults of modules that change no result, with reasons; other numbers of some tables are among them."""
    with Path(__file__).with_name("equivalents.toml").open("rb") as file:
        entries = tomllib.load(file)
    known = {}
    for entry in (each for each in entries["fault"] if each["module"] in modules):
        found = [fault.key for fault in chain.from_iterable(faults_of(entry["module"]))]
        wanted = [key for key in found if key[1:] == (entry["before"], entry.get("after", key[2]))]  # or all of a line
        assert wanted, f"{entry['module']}: no fault of {entry['before']}"
        known |= dict.fromkeys(wanted, entry["reason"])
    for group in entries["numbers"]:
        for module in group.keys() & {*modules}:
            known |= {fault.key: group["reason"] for fault in _other_numbers(module, group[module])}
    return known


def _other_numbers(module: str, names: list[str]) -> list[Fault]:
    """List the faults of tables with these names that put other numbers, and of comparisons with them at the limit."""

    def is_number(node: ast.AST) -> bool:
        return isinstance(node, ast.Constant) and isinstance(node.value, int | float)

    found = [
        fault
        for fault in chain.from_iterable(faults_of(module))
        if is_number(fault.changed)
        or (
            isinstance(fault.changed, ast.Tuple)
            and len(fault.changed.elts) > 1
            and all(map(is_number, fault.changed.elts))
        )
        if is_table(fault.unit) and names_of(fault.unit).intersection(names)
    ]
    limits = [fault for fault in chain.from_iterable(faults_of(module)) if _is_at_limit(fault, names)]
    named = {name for fault in found if is_table(fault.unit) for name in names_of(fault.unit)}
    assert named.issuperset(names), f"{module}: no other numbers of {set(names) - named}"
    return found + limits


def _is_at_limit(fault: Fault, names: list[str]) -> bool:
    """Tell whether a fault is `<=` in place of `<`, or the like, in a comparison with one of some names."""
    match fault.node, fault.changed:
        case ast.Compare(left, [ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], [right]), ast.Compare():
            return any(isinstance(side, ast.Name) and side.id in names for side in (left, right))
    return False


@cache
def faults_of(module: str) -> list[list[Fault]]:
    """List the faults of each function and each table of a module that can have any."""
    tree = ast.parse("".join(_lines_of(module)))
    units = [*_functions(tree, ""), *(("", node) for node in tree.body if is_table(node) and _is_read(node, tree))]
    faults = [
        [
            Fault(module, function, tree, unit, node, changed)
            for node in _parts(unit)
            for changed in _changes(node, unit)
            if ast.dump(node) != ast.dump(changed)  # two equal arguments that change places are no fault
        ]
        for function, unit in units
    ]
    return [each for each in faults if each]


def _functions(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """List the functions of a module or a class, and those in them, with the names of the outermost ones."""
    for node in parent.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield from ((prefix + node.name, each) for each in ast.walk(node) if isinstance(each, ast.FunctionDef))


def is_table(node: ast.stmt) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    """Tell whether a statement gives a value to a name that matters to results."""
    # Types stay in the classes that use them.
    is_other = re.match(rf"_log |__|\w+ = {_TYPE}|\w+: TypeAlias", ast.unparse(node))
    return isinstance(node, ast.Assign | ast.AnnAssign) and not is_other


def _has_order(table: ast.stmt) -> bool:
    """Tell whether a function does more with a table than to ask for its members."""
    uses = [kind for name in names_of(table) for kind in _uses()[name]]
    return not uses or "member" not in uses or "other" in uses


def _is_read(table: ast.stmt, tree: ast.Module) -> bool:
    """Tell whether a function reads a table, or one made of it; others are read at import, before a fault comes."""
    names = names_of(table)
    for node in filter(is_table, tree.body):
        if names & {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
            names |= names_of(node)
    return not names.isdisjoint(_uses())


@cache
def _uses() -> dict[str, set[str]]:
    """List the names and attributes in the bodies of functions, and what they are used for: "member" or "other"."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in (path for folder in FOLDERS for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for node in (part for function in functions for statement in function.body for part in ast.walk(statement)):
            members: list[ast.expr | None] = []
            match node:
                case ast.Compare(ops=[ast.In() | ast.NotIn()]):
                    members = node.comparators
                case ast.ExceptHandler():
                    members = [node.type]
                case ast.Call() if ast.unparse(node.func).rpartition(".")[2] in _MEMBERS:
                    members = node.args[-1:]
            for child in ast.iter_child_nodes(node):
                name = getattr(child, "id", getattr(child, "attr", ""))
                found[name].add("member" if child in members else "other")
    return found


def names_of(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """List the names that an assignment binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _parts(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """List the parts of a unit that may change: no types, messages, docstrings or inner functions."""
    if isinstance(node, ast.FunctionDef):
        children: list[ast.AST] = list(node.body)
    elif isinstance(node, ast.AnnAssign):
        children = [node.target, *([node.value] if node.value else [])]
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        is_check = isinstance(child, ast.keyword) and child.arg in _NO_RESULT
        if (
            not is_text
            and not is_check
            and not isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.FunctionDef)
        ):
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            if isinstance(child, ast.Compare) and _NEVER_NODE_0.match(ast.unparse(child)):
                child = child.left
            is_length = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("reshape")
            if not (is_length and ast.unparse(child) == "-1"):  # NumPy finds a length for any negative number
                yield from _parts(child)


def _changes(node: ast.AST, unit: ast.stmt) -> Iterator[ast.AST]:
    """List what may stand in the place of a part of a unit."""
    match node:
        case ast.BinOp(left, operator, right):
            if type(operator) in _OTHER:
                yield _with(node, op=_OTHER[type(operator)]())
            if isinstance(operator, ast.Sub | ast.Div | ast.MatMult):
                yield _with(node, left=right, right=left)
            if isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield left
            if isinstance(operator, ast.Add | ast.Mult):
                yield right
        case ast.AugAssign(op=operator):
            if type(operator) in _OTHER:
                yield _with(node, op=_OTHER[type(operator)]())
            yield ast.Pass()
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.BoolOp(op=connective):
            yield _with(node, op=_OTHER[type(connective)]())
        case ast.Compare(ops=[comparison], comparators=[other]) if not _NEVER_NODE_0.match(ast.unparse(node)):
            yield _with(node, ops=[_OTHER[type(comparison)]()])
            if isinstance(other, ast.Constant) and isinstance(other.value, str):
                yield _with(node, comparators=[ast.Constant(other.value[:-1] or "x")])
        case ast.IfExp(body=body, orelse=other):
            yield _with(node, body=other, orelse=body)
        case ast.Subscript(slice=ast.Tuple([first, second, *rest]) as index) if isinstance(unit, ast.FunctionDef):
            yield _with(node, slice=_with(index, elts=[second, first, *rest]))
        case ast.Dict(keys, values) if len(keys) > 1:
            for at in range(len(keys)):
                yield ast.Dict(keys[:at] + keys[at + 1 :], values[:at] + values[at + 1 :])
                if at:
                    yield ast.Dict(keys, [*values[: at - 1], values[at], values[at - 1], *values[at + 1 :]])
        case ast.Set(entries) | ast.List(entries) | ast.Tuple(entries, ast.Load()) if len(
            entries
        ) > 1 and not isinstance(unit, ast.FunctionDef):
            for at in range(len(entries)):
                yield _with(node, elts=entries[:at] + entries[at + 1 :])
                if at and not isinstance(node, ast.Set) and _has_order(unit):
                    yield _with(node, elts=[*entries[: at - 1], entries[at], entries[at - 1], *entries[at + 1 :]])
        case ast.Call(func, [ast.Constant(str() as text), *rest]) if _TEXTUAL.search(ast.unparse(func)):
            yield _with(node, args=[ast.Constant(text[:-1] or "x"), *rest])
        case ast.Call(func, [ast.Constant(str() as text), *rest]) if ast.unparse(func).startswith(("re.", "regex.")):
            for pattern, other in _EXPRESSIONS:
                for found in re.finditer(rf"(?<!\\){pattern}", text):
                    changed = text[: found.start()] + other + text[found.end() :]
                    if _is_expression(changed):
                        yield _with(node, args=[ast.Constant(changed), *rest])
        case ast.Call(args=[ast.Name() as first, ast.Name() as second, *rest]) if ast.unparse(
            node.func
        ) != "isinstance" and not _SYMMETRIC.search(ast.unparse(node.func)):
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
        case ast.Name(name, ast.Load()) if name in _TWINS and _TWINS[name] in _names(unit):
            yield _with(node, id=_TWINS[name])


def _is_expression(text: str) -> bool:
    try:
        return bool(re.compile(text))
    except re.error:
        return False


def _with(node: ast.AST, **changes: object) -> ast.AST:
    """Copy a node with other fields."""
    return type(node)(**dict(ast.iter_fields(node)) | changes)


def _names(unit: ast.stmt) -> set[str]:
    """List the names that a unit can use in the place of others: its own, and the built-in ones."""
    arguments = unit.args.args if isinstance(unit, ast.FunctionDef) else []
    own = {node.id for node in ast.walk(unit) if isinstance(node, ast.Name)}
    return own | {argument.arg for argument in arguments} | _BUILT_IN
