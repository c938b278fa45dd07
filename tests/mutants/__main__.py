"""Make faults in a copy of the project, one at a time, and print the share that the tests catch.

The tests of the room that call the function with the fault run, those of its module first, until one fails.  Modules
with compiled functions are not compiled then, which would take longer than their tests, and only their own tests run if
they have any.  Tests with several processes are left out, and those that take too long without a fault.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.mutants import limit, reach
from tests.mutants.faults import PACKAGE, ROOMS, ROOT, Fault, draw

_COPIED = (PACKAGE, "adapters", "tests", "benchmarks", "docs", "README.md", "pyproject.toml")
_SECONDS = 900  # CPU seconds of a process
_BYTES = 8 << 30  # of a process
_NEEDED = 95  # percent
Place: TypeAlias = tuple[str, int]  # the module and the first line of a function


def main() -> int:
    """Run the tests on each fault; print those that survive, and the share of those caught; 1 if it is too low."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--faults", type=int, default=16, help="of each room")
    parser.add_argument("--room", choices=ROOMS, action="append", help="a room; all if none is named")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rooms = given.room or list(ROOMS)
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="spectral-latent-mutants-") as name:
        tests = _Tests(Path(name))
        for room in rooms:
            for fault in draw(room, given.faults, given.seed):
                test = tests.catch(fault, room)
                caught[room] += test is not None
                print(_account(fault, test), flush=True)
    for room in rooms:
        print(f"{room:<12}{caught[room]:>4} of {given.faults}")
    share = 100 * caught.total() / (given.faults * len(rooms))
    seconds = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    print(f"{'all':<12}{caught.total():>4}, {share:.1f} %, in {seconds / 60:.0f} CPU minutes")
    return int(share < _NEEDED)


class _Tests:
    """The tests of a copy of the project.

    folder: the folder of the copy.
    """

    def __init__(self, folder: Path) -> None:
        """Copy the project, with the compiled functions that are kept beside their modules.

        folder: an empty folder.
        """
        self.folder = folder
        for part in _COPIED:
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy2)(ROOT / part, folder / part)

    def catch(self, fault: Fault, room: str) -> str | None:
        """Find the first test that fails with a fault; None if there is none.

        fault: the fault.
        room: its room, whose tests run.
        """
        file = self.folder / fault.module
        compiles = "@compile" not in file.read_text(encoding="utf-8")
        left_out, reached = self.run_without_fault(self.tests_of(fault.module, room, compiles), compiles)
        tests = reached.get((fault.module, fault.function))
        if tests is None:
            return None
        own = f"test_{Path(fault.module).stem.lstrip('_')}.py"
        first = sorted(tests, key=lambda test: (own not in test, test.startswith(PACKAGE)))
        file.write_text(fault.text, encoding="utf-8")
        try:
            status, failing = self._run(["-B"], ["-x", *first, *(f"--deselect={test}" for test in left_out)], compiles)
        finally:
            shutil.copy2(ROOT / fault.module, file)  # with its time, by which compiled functions are known
        if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):  # none, if all are left out
            return None
        return failing[0] if failing else f"exit status {status}"

    def tests_of(self, module: str, room: str, compiles: bool) -> tuple[str, ...]:
        """List the tests that must catch the faults of a module, as files and folders.

        module: the module.
        room: its room.
        compiles: whether functions are compiled; otherwise only the module's own tests run, if it has any.
        """
        own = f"tests/{room}/test_{Path(module).stem.lstrip('_')}.py"
        if not compiles and (self.folder / own).exists():
            return own, module
        return f"tests/{room}", *ROOMS[room], f"{PACKAGE}/{room}"

    @cache  # noqa: B019
    def run_without_fault(self, tests: tuple[str, ...], compiles: bool) -> tuple[list[str], dict[Place, list[str]]]:
        """Find the tests that fail, because they take too long, and those that call each function.

        tests: files and folders.
        compiles: whether functions are compiled.

        Where a fixture calls a function, all its file does.
        """
        file = self.folder / "reached.jsonl"
        status, failing = self._run([], ["-p", reach.__name__, *tests], compiles, {reach.REACHED: str(file)})
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError(f"{' '.join(tests)}: the tests do not end without a fault: exit status {status}")
        for test in failing:
            print(f"left out  {test}", flush=True)
        reached: dict[Place, set[str]] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            test, places = json.loads(line)
            for module, begin in places:
                reached.setdefault((module, begin), set()).add(test)
        return failing, {
            place: sorted(test for test in found if "::" not in test or test.partition("::")[0] not in found)
            for place, found in reached.items()
        }

    def _run(
        self, options: list[str], arguments: list[str], compiles: bool, variables: dict[str, str] | None = None
    ) -> tuple[int, list[str]]:
        """Run pytest; return its exit status, and the names of the tests that fail.

        options: of Python.
        arguments: of pytest.
        compiles: whether functions are compiled.
        variables: of the environment.
        """
        choice = ["-m", "not corpus", "-k", "not process and not worker"]
        plugin = ["-p", limit.__name__, f"--hypothesis-profile={limit.PROFILE}"]
        without = {} if compiles else {"NUMBA_DISABLE_JIT": "1"}
        process = subprocess.Popen(
            [sys.executable, *options, "-m", "pytest", "-q", "--tb=no", *plugin, *choice, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": ".:adapters", **without, **(variables or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_limit,
        )
        output, _ = process.communicate()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # processes that the tests have left
        if process.returncode == pytest.ExitCode.USAGE_ERROR:
            raise RuntimeError(output)
        return process.returncode, re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)


def _limit() -> None:
    """Limit the time and the memory of this process, which a fault may use up."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))


def _account(fault: Fault, test: str | None) -> str:
    """Write the place of a fault with the test that catches it, or with the change if none does."""
    place = f"{fault.module}:{fault.line}"
    if test is None:
        return f"SURVIVED  {place}\n  - {fault.before}\n  + {fault.after}"
    return f"caught    {place:<50} {test}"


if __name__ == "__main__":
    sys.exit(main())
