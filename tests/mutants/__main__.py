"""Make faults in a process that has imported library and tests, one at a time, and print the share that tests catch.

Each fault has a process of its own, a copy of this one, in which the tests of the functions that the fault concerns run
until one fails, those of its module and its room first.  Which tests call which functions is found out once for each
file of tests, and kept in the cache of pytest until the file changes.  Tests of corpora are left out, and slow ones.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from cProfile import Profile
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.faults import FOLDERS, ROOT, Fault, draw, rooms
from tests.mutants.swap import Library, Place, place_of

_IMPORT = "import"  # of a module, which every test needs
_BYTES = 8 << 30  # of a process
_LONG = 8  # CPU seconds of a test that is left out
_NEEDED, _NEEDED_IN_ROOM = 90, 80  # percent
_LEFT_OUT = "tests/(fuzz|mutants|papers|test_(house|site|benchmarks|notebooks|tutorials)|annotate/test_page)"


class Reached(NamedTuple):
    """The functions of the library that a test calls, and the CPU seconds that it takes."""

    places: set[Place]
    seconds: float


class Mutants:
    """A plugin of pytest that runs the collected tests on faults, in place of once."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.status = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out which tests call what, run them on each fault, and print those that survive, and the shares."""
        from hypothesis import HealthCheck, Phase, settings  # only now, because pytest rewrites its plugins first

        phases = [Phase.explicit, Phase.generate]  # without the search for smaller examples
        settings.register_profile("mutants", settings.default, phases=phases, suppress_health_check=list(HealthCheck))
        settings.load_profile("mutants")
        for folder in FOLDERS:
            for path in sorted(folder.rglob("*.py")):
                if path.name != "__main__.py":
                    name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
                    import_module(name.removesuffix(".__init__"))
        self.library = Library()
        self.files: defaultdict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            self.files[item.nodeid.partition("::")[0]].append(item)
        self.cache: Any = session.config.cache
        caught: Counter[str] = Counter()
        drawn: Counter[str] = Counter()
        for room in self.given.room or rooms():
            for fault in draw(room, self.given.faults, self.given.seed):
                test = self.catch(fault, room)
                drawn[room] += 1
                caught[room] += test is not None
                lines = "\n  - {}\n  + {}".format(*fault.lines)
                print(f"{'caught' if test else 'SURVIVED':<10}{fault.place:<50}{test or lines}", flush=True)
        for room, n in drawn.items():
            print(f"{room:<14}{caught[room]:>4} of {n}")
            self.status |= 100 * caught[room] < _NEEDED_IN_ROOM * n
        share = 100 * caught.total() / drawn.total()
        seconds = time.process_time() + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        print(f"{'all':<14}{caught.total():>4} of {drawn.total()}, {share:.1f} %, in {seconds / 60:.0f} CPU minutes")
        self.status |= share < _NEEDED
        return True

    def catch(self, fault: Fault, room: str) -> str | None:
        """Find the first test that fails with a fault; None if there is none, or if the time is over."""
        places, compiled = self.library.concerned(fault)
        seconds = self.given.seconds * (3 if compiled else 1)
        own = f"tests/{room}/test_{Path(fault.module).stem.lstrip('_')}.py", fault.module
        names = self.files.keys() & tests_of(room, self.given.own)
        for name in sorted(names, key=lambda name: (name not in own, f"/{room}/" not in name, len(self.files[name]))):
            reached = self._reached(name)
            usable = [item for item in self.files[name] if item.nodeid in reached]
            # Tests that call nothing of the fault may use what one before them has made.
            usable.sort(key=lambda item: places.isdisjoint(reached[item.nodeid].places))
            # Tests of the module itself may call the function in another thread.
            if not usable or (name != own[0] and places.isdisjoint(reached[usable[0].nodeid].places)):
                continue
            while usable and seconds > 0:
                told = ask(partial(self._run, fault, compiled, usable, reached), 2 * seconds).splitlines()
                last = told[-1] if told else "passed 0"  # the fault cannot be put
                if last == _IMPORT:
                    return last
                if last.startswith("passed"):
                    seconds -= float(last.removeprefix("passed"))
                    break
                failing = next(item for item in usable if item.nodeid == last)
                # Without compilation, a test may fail or take too long for another reason than the fault.
                if not compiled or "passed" in ask(partial(self._run, None, compiled, [failing], reached), 2 * seconds):
                    return last
                usable.remove(failing)
        return None

    @cache  # noqa: B019
    def _reached(self, name: str) -> dict[str, Reached]:
        """Find out what the tests of a file call, if it is new or has changed, in a process of their own."""
        digest = hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
        key = f"mutants/{name.replace('/', '.')}"
        kept = self.cache.get(key, ["", "[]"])
        if kept[0] != digest:
            kept = [digest, ask(partial(_note, self.files[name], self.library.forget), seconds=300)]
            self.cache.set(key, kept)
        tests = map(json.loads, kept[1].splitlines())
        return {
            test: Reached(set(map(tuple, places)), seconds) for test, is_usable, seconds, places in tests if is_usable
        }

    def _run(
        self,
        fault: Fault | None,
        compiled: set[Any],
        items: Sequence[pytest.Item],
        reached: dict[str, Reached],
        write: Callable[[str], object],
    ) -> None:
        """Put a fault, and run tests until one fails or the time is over; write their names, and the time they took."""
        begin = time.process_time()
        self.library.interpret(compiled)
        try:
            if fault is not None:
                self.library.put(fault)
        except ImportError:
            write(_IMPORT)
            return
        for item, following in zip(items, [*items[1:], None], strict=True):
            write(item.nodeid)  # if the process ends here, this test has caught the fault
            signal.setitimer(signal.ITIMER_PROF, 5 + 10 * reached[item.nodeid].seconds)  # then the process ends
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return
            if time.process_time() - begin > self.given.seconds:
                break
        write(f"passed {time.process_time() - begin}")


