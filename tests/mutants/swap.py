"""Put a fault into the modules of this process, which has imported them, without a change of files.

Functions get other code, and tables another value wherever they are imported.  Compiled functions that a fault concerns
are replaced by the Python functions that they are made from, which are slower, and are not compiled again.
"""

import ast
import gc
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import _lru_cache_wrapper, cache, wraps
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from spectral_latent._compiled import _Whole
from tests.mutants.faults import FOLDERS, ROOT, Fault, is_table, names_of

Place: TypeAlias = tuple[str, str]  # the file of a function from the project's folder, and its qualified name


def place_of(code: CodeType) -> Place:
    """Name the function of a piece of code, or the one around it."""
    return code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname.partition(".<locals>")[0]


class Library:
    """The functions and modules of the library that this process has imported."""

    def __init__(self) -> None:
        self.modules = [
            module
            for name, module in list(sys.modules.items())
            if isinstance(module, ModuleType) and name.partition(".")[0] in {*(path.name for path in FOLDERS), "tests"}
        ]
        self.functions: defaultdict[Place, list[FunctionType]] = defaultdict(list)
        self._caches = []
        gc.unfreeze()
        for function in gc.get_objects():
            if isinstance(function, _lru_cache_wrapper):
                self._caches.append(function)
            elif isinstance(function, FunctionType) and function.__code__.co_filename.startswith(f"{ROOT}/"):
                self.functions[place_of(function.__code__)].append(function)
        self.compiled = {
            value for module in self.modules for value in vars(module).values() if isinstance(value, _Whole)
        }
        self._called_by: defaultdict[Place, set[Place]] = defaultdict(set)
        for place, functions in self.functions.items():
            for called in {called for function in functions for called in self._names(function)}:
                self._called_by[called].add(place)

    def _names(self, function: FunctionType) -> Iterator[Place]:
        """List the functions that another one calls by a global name."""
        for name in _names_in(function.__code__):
            value = function.__globals__.get(name)
            value = value._function if isinstance(value, _Whole) else value
            if isinstance(value, FunctionType) and value.__code__.co_filename.startswith(f"{ROOT}/"):
                yield place_of(value.__code__)

    def concerned(self, fault: Fault) -> tuple[set[Place], set[Any]]:
        """Find the Python functions that a fault concerns, and the compiled functions that it concerns.

        They have the fault, use its table, or call a compiled function that does.
        """
        if is_table(fault.unit):
            names, own = names_of(fault.unit), vars(self.module(fault))
            for node in filter(is_table, fault.tree.body):  # and the tables that are made of it
                if names & {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
                    names |= names_of(node)
            places = {
                place
                for place, functions in self.functions.items()
                for function in functions
                for name in names.intersection(_names_in(function.__code__))
                if function.__globals__.get(name, own[name]) is own[name]  # or an attribute of that name
            }
        else:
            places = {(fault.module, fault.function)}
        within = set(places)  # everything that has the fault within its compiled code, if it is compiled
        waiting = list(places)
        while waiting:
            for place in self._called_by[waiting.pop()] - within:
                within.add(place)
                waiting.append(place)
        compiled = {each for each in self.compiled if place_of(each._function.__code__) in within}
        of_compiled = {place_of(each._function.__code__) for each in compiled}
        return places.union(*(self._called_by[place] for place in of_compiled)), compiled

    def module(self, fault: Fault) -> ModuleType:
        """Find the module of a fault."""
        file = str(ROOT / fault.module)
        return next(module for module in self.modules if module.__file__ == file)

    def forget(self) -> None:
        """Forget what functions have kept, so that they compute it again."""
        for kept in self._caches:
            kept.cache_clear()

    def interpret(self, compiled: set[Any]) -> None:
        """Replace compiled functions by the Python functions that they are made from, which warn no more than they.

        What other functions have kept is forgotten.
        """

        @cache
        def plain(function: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(function)
            def called(*arguments: Any) -> Any:
                with np.errstate(all="ignore"):
                    return function(*arguments)

            return called

        self.forget()
        for module in self.modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, _Whole) and value in compiled:
                    setattr(module, name, plain(value._function))

    def put(self, fault: Fault) -> None:
        """Change the functions or the values that have a fault.  Raises ImportError if a new value has an error."""
        before = list(_pieces(fault.tree, fault.module))
        fault.put()
        is_put = is_table(fault.unit)
        for old, new in zip(before, _pieces(fault.tree, fault.module), strict=True):
            for function in self.functions[place_of(old)] if old != new else ():
                code = function.__code__
                is_same = (code.co_qualname, code.co_firstlineno) == (old.co_qualname, old.co_firstlineno)
                if is_same and len(old.co_freevars) == len(new.co_freevars):
                    function.__code__ = new
                    is_put = True
        if not is_put:
            raise RuntimeError(f"{fault.module}: no function is {fault.function}")
        namespace = vars(self.module(fault))
        changed: set[str] = set()
        for node in filter(is_table, fault.tree.body):  # the one that has the fault, and those made of it
            if node is fault.unit or changed & {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
                own = {name: namespace[name] for name in names_of(node)}
                code = compile(ast.Module([node], []), str(ROOT / fault.module), "exec")
                try:
                    exec(code, namespace)
                except Exception as error:
                    raise ImportError(f"{fault.module} cannot be imported") from error
                changed |= own.keys()
                for module in self.modules:
                    vars(module).update(
                        {name: namespace[name] for name, value in own.items() if vars(module).get(name) is value}
                    )


def _names_in(code: CodeType) -> Iterator[str]:
    """List the names that a function and the functions in it use."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names_in(part)


def _pieces(tree: ast.Module, module: str) -> Iterator[CodeType]:
    """Compile a module, and list the code of its functions, those within others too."""
    waiting = [compile(tree, str(ROOT / module), "exec", dont_inherit=True)]
    while waiting:
        for part in waiting.pop().co_consts:
            if isinstance(part, CodeType) and part.co_flags & inspect.CO_OPTIMIZED:
                yield part
            if isinstance(part, CodeType):
                waiting.append(part)
