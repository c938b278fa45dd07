"""The package itself has the names of the front door, and `spectral_latent.load` reads any model."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import spectral_latent
from spectral_latent import (
    AnchorHMM,
    ConstituencyModel,
    DependencyModel,
    EstimatorOptions,
    GraphModel,
    LatentHMM,
    LatentTagger,
    Reranker,
    WeightedAutomaton,
    load,
    preset,
)
from spectral_latent.constituency import Phrase
from spectral_latent.dependency import DependencySentence
from spectral_latent.files import ModelFileError
from spectral_latent.kinds import KINDS, added_kinds, usual_kind
from spectral_latent.reranking import Candidate, NBest

TREES = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("run",)))) for noun in ("cats", "dogs", "mice", "men")]
LISTS = [NBest.of([Candidate(tree, -1.0), Candidate(Phrase("X", (tree,)), -2.0)]) for tree in TREES]
WORDS = [["the", "cat", "sleeps"], ["a", "dog", "barks"], ["the", "dog", "sleeps"]] * 3


def graph() -> nx.DiGraph:
    tree = nx.DiGraph([("root", "left")])
    tree.add_node("root", label="pair")
    tree.add_node("left", label="one", observation="x")
    return tree


def reranker() -> Reranker:
    return Reranker.train(LISTS, [1, 0] * 4, {})


MODELS: dict[str, tuple[type, Callable[[], Any]]] = {
    "anchors": (AnchorHMM, lambda: AnchorHMM.train(WORDS)),
    "automaton": (WeightedAutomaton, lambda: WeightedAutomaton.train(["ab", "abab"])),
    "constituency": (ConstituencyModel, lambda: ConstituencyModel.train(TREES)),
    "dependency": (
        DependencyModel,
        lambda: DependencyModel.train([DependencySentence.of(["Yes", "!"], ["A", "B"]).with_heads((0, 1))]),
    ),
    "reranker": (Reranker, reranker),
    "hmm": (LatentHMM, lambda: LatentHMM.train(["abc", "abd"] * 5)),
    "tagger": (LatentTagger, lambda: LatentTagger.train([[("dogs", "N"), ("bark", "V")]])),
    "tree": (GraphModel, lambda: GraphModel.train([graph()], EstimatorOptions("em", n_states=1))),
}


def run(script: str) -> str:
    """Run a script in a process of its own, and return what it prints."""
    command = [sys.executable, "-c", script]
    root = Path(__file__).resolve().parents[1]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout


def test_importing_the_package_costs_nothing() -> None:
    imported = run("import sys; known = {*sys.modules}; import spectral_latent; print(*{*sys.modules} - known)").split()
    own = {"spectral_latent", "spectral_latent._names", "spectral_latent._version"}
    assert own <= {*imported} and {name.partition(".")[0] for name in {*imported} - own} <= sys.stdlib_module_names


FORMALISMS = {"constituency", "sequence", "dependency", "automata", "anchors", "graphs"}
ROADS = {
    "load('en').parse(['The', 'dog', 'slept', '.'])": ({"constituency"}, 92),
    "load('en').surprisal(['The', 'dog', 'slept', '.'])": ({"constituency"}, 92),
    "next(load('en-ud').parse_text('The dog slept.'))": ({"dependency", "sequence"}, 103),
    "next(corpora.constituency_trees(TREES))": ({"constituency", "dependency"}, 104),
    "graphs.GraphModel": ({"graphs"}, 61),
}  # the formalisms that a road may import, and the largest number of modules of the package


@pytest.mark.parametrize("road", ROADS)
def test_a_road_imports_what_it_needs(road: str, tmp_path: Path) -> None:
    """No other formalism, nothing that only training or evaluation needs of SciPy, and no optional package."""
    trees = tmp_path / "a.trees"
    trees.write_text("(S (NN rain) (VBZ falls))\n")
    room = road.removeprefix("next(").partition(".")[0]
    first = "from spectral_latent import load" if room.startswith("load") else f"from spectral_latent import {room}"
    imported = run(f"{first}; import sys; TREES = {str(trees)!r}; {road}; print(*sys.modules)").split()
    formalisms, most = ROADS[road]
    own = {name for name in imported if name.partition(".")[0] == "spectral_latent"}
    rooms = {name.split(".")[1] for name in own if "." in name}
    assert rooms & FORMALISMS == formalisms
    assert len(own) <= most
    assert not {"reranking", "evaluation", "cli", "plotting"} & rooms
    assert "numba" not in imported  # Python itself parses a short sentence
    assert ("regex" in imported) == ("parse_text" in road)
    assert ("scipy" in imported) == ("surprisal" in road)
    unneeded = {"nltk", "networkx", "joblib", "matplotlib", "scipy.special", "scipy.optimize", "scipy.stats"}
    assert not unneeded & {*imported}


def test_the_command_imports_what_it_needs(tmp_path: Path) -> None:
    words = tmp_path / "a.txt"
    words.write_text("The dog slept .\n")
    script = f"import sys\nfrom spectral_latent.cli import run\nsys.argv[1:] = ['parse', 'en', {str(words)!r}]\n"
    imported = {*run(f"{script}try: run()\nexcept SystemExit: print(*sys.modules)").split()}
    assert "spectral_latent.constituency.model" in imported
    assert sum(name.partition(".")[0] == "spectral_latent" for name in imported) <= 114
    assert not {"numba", "nltk", "regex", "spectral_latent.sequence", "spectral_latent.dependency.model"} & imported


def test_all_names_are_listed_and_found() -> None:
    assert dir(spectral_latent) == sorted(spectral_latent.__all__)
    assert set(run("from spectral_latent import *; print(*dir())").split()) >= set(spectral_latent.__all__)
    assert spectral_latent.preset is preset
    with pytest.raises(AttributeError, match="module 'spectral_latent' has no attribute 'ConstituencyModle'"):
        _ = spectral_latent.ConstituencyModle


def test_names_of_the_adapters_are_shown_the_way() -> None:
    for package, names in spectral_latent._ADAPTERS.items():
        assert names == {*importlib.import_module(package).__all__} - {"FALLBACK"}
        for name in names:
            with pytest.raises(ImportError, match=f"from {package} import {name}"):
                getattr(spectral_latent, name)


def test_type_checkers_see_the_names() -> None:
    tree = ast.parse(Path(spectral_latent.__file__).read_text(encoding="utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    seen = {str(node.module).removeprefix("spectral_latent"): [name.name for name in node.names] for node in imports}
    assert seen == spectral_latent._MODULES
    assert sorted(["__version__", *chain.from_iterable(seen.values())]) == sorted(spectral_latent.__all__)


def test_kinds_of_other_packages_extend_those_of_the_library() -> None:
    """The command line takes them for the kind that they extend, which their class says, too."""
    assert "pipeline" in added_kinds()
    for name, kind in added_kinds().items():
        assert kind.cls.kind == name and name not in KINDS
        assert usual_kind(name) in [base.kind for base in kind.cls.__mro__[1:] if "kind" in vars(base)]


def test_a_reranker_that_needs_models(tmp_path: Path) -> None:
    Reranker.train(LISTS, [1, 0] * 4, {"latent": ConstituencyModel.train(TREES)}).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="the reranker needs latent models named latent"):
        load(tmp_path / "model")


@pytest.mark.parametrize("extra", ["sklearn", "spacy"])
def test_an_adapter_names_the_extra_that_it_needs(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, extra, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"spectral_latent_{extra}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf'run `pip install "\.\[{extra}\]"` in a checkout'):
        importlib.import_module(f"spectral_latent_{extra}")
