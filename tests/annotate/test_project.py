"""What is accepted is in the file and in the history, whatever happens; everything else stays as it was."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase, clean
from spectral_latent.constituency.tree import written
from spectral_latent.corpora import CorpusError, parse_brackets
from spectral_latent.model import check_trees
from spectral_latent_annotate import BusyError, ChangedError, Project
from spectral_latent_annotate._project import kappa
from spectral_latent_annotate._treebank_file import as_read
from tests.toy import toy_treebank

TREES = toy_treebank(30)
FILE = "".join(f"( {tree.bracketed()} )\n" for tree in TREES[:20])
WAITING = [list(tree.words()) for tree in TREES[20:26]]
(OTHER,) = parse_brackets(f"(FRAG {' '.join(leaf.bracketed() for leaf in TREES[0].preterminals())})")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "trees.mrg").write_text(FILE, encoding="utf-8")
    return tmp_path / "trees.mrg"


def history_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(f"{path}.history").read_text(encoding="utf-8").splitlines()]


def test_accepted_trees_are_written_at_once_and_nothing_else_changes(path: Path) -> None:
    project = Project(path, [*WAITING, list(TREES[3].words())], annotator="anna")
    assert (project.n_done, len(project.items)) == (20, 26)  # the last sentence has a tree
    assert project.next(-1) == 20 and project.next(25) == 20
    assert Path(f"{path}.history").stat().st_mode == path.stat().st_mode
    project.accept(20, TREES[20])
    project.accept(0, OTHER)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines[1:20] == FILE.splitlines(keepends=True)[1:]
    assert [str(tree) for tree in parse_brackets("".join(lines))] == [str(t) for t in [OTHER, *TREES[1:21]]]
    assert [(row["sentence"], row["annotator"], row["before"], row["after"]) for row in history_of(path)] == [
        ("sentence 1", "anna", None, TREES[20].bracketed()),
        ("1", "anna", TREES[0].bracketed(), OTHER.bracketed()),
    ]
    assert project.next(20) == 21 and project.n_done == 21
    tree, found = project.suggest(0)
    assert tree == OTHER and found.tree.label in ("S", "FRAG")
    project.close()
    again = Project(path, WAITING)
    assert (again.n_done, len(again.items), again.restored) == (21, 26, 0)
    again.close()


def test_a_file_that_others_change_or_annotate_is_not_overwritten(path: Path) -> None:
    project = Project(path, WAITING)
    with pytest.raises(BusyError, match="history"):
        Project(path)
    changed = FILE + TREES[27].bracketed() + "\n"
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(ChangedError, match=path.name):
        project.accept(20, TREES[20])
    assert path.read_text(encoding="utf-8") == changed
    project.close()


@pytest.fixture
def without_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let projects learn nothing, so that many can be opened."""
    monkeypatch.setattr(Project, "_new_bench", lambda _self, trees: Untaught(trees))


class Untaught:
    """A workbench that has trees, and no parser."""

    is_old = False
    model = None

    def __init__(self, trees: Mapping[str, Phrase]) -> None:
        self.trees = dict(trees)
        check_trees(list(trees.values()), Phrase)

    def add(self, name: str, tree: Phrase) -> None:
        assert name not in self.trees
        check_trees([tree], Phrase)
        self.trees[name] = tree

    def replace(self, name: str, tree: Phrase) -> None:
        assert name in self.trees
        check_trees([tree], Phrase)
        self.trees[name] = tree