def _note(items: Sequence[pytest.Item], forget: Callable[[], None], write: Callable[[str], object]) -> None:
    """Run tests; write for each whether it passes soon, its CPU seconds, and the functions of the library it calls."""
    inside = tuple(f"{folder}/" for folder in FOLDERS)
    forget()  # so that the first test that needs what functions keep calls them
    for item, following in zip(items, [*items[1:], None], strict=True):
        profile = Profile(builtins=False)
        begin = time.process_time()
        with profile:
            reports = runtestprotocol(item, log=False, nextitem=following)
        seconds = time.process_time() - begin
        codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
        places = sorted({place_of(code) for code in codes if code.co_filename.startswith(inside)})
        is_usable = seconds < _LONG and all(report.passed for report in reports)
        write(json.dumps([item.nodeid, is_usable, round(seconds, 3), places]))


def ask(run: Callable[[Callable[[str], object]], None], seconds: float) -> str:
    """Let a copy of this process run a function that may write text, with limits of CPU time and memory."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    if (process := os.fork()) == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds + 30), int(seconds + 60)))
        resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
        for output in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        with suppress(BaseException), open(writing, "w", encoding="utf-8") as answer:
            run(partial(print, file=answer, flush=True))
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as given:
        text = given.read()
    os.waitpid(process, 0)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # processes that the tests have left
    return text


@cache
def tests_of(room: str, own: bool) -> set[str]:
    """List the files of tests for a room: its own with its modules, those that import it, and those of all models."""
    names = [Path(module).with_suffix("").as_posix().replace("/", ".") for module in rooms()[room]]
    packages = "|".join(names if room == "modules" else [names[0].removeprefix("adapters.").rpartition(".")[0]])
    uses = re.compile(rf"^\s*(from|import) ({packages})\b".replace(".", r"\."), re.MULTILINE)
    found = set(rooms()[room])
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        imports = uses.search(path.read_text(encoding="utf-8")) is not None
        is_own = name.startswith(f"tests/{room}/") or (imports and not (ROOT / "tests" / room).exists())
        is_general = name.startswith(("tests/identities/", "tests/conformance/", "tests/files/test_golden"))
        if not re.match(_LEFT_OUT, name) and (is_own or (not own and (is_general or imports))):
            found.add(name)
    return found


def main() -> int:
    """Run the tests on faults of each room; 1 if too few are caught."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--faults", type=int, default=8, help="of each room")
    parser.add_argument("--room", choices=rooms(), action="append", help="a room; all if none is named")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30, help="CPU seconds for the tests of a fault")
    parser.add_argument("--own", action="store_true", help="run only tests that are in the room itself")
    mutants = Mutants(parser.parse_args())
    given = mutants.given
    files = sorted({name for room in given.room or rooms() for name in tests_of(room, given.own)})
    options = ["-q", "--capture=sys", "-m", "not corpus and not slow", "-k", "not process and not worker"]
    status = pytest.main([*options, "-p", "no:xdist", *files], plugins=[mutants])
    return mutants.status or int(status)


if __name__ == "__main__":
    sys.exit(main())
