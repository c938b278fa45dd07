"""The sources follow the rules of the house: imports, public names, unused names, docstrings and comments."""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests import conftest

ROOT = Path(__file__).resolve().parents[1]
ADAPTERS = (
    "spectral_latent_annotate",
    "spectral_latent_nltk",
    "spectral_latent_sklearn",
    "spectral_latent_spacy",
    "spectral_latent_text",
)
PACKAGES = {"spectral_latent": ROOT / "spectral_latent"} | {name: ROOT / "adapters" / name for name in ADAPTERS}
UNSAFE_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "marshal", "shelve"}
UNSAFE_CALLS = {"eval", "exec", "joblib.dump", "joblib.load"}


def _module_name(package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join((package, *parts)).removesuffix(".__init__")


SOURCES = {
    _module_name(package, path): path for package, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))
}
IN_ROOMS = [module for module in SOURCES if module.startswith("spectral_latent.")]
ADAPTED = [module for module in SOURCES if module.partition(".")[0] in ADAPTERS]
IMPORTABLE = [module for module in SOURCES if not module.endswith(".__main__")]


@cache
def _parse(module: str) -> ast.Module:
    return ast.parse(SOURCES[module].read_text(encoding="utf-8"))


@cache
def _nodes(module: str) -> list[ast.AST]:
    return list(ast.walk(_parse(module)))


def _imports(module: str) -> Iterator[str]:
    """List the dotted names that a module imports; `from a import b` imports a.b, and relative names are resolved."""
    package = module.split(".") if SOURCES[module].name == "__init__.py" else module.split(".")[:-1]
    for node in _nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{prefix}.{alias.name}" for alias in node.names)


def _room(name: str) -> str:
    """Return the room of a module, `trees` for spectral_latent.trees.symbols; empty for the package itself."""
    return name.partition(".")[2].partition(".")[0]


def test_imports_only_from_rooms_before() -> None:
    for module in IN_ROOMS:
        room = _room(module)
        assert room in ROOMS, f"{module} is in no known room"
        allowed = ROOMS[: ROOMS.index(room) + 1]
        own = [name for name in _imports(module) if name.split(".")[0] in PACKAGES]
        assert [name for name in own if name.split(".")[0] != "spectral_latent" or _room(name) not in allowed] == [], (
            module
        )


def test_no_modules_import_each_other() -> None:
    """Imports for types alone count, too."""
    imported = {module: {_module_of(name) for name in _imports(module)} - {module} for module in IN_ROOMS}
    sorter = TopologicalSorter({module: others & imported.keys() for module, others in imported.items()})
    sorter.prepare()


def _module_of(name: str) -> str:
    """Return the module of an imported name: the name itself, or its package."""
    return name if name in SOURCES else name.rpartition(".")[0]


def test_only_the_reader_of_its_corpora_imports_nltk() -> None:
    """And only for corpora whose files the library cannot read itself; all else is in `spectral_latent_nltk`."""
    importing = [module for module in IN_ROOMS if any(name.partition(".")[0] == "nltk" for name in _imports(module))]
    assert importing == ["spectral_latent.corpora._nltk"]