ONE_TREE = "( (IP-MAT (NP-SBJ *con*) (VBDI kom-koma) (. .-.)) (ID A,.1))\n"
FILES = ["", "(S (NN a) (VB b))\n", ONE_TREE, ONE_TREE.replace("kom-koma", "kom").replace(".-.", ".")]
HARD_WORDS = [*"()0*-#", "-LRB-", "*-1", "*T*-1", "*pro*", "*con*", "*U*", "*ICH*-2", "1914-1918", "well-known", "--"]
HARD_WORDS += ["ID", "\\/", "10 000", "a\u2028b", "a\x85", "\xa0", "a\rb", "x\x0c", "\ufeff", "\ud800"]
HARD_TAGS = ["NN", "-NONE-", "ID", "CODE", "META", "-LRB-", "(", "N-D", "*", "0", "\ufeffN", "CD\u2028"]
HARD_LABELS = ["S", "NP-SBJ", "NP-SBJ-1", "TOP", "ID", "CODE", "VERSION", "S=2", "-NONE-", "IP-MAT", "S|T", "X\ufeff"]
words = st.lists(st.sampled_from(HARD_WORDS) | st.text(min_size=1, max_size=4), min_size=1, max_size=4)
TAGS = st.sampled_from(["NN", "VB"]) | st.sampled_from(HARD_TAGS) | st.text(min_size=1, max_size=2)
LABELS = st.sampled_from(["", "S", "NP-SBJ"]) | st.sampled_from(HARD_LABELS) | st.text(max_size=2)


@st.composite
def trees_of(draw: st.DrawFn) -> Phrase:
    parts = [Phrase(draw(TAGS), (word,)) for word in draw(words)]
    for _ in range(draw(st.integers(0, 3))):
        first = draw(st.integers(0, len(parts) - 1))
        end = draw(st.integers(first + 1, len(parts)))
        parts[first:end] = [Phrase(draw(LABELS), tuple(parts[first:end]))]
    return Phrase(draw(LABELS), tuple(parts))


def state_of(path: Path) -> tuple[bytes, bytes]:
    return path.read_bytes() if path.exists() else b"", Path(f"{path}.history").read_bytes()


@pytest.mark.usefixtures("without_parser")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.sampled_from(FILES), st.lists(trees_of(), min_size=1, max_size=5), st.lists(LABELS, max_size=3), st.text())
def test_what_is_accepted_is_read_at_every_later_start(
    tmp_path_factory: pytest.TempPathFactory, before: str, trees: list[Phrase], labels: list[str], annotator: str
) -> None:
    path = tmp_path_factory.mktemp("project") / "trees.psd"
    if before:
        path.write_text(before, encoding="utf-8")
    sentences = [list(tree.words()) for tree in trees]
    wanted: dict[int, Phrase] = {}  # by the number of the tree in the file
    n_before = int(bool(before))
    relabelled = [Phrase(label, tree.children) for label, tree in zip(labels, trees, strict=False)]
    for accepted in (trees, relabelled, [], []):
        project = Project(path, sentences, annotator=annotator)
        assert project.restored == 0 and project.n_done == n_before + len(wanted)
        ours = [tuple(item.words) for item in project.items[n_before:]]
        assert Counter(ours) == Counter(tuple(map(written, words)) for words in sentences)
        assert all(project._tree(project.items[at]) == tree for at, tree in wanted.items())
        for tree in accepted:
            words = list(map(written, tree.words()))
            places = [n_before + at for at, known in enumerate(ours) if list(known) == words]
            at = next((at for at in places if project.items[at].number is None), places[0])
            files = state_of(path)
            try:
                project.accept(at, tree)
            except ValueError:
                assert state_of(path) == files
                continue
            found = clean(as_read(tree), function_labels=True)
            assert found is not None and list(found.words()) == words
            place = project.items[at].number
            assert place is not None
            wanted[place] = found
        project.close()
    assert all(row["annotator"] == annotator for row in history_of(path))


class Killed(BaseException):
    """The process is killed: nothing that it does now reaches the disk."""


