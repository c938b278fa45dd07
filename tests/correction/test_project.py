"""What is accepted is in the file and in the history, whatever happens; everything else stays as it was."""

from __future__ import annotations

import json
import multiprocessing
import signal
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import CorpusError, parse_brackets
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.correction import BusyError, ChangedError, Project
from spectral_latent.correction.project import kappa

TREES = embedded_treebank(30)
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


def test_a_tree_of_other_words_is_refused_and_changes_nothing(path: Path) -> None:
    project = Project(path, WAITING)
    for at, tree, error in ((0, TREES[1], ValueError), (20, TREES[0], ValueError), (99, TREES[0], IndexError)):
        with pytest.raises(error):
            project.accept(at, tree)
    assert path.read_text(encoding="utf-8") == FILE and not history_of(path)
    project.close()


def test_a_file_that_another_program_has_changed_is_not_overwritten(path: Path) -> None:
    project = Project(path, WAITING)
    changed = FILE + TREES[27].bracketed() + "\n"
    path.write_text(changed, encoding="utf-8")
    with pytest.raises(ChangedError, match=path.name):
        project.accept(20, TREES[20])
    assert path.read_text(encoding="utf-8") == changed
    project.close()


def _hold(path: Path, is_ready: Any) -> None:
    project = Project(path, WAITING)
    is_ready.set()
    signal.pause()
    project.close()


def test_one_process_at_a_time_until_it_ends_or_is_killed(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    is_ready = context.Event()
    process = context.Process(target=_hold, args=(path, is_ready))
    process.start()
    assert is_ready.wait(60)
    with pytest.raises(BusyError, match="history"):
        Project(path)
    process.kill()
    process.join()
    Project(path).close()


@pytest.mark.parametrize("at", [0, 20])
def test_a_tree_that_only_the_history_has_is_put_back(path: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(path, WAITING)
    tree = OTHER if at == 0 else TREES[20]
    with monkeypatch.context() as patch:
        patch.setattr(type(project.file), "save", lambda _: (_ for _ in ()).throw(OSError("the disk is full")))
        with pytest.raises(OSError):
            project.accept(at, tree)
    project.close()
    assert path.read_text(encoding="utf-8") == FILE
    again = Project(path, WAITING)
    assert again.restored == 1 and again.suggest(at)[0] == tree
    again.close()
    last = Project(path, WAITING)
    assert last.restored == 0
    last.close()


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
    small.close()
    project.close()


def test_a_project_of_nothing_is_refused_and_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no sentences"):
        Project(tmp_path / "absent.mrg", [[]])
    assert not list(tmp_path.iterdir())


def test_kappa_of_one_category() -> None:
    assert kappa([("a", "a")] * 3) == 1.0
    assert kappa([("a", "b"), ("b", "a")]) == -1.0
