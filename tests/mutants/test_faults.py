"""Faults are single changes of the core, and those that are known to change nothing still exist."""

import ast
from pathlib import Path

import pytest

from tests.mutants import faults
from tests.mutants.faults import ROOMS, ROOT, draw, equivalents, faults_of, modules

SOURCE = '''
@decorated(1)
def area(left: Array[2], right: Array[2], n: int = 3) -> Array[2]:
    """Multiply 2 numbers."""
    if n < 4 and not right:
        raise ValueError(f"{n + 1}")
    left /= n
    return left[n, 0] @ right.min()
'''


def test_the_faults_of_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: neither decorators, types and defaults nor messages and docstrings change."""
    (tmp_path / "area.py").write_text(SOURCE)
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    faults_of.cache_clear()
    (found,) = faults_of("area.py")
    assert [fault.after for fault in found] == [
        "if (n < 4 or not right):",
        "if (n <= 4) and not right:",
        "if n < 5 and not right:",
        "if n < 4 and right:",
        "if n < 4 and not left:",
        "left *= n",
        "pass",
        "return (right.min() @ left[n, 0])",
        "return left[0, n] @ right.min()",
        "return right[n, 0] @ right.min()",
        "return left[n, 1] @ right.min()",
        "return left[n, 0] @ right.max()",
        "return left[n, 0] @ left.min()",
    ]
    faults_of.cache_clear()


@pytest.mark.parametrize("room", ROOMS)
def test_faults_are_drawn_from_all_the_room(room: str) -> None:
    drawn = draw(room, 20, seed=1)
    assert drawn == draw(room, 20, seed=1) and drawn[:5] == draw(room, 5, seed=1)
    assert len({fault.module for fault in drawn}) > min(3, len(modules(room)) - 2)
    for fault in drawn:
        source = (ROOT / fault.module).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(fault.text)) != ast.dump(ast.parse(source))
        assert fault.key not in equivalents()


def test_equivalents_are_faults_with_reasons() -> None:
    """An entry goes when its line does."""
    for (module, before, after), reason in equivalents().items():
        found = {fault.key for function in faults_of(module) for fault in function}
        assert (module, before, after) in found, f"{module}: {before} -> {after}"
        assert reason
