"""An argument of a wrong type or size is refused by TypeError or ValueError, whatever is called."""

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spectral_latent
from spectral_latent import EstimatorOptions, LatentHMM
from spectral_latent.constituency import ConstituencyModel, Phrase, PhraseConstraints
from spectral_latent.dependency import DependencyConstraints, DependencyModel, DependencySentence, unknown_tree
from spectral_latent.estimation import silent
from spectral_latent.grammar import Limits
from spectral_latent.model import Partial
from spectral_latent.sequence import HMMOptions, LatentTagger
from tests.test_front_door import LISTS, MODELS, TREES, WORDS, graph

WRONG = [None, -1, "x", [], object(), np.eye(2), 2**70, float("nan"), [None], ("x",)]
OF_FILES = {"contents", "from_contents"}  # only `save` and `load` call them
STEPS = {  # they take each other's results
    *("analyse", "assemble", "chart", "checked", "choices", "evidence", "fallback", "find_parts", "judge_parts"),
    *("name_parts", "of_points", "parses", "score_trees", "with_chains", "write"),
}
OF_WORDS = ("ConstituencyModel.", "DependencyModel.", "LatentTagger.", "AnchorHMM.")
SEVERAL = {"inputs", "phrases", "sentences", "trees"}  # parameters with several of what is no string
ONE = {"given", "sentence", "words"}
TAGGED = [[("dogs", "N"), ("bark", "V")]]
DEPENDENCIES = [DependencySentence.of(["Yes", "!"], ["A", "B"]).with_heads((0, 1))]


@cache
def model(kind: str) -> Any:
    """Train a small model of a kind; a hidden Markov model has states."""
    if kind == "hmm":
        return LatentHMM.train(WORDS, HMMOptions(EstimatorOptions("clustering", n_states=2), choose_states=False))
    return MODELS[kind][1]()


def right(kind: str, file: Path) -> dict[str, Any]:
    """List a right value of each parameter without a right default, by name, for the methods of a kind of model."""
    words = ["dogs", "run"]
    values: dict[str, Any] = {
        "change": lambda member: member,
        "constraints": PhraseConstraints(),
        "f": lambda string: 0.5 ** len(string),
        "gains": [1, 0] * 4,
        "given": words,
        "graph": graph(),
        "graphs": [graph()],
        "inputs": [words] * 2,
        "length": 2,
        "limits": Limits(),
        "listener": silent,
        "known": [None, *[{"N"}] * (len(words) - 1)] if kind == "tagger" else [None] * len(words),
        "least": 0.01,
        "lists": LISTS,
        "max_bytes": 10**9,
        "max_length": 100,
        "max_nodes": 100,
        "model": model("hmm"),
        "n": 2,
        "n_best": 2,
        "n_candidates": 2,
        "n_words": 2,
        "name": "fast",
        "nbest": LISTS[0],
        "objective": (),
        "operators": model(kind).named_operators.operators if kind in ("dependency", "constituency", "tree") else None,
        "other": model("automaton"),
        "parser": model("constituency"),
        "path": file,
        "phrases": TREES,
        "prefix": ["the"],
        "prefixes": ["", "a"],
        "rng": np.random.default_rng(0),
        "scored": False,
        "seconds": 0.1,
        "sentence": words,
        "sentences": [words] * 2,
        "sequence": words,
        "sequences": [words] * 2,
        "string": "ab",
        "strings": ["ab", "abab"],
        "suffixes": ["", "b"],
        "symbols": "ab",
        "tags": {anchor: "N" for anchor in model("anchors").anchors},
        "text": "Dogs run .",
        "tree": TREES[0],
        "trees": TREES,
        "words": words,
    }
    of_kind: dict[str, dict[str, Any]] = {
        "dependency": {
            "constraints": DependencyConstraints(),
            "given": DEPENDENCIES[0],
            "inputs": DEPENDENCIES,
            "sentence": DEPENDENCIES[0],
            "tree": unknown_tree(DEPENDENCIES[0]),
            "sentences": DEPENDENCIES,
            "trees": DEPENDENCIES,
        },
        "tree": {"given": graph(), "inputs": [graph()], "trees": [graph()]},
        "tagger": {"sentences": TAGGED, "trees": TAGGED},
    }
    return values | {"jobs": 1} | of_kind.get(kind, {})