class Disk:
    """A disk whose n-th operation fails, or all from the n-th on; half of what is then written is written."""

    def __init__(self, patch: pytest.MonkeyPatch, failing: int, last: int, error: type[BaseException]) -> None:
        self.n_calls = 0
        self.failing = range(failing, last)
        self.error = error
        for name in ("write", "fsync", "ftruncate", "open"):
            patch.setattr(os, name, self.wrapped(getattr(os, name)))
        for name in ("replace", "unlink", "chmod"):
            patch.setattr(Path, name, self.wrapped(getattr(Path, name)))
        opened = self.wrapped(Path.open)

        def open_part(path: Path, *given: Any, **named: Any) -> Any:
            """Open a file to read, or one whose writing fails."""
            return opened(path, *given, **named) if "xb" not in given else Part(opened(path, *given), self)

        patch.setattr(Path, "open", open_part)

    def wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def try_it(*given: Any, **named: Any) -> Any:
            self.n_calls += 1
            if self.n_calls - 1 in self.failing:
                if call.__name__ == "write":
                    call(*given[:-1], bytes(given[-1])[: len(given[-1]) // 2])
                raise self.error(errno.ENOSPC, "No space left on device")
            return call(*given, **named)

        return try_it


class Part:
    def __init__(self, file: Any, disk: Disk) -> None:
        self.write = disk.wrapped(file.write)
        self.flush = disk.wrapped(file.flush)
        self.fileno = file.fileno
        self.close = file.close

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.mark.usefixtures("without_parser")
@pytest.mark.parametrize(("later", "error"), [(1, OSError), (1 << 30, Killed)])
@pytest.mark.parametrize("at", [0, 20])
def test_every_operation_on_the_disk_may_fail(path: Path, at: int, later: int, error: type[BaseException]) -> None:
    """An accepted tree is everywhere, a failed one nowhere; what a killed process leaves, the next one completes."""
    tree = OTHER if at == 0 else TREES[20]
    n_failed = 0
    for failing in range(99):
        path.write_text(FILE, encoding="utf-8")
        Path(f"{path}.history").unlink(missing_ok=True)
        project = Project(path, WAITING)
        project.accept(1, TREES[1])
        state = (project.n_done, dict(project.bench.trees), path.read_bytes())
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, failing, failing + later, error)
            try:
                project.accept(at, tree)
                is_accepted = True
            except error:
                is_accepted = False
        if disk.n_calls <= failing:
            break  # there was no further operation that could fail
        n_failed += not is_accepted
        if error is OSError:
            if not is_accepted:
                assert (project.n_done, dict(project.bench.trees), path.read_bytes()) == state
            project.accept(21, TREES[21])
            rows = [(row["sentence"], row["after"]) for row in history_of(path)]
            ours = [(project.items[at].name, tree.bracketed())] * is_accepted
            assert rows[1:] == [*ours, ("sentence 2", TREES[21].bracketed())]
        project.close()
        again = Project(path, WAITING)
        found = list(parse_brackets(path.read_text(encoding="utf-8")))
        assert again.n_done == len(found) == len(again.bench.trees) and len(again.items) == 26
        assert (tree in found) >= is_accepted and again.restored <= (error is Killed)
        if error is OSError:
            assert (tree in found) == is_accepted
        again.close()
        last = Project(path, WAITING)
        assert last.restored == 0 and list(parse_brackets(path.read_text(encoding="utf-8"))) == found
        last.close()
    assert n_failed >= 8 and is_accepted


def test_a_project_begins_without_trees_and_trains_when_there_are_some(tmp_path: Path) -> None:
    path = tmp_path / "new.mrg"
    project = Project(path, [list(tree.words()) for tree in TREES])
    assert project.suggest(0)[1].is_flat and project.labels == project.tags == []
    for at, tree in enumerate(TREES[:12]):
        project.accept(at, tree)
        if project._renewal is not None:
            project._renewal.join()
    assert not project.suggest(15)[1].is_flat
    assert "NP" in project.labels and "NN" in project.tags
    project.rank()
    waiting = project.items[12:]
    words_for_an_error = [len(item.words) / (1.0 + (item.errors or 0.0)) for item in waiting]
    for order, best in (("surest", max(words_for_an_error)), ("unsure", min(words_for_an_error))):
        found = project.items[project.next(0, order) or 0]
        assert words_for_an_error[waiting.index(found)] == best
    assert list(parse_brackets(path.read_text(encoding="utf-8"))) == TREES[:12]
    project.close()


@pytest.mark.parametrize(("name", "text"), [("trees.mrg", "(S (NN dogs)"), ("trees.mrg.history", '{"time": 1}\n')])
def test_damaged_files_are_refused_with_their_line_and_left_alone(path: Path, name: str, text: str) -> None:
    damaged = path.with_name(name)
    damaged.write_text(text, encoding="utf-8")
    with pytest.raises((CorpusError, ValueError), match=rf"{name}:1|{name}, line 1"):
        Project(path)
    assert damaged.read_text(encoding="utf-8") == text
    path.write_text(FILE, encoding="utf-8")
    Path(f"{path}.history").write_text("")
    Project(path).close()  # the lock is free


@pytest.mark.usefixtures("without_parser")
def test_half_a_line_of_the_history_was_not_written(path: Path) -> None:
    project = Project(path, WAITING)
    project.accept(20, TREES[20])
    project.close()
    whole = project.history.read_bytes()
    project.history.write_bytes(whole + b'{"time": "x", "ann')
    again = Project(path, WAITING)
    assert (again.n_done, again.restored, again.cut_off) == (21, 0, '{"time": "x", "ann')
    assert again.history.read_bytes() == whole
    again.close()


@pytest.mark.usefixtures("without_parser")
def test_a_tree_takes_the_place_only_of_the_one_that_was_shown(path: Path) -> None:
    project = Project(path, WAITING)
    waiting, old = project.version(20), project.version(0)
    project.accept(20, TREES[20], waiting)
    project.accept(0, OTHER, old)
    files = state_of(path)
    flat = Phrase("FLAT", tuple(TREES[20].preterminals()))
    for at, tree, version in ((20, flat, waiting), (0, TREES[0], old)):
        with pytest.raises(ChangedError, match="page"):
            project.accept(at, tree, version)
    assert state_of(path) == files
    project.accept(20, TREES[20], waiting)  # as it is there already
    project.accept(20, flat, project.version(20))
    project.close()


def test_suggestions_have_function_labels_if_the_file_has_them(path: Path) -> None:
    def shown(trees: str, **options: Any) -> set[str]:
        path.write_text(trees, encoding="utf-8")
        project = Project(path, WAITING, **options)
        labels = {node.label for node in project.suggest(20)[0].nodes() if isinstance(node, Phrase)}
        project.close()
        return {label for label in labels if "-SBJ" in label}

    with_functions = FILE.replace("(S (NP ", "(S (NP-SBJ ")
    assert with_functions != FILE
    assert not shown(FILE)
    assert shown(with_functions) == {"NP-SBJ"}
    assert not shown(with_functions, functions=False)


def test_agreement_is_that_of_hand(path: Path, tmp_path: Path) -> None:
    project = Project(path)
    assert project.agree_with(path) == {"sentences": 20, "f1": 100.0, "kappa_of_tags": 1.0, "kappa_of_spans": 1.0}
    ours = Phrase("S", (Phrase("A", ("x",)), Phrase("NP", (Phrase("A", ("y",)), Phrase("B", ("z",))))))
    theirs = Phrase("S", (Phrase("VP", (Phrase("A", ("x",)), Phrase("B", ("y",)))), Phrase("B", ("z",))))
    one, two = tmp_path / "one.mrg", tmp_path / "two.mrg"
    one.write_text(ours.bracketed())
    two.write_text(theirs.bracketed())
    small = Project(one)
    found = small.agree_with(two)
    assert found["f1"] == pytest.approx(50.0)
    assert found["kappa_of_tags"] == pytest.approx((2 / 3 - 4 / 9) / (5 / 9))
    # Spans 0-3, 0-2 and 1-3: S with S, nothing with VP, NP with nothing.
    assert found["kappa_of_spans"] == pytest.approx((1 / 3 - 2 / 9) / (7 / 9))
    with pytest.raises(ValueError, match="no sentence"):
        small.agree_with(path)
    with pytest.raises(ValueError, match="no sentences"):
        Project(tmp_path / "absent.mrg", [[]])
    assert not list(tmp_path.glob("absent*"))
    assert (kappa([("a", "a")] * 3), kappa([("a", "b"), ("b", "a")])) == (1.0, -1.0)
    small.close()
    project.close()