def _public_names(tree: ast.Module, is_package: bool) -> Iterator[str]:
    """List names without a leading underscore that a module defines, or that a package's `__init__` imports."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case ast.Assign(targets=targets):
                names = [leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.ImportFrom(module=source, names=aliases) if is_package and source != "__future__":
                names = [alias.asname or alias.name for alias in aliases]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def test_rooms_list_names_that_exist_and_their_modules_list_none() -> None:
    """`__all__` of a room tells what is public; within a room, names with an underscore are those of one module."""
    for module in IMPORTABLE:
        public = set(_public_names(_parse(module), SOURCES[module].name == "__init__.py"))
        imported = importlib.import_module(module)
        is_room = SOURCES[module].name == "__init__.py" or (module.count(".") == 1 and module not in ADAPTED)
        assert hasattr(imported, "__all__") == is_room or not public, f"{module}: __all__ is for rooms"
        assert [name for name in getattr(imported, "__all__", ()) if not hasattr(imported, name)] == [], module


def test_no_two_classes_have_one_name() -> None:
    modules_of: dict[str, list[str]] = {}
    for module in SOURCES:
        for node in _nodes(module):
            if isinstance(node, ast.ClassDef):
                modules_of.setdefault(node.name, []).append(module)
    assert {name: modules for name, modules in modules_of.items() if len(modules) > 1} == {}


def test_data_is_never_executed() -> None:
    for module in SOURCES:
        unsafe = [name for name in _imports(module) if name.split(".")[0] in UNSAFE_MODULES or name in UNSAFE_CALLS]
        for node in _nodes(module):
            if isinstance(node, ast.Call) and (call := ast.unparse(node.func)) in UNSAFE_CALLS:
                unsafe.append(call)
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
                unsafe.append("allow_pickle")
        assert unsafe == [], module


def test_the_makefile_names_tests_that_exist() -> None:
    named = re.findall(r"tests/[\w/]+\.py", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_adapters_import_exported_names_of_rooms() -> None:
    """What a package on top needs is public: `from spectral_latent.ROOM import NAME`, with NAME in `__all__`."""
    for module in SOURCES:
        hidden = []
        for name in _imports(module) if module.partition(".")[0] in ADAPTERS else ():
            room, _, exported = name.removeprefix("spectral_latent.").partition(".")
            if name.startswith("spectral_latent.") and exported:
                public = getattr(importlib.import_module(f"spectral_latent.{room}"), "__all__", ())
                hidden += [name] if room.startswith("_") or exported not in public else []
        assert hidden == [], module


def test_no_room_names_the_packages_that_are_found_by_entry_points() -> None:
    assert [module for module in IN_ROOMS if "spectral_latent_text" in SOURCES[module].read_text("utf-8")] == []


N_VERBS = 29
N_TYPES = 320
N_FILES = 193
LINES: dict[str, tuple[int, int]] = {
    "spectral_latent": (71, 6),
    "_version": (40, 3),
    "_numba": (247, 43),  # all that needs numba; parts that are other functions, and are not optimised alone
    "_compiled": (195, 48),  # short inputs that Python runs by itself, with NumPy in the place of some loops
    "_names": (54, 10),  # names in messages; imports of names when they are used, which packages list by module
    "_options": (218, 56),  # settings of older files that are gone
    "_threads": (76, 15),  # trees and models are made without searches for garbage, which took as long as making trees
    "_scipy": (11, 1),
    "trees": (696, 279),  # and the joining of forests, which left grammar and dependency
    "operators": (638, 304),  # tensors grouped by shape, in the place of rule by rule; numbers scaled at once
    "ready": (69, 23),  # what each model is good and bad at, with figures
    "files": (1215, 361),  # settings that are gone; numbers of two bytes stay; alike vectors of words are shared
    "inference": (1686, 508),  # trellises of tags need no vectors of emissions, in the place of a pass of their own
    "estimation": (2379, 814),  # ends of starts; how many trees would show more states; priors of rules without a loop
    "drawing": (134, 45),
    "inspection": (138, 72),  # and the tables and pictures of anchor models, which left `anchors`
    "plotting": (77, 12),
    "tokenisation": (229, 50),  # patterns that are compiled when text comes
    "model": (1166, 520),  # surprisal of regions; errors, caveats, how many examples would do; blocks of Python
    "lexicon": (1310, 436),  # signatures are counted by NumPy, and listed when an unseen word comes; relatives by NumPy
    "grammar": (1968, 529),  # prefixes of a short sentence are a block of Python
    "constituency": (2671, 834),  # exports for packages on top; presets that are made when one is asked for
    "sequence": (3292, 934),  # and tags, paths and draws of a short one; one state without an estimator
    "automata": (775, 249),
    "anchors": (520, 187),
    "dependency": (1930, 504),  # exports for packages on top; batches without searches for garbage
    "graphs": (307, 102),
    "corpora": (1934, 517),  # tables of separated values, raw text of CoNLL-U from dependency; difflib comes on use
    "reranking": (1011, 374),  # readers and writers of n-best lists came from corpora
    "evaluation": (831, 289),
    "kinds": (83, 33),  # kinds that other packages add, which are found by entry points
    "cli": (2787, 463),  # exports for packages on top, training of kinds that they add, facts of ready models
    "__main__": (4, 1),
    "spectral_latent_annotate": (1597, 427),  # names imported on use; several files to suggest from
    "spectral_latent_nltk": (755, 345),  # conversions of the objects of NLTK came from corpora
    "spectral_latent_sklearn": (536, 158),  # and groups of rows, so that searches keep sequences whole
    "spectral_latent_spacy": (505, 141),
    "spectral_latent_text": (846, 155),  # tags that words have together, by which UPOS, XPOS and FEATS gain 0.2 to 0.4
}  # of code, and of docstrings, in each room and package; a change may only lower them, or say here why it does not
ROOMS = [name for name in LINES if name not in PACKAGES]  # a room may import only from rooms before it


def _count_lines(part: str) -> tuple[int, int]:
    """Count the lines of a room or of a package on top: those of docstrings apart."""
    of_docstrings = of_all = 0
    for module, path in SOURCES.items():
        package = module.partition(".")[0]
        if part == (package if package != "spectral_latent" else _room(module) or "spectral_latent"):
            of_all += len(path.read_text(encoding="utf-8").splitlines())
            for node in _nodes(module):
                if (
                    isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                    and ast.get_docstring(node) is not None
                ):
                    of_docstrings += (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return of_all - of_docstrings, of_docstrings


def test_lines_only_become_fewer() -> None:
    assert PACKAGES.keys() <= LINES.keys()
    for part, (code, docstrings) in LINES.items():
        found = _count_lines(part)
        assert found <= (code, docstrings) and found[1] <= docstrings, f"{part} has grown to {found}: what can go?"


def test_verbs_and_types_only_become_fewer() -> None:
    """The verbs that ask a model stand once, in its base; a subclass adds words of its domain, and no second way."""
    bases = _nodes("spectral_latent.model.latent_tree")
    model = next(node for node in bases if isinstance(node, ast.ClassDef) and node.name == "LatentTreeModel")
    asking = {node.name for node in model.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert len(asking) <= N_VERBS
    n_types = sum(isinstance(node, ast.ClassDef) for module in SOURCES for node in _parse(module).body)
    assert n_types <= N_TYPES
    assert len(SOURCES) <= N_FILES


def test_fixtures_of_data_are_called() -> None:
    """They return functions, and a test skips only when it calls them: requested alone, they do nothing."""
    uncalled = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                requested = {argument.arg for argument in node.args.args} & conftest.DATA_FIXTURES
                called = {
                    call.func.id
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                }
                uncalled += [f"{path.name}: {node.name}: {name}" for name in requested - called]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("usefixtures"):
                names = {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
                uncalled += [f"{path.name}, line {node.lineno}: {name}" for name in names & conftest.DATA_FIXTURES]
    assert uncalled == []