def methods(owner: type, instance: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """List the public methods of a class, of the class itself or of an instance, by name."""
    for name in dir(owner):
        if name == "__call__" or not (name.startswith("_") or name in OF_FILES | STEPS):
            method = inspect.getattr_static(owner, name)
            if isinstance(method, staticmethod | classmethod) or inspect.isfunction(method):
                yield name, getattr(instance, name)


def calls(kind: str, file: Path) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    """List what can be called of a kind of model, with right arguments."""
    made = model(kind)
    made.save(file)
    arguments = right(kind, file)
    for instance in (made, made.tagger) if kind == "hmm" else (made,):
        yield (
            f"{type(instance).__name__}",
            type(instance),
            {field.name: getattr(instance, field.name) for field in fields(instance) if field.init},
        )
        for name, method in methods(type(instance), instance):
            names = inspect.signature(method).parameters
            named = [each for each in names.values() if each.kind is not each.VAR_KEYWORD]
            given = {each.name: arguments.get(each.name, each.default) for each in named}
            assert inspect.Parameter.empty not in given.values()
            yield f"{type(instance).__name__}.{name}", method, given


def outcome(call: Callable[..., Any], given: dict[str, Any], must_fail: bool = False) -> str | None:
    """Call a function; return the error if it is of a foreign type, or the answer if there must be none."""
    with warnings.catch_warnings(action="ignore"):
        try:
            answer = call(**given)
            if isinstance(answer, Iterator):
                list(answer)
            return f"answers {answer!r}" if must_fail else None
        except (TypeError, ValueError):
            return None
        except OSError as error:
            return None if "path" in given else repr(error)
        except Exception as error:
            return repr(error)


def foreign(name: str, call: Callable[..., Any], given: dict[str, Any]) -> Iterator[str]:
    """Call a function with each wrong value in the place of each argument, and list the errors of a foreign type.

    A string in the place of words or trees would be read as a list of characters, and must be refused.
    """
    for parameter in given:
        for wrong in WRONG:
            if not (parameter == "jobs" and wrong is None):  # which is right
                read_as_list = (parameter in ONE | SEVERAL and isinstance(wrong, str)) or (
                    parameter in SEVERAL and isinstance(wrong, tuple)
                )
                must_fail = name.startswith(OF_WORDS) and read_as_list
                error = outcome(call, given | {parameter: wrong}, must_fail)
                if error is not None:
                    yield f"{name}({parameter}={wrong!r:.20}): {error}"


@pytest.mark.parametrize("kind", MODELS)
def test_models_refuse_arguments_of_wrong_types(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some files are written
    found = [error for each in calls(kind, tmp_path / "model") for error in foreign(*each)]
    assert found == []


def test_functions_and_options_refuse_arguments_of_wrong_types(tmp_path: Path) -> None:
    given = right("constituency", tmp_path / "model")
    model("constituency").save(tmp_path / "model")
    classes = {kind for kind, _ in MODELS.values()}
    tried = [getattr(spectral_latent, name) for name in spectral_latent.__all__]
    for each in [each for each in tried if callable(each) and each not in classes]:
        names = inspect.signature(each).parameters
        default = {name: given.get(name, parameter.default) for name, parameter in names.items()}
        assert list(foreign(each.__name__, each, default)) == []


def test_options_of_another_kind_are_refused_and_not_taken_for_none(tmp_path: Path) -> None:
    for kind, (owner, _) in MODELS.items():
        train: Any = owner.train  # type: ignore[attr-defined]
        names = inspect.signature(train).parameters
        given = {name: value for name, value in right(kind, tmp_path).items() if name in names}
        for wrong in ({}, [], 0, "", False, Limits()):
            with pytest.raises((TypeError, ValueError), match="options"):
                train(**given | {"options": wrong})


NO_WORDS = ("", "New\nYork", "a\tb", "\ud800")
NO_LABELS = ("", "N N", "N\u00a0", "\udfff")


def spoilt(value: Any, word: str) -> Any:
    """Put a word in the place of the first word of sentences or trees."""
    if isinstance(value, Phrase):
        first, *others = value.children
        return value._replace(children=(word if isinstance(first, str) else spoilt(first, word), *others))
    if isinstance(value, DependencySentence):
        return value._replace(forms=(word, *value.forms[1:]))
    if isinstance(value, Partial):
        return value._replace(sentence=spoilt(value.sentence, word))
    first, *others = value
    if isinstance(value, tuple):  # a word and its tag
        return (word, *others)
    return [word if isinstance(first, str) else spoilt(first, word), *others]


@pytest.mark.parametrize("kind", ["anchors", "constituency", "dependency", "tagger"])
def test_every_verb_refuses_words_that_no_file_can_hold(kind: str, tmp_path: Path) -> None:
    tried, taken = set(), []
    for name, call, given in calls(kind, tmp_path / "model"):
        for parameter in (ONE | SEVERAL | {"tree", "sequence", "sequences"}) & given.keys() if "." in name else ():
            tried.add(name.partition(".")[2])
            for word in NO_WORDS:
                try:
                    answer = call(**given | {parameter: spoilt(given[parameter], word)})
                    taken.append((name, parameter, word, list(answer) if isinstance(answer, Iterator) else answer))
                except ValueError as error:
                    assert re.search("is empty; remove|divide the word|half a character", str(error)), (name, error)
    assert taken == []
    assert tried >= {"train"} and len(tried) > 5


def test_trainings_refuse_labels_that_no_file_can_hold() -> None:
    tree = Phrase("S", (Phrase("NP", (Phrase("N", ("dogs",)),)), Phrase("V", ("bark",))))
    sentence = DependencySentence.of(["dogs", "bark"], ["N", "V"]).with_heads((2, 0), ("nsubj", "root"))
    calls: list[tuple[Callable[..., Any], Any]] = []
    for label in (*NO_LABELS, "V(P", ")"):
        wrong = [Phrase("S", (Phrase(label, (inner,)),)) for inner in (Phrase("N", ("dogs",)), "dogs")]
        calls += [
            (ConstituencyModel.train, [tree, each]) for each in [*wrong, *([Phrase(label, (tree,))] if label else [])]
        ]
        calls += [(model("constituency").score, [each]) for each in wrong]
    for label in NO_LABELS:
        columns = ("upos", "xpos", "relations")
        calls += [(DependencyModel.train, [sentence, sentence._replace(**{each: (label, "x")})]) for each in columns]
        calls.append((LatentTagger.train, [[("dogs", label), ("bark", "V")]]))
        calls.append((model("anchors").label, {anchor: label for anchor in model("anchors").anchors}))
    for call, given in calls:
        with pytest.raises(ValueError, match="the label"):
            call(given)
    DependencyModel.train([sentence.with_tags("xpos", ("$(", "V"))] * 9)  # a tag of TIGER
