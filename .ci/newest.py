"""Install the library as a user does, with the newest versions that pip finds, on every Python, and test it there.

python .ci/newest.py [--if-changed] [--python PATH]... TEST...

Every Python from 3.11 on is used that is on PATH or belongs to pyenv or uv, one of each minor version; with `--python`,
only those that are named.  With `--if-changed`, a Python is left out whose tests passed with the same versions and the
same sources.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from digest import digest, note, tested

FOLDER = Path(".venv/newest").absolute()
COPIED = ("benchmarks", "tests", "docs", "README.md", "pyproject.toml", "requirements-dev.lock")
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet", "install")
TOOLS = ("hypothesis", "psutil", "pytest", "typing-extensions")
ABOUT = "import ensurepip, sys; print(*sys.version_info[:4])"


def candidates() -> Iterator[str]:
    """List the names and the paths that may be interpreters."""
    yield sys.executable
    for folder in map(Path, os.get_exec_path()):
        yield from map(str, [folder / "python3", *sorted(folder.glob("python3.[1-9][0-9]"))])
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"), "versions")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python"))
    for folder in (pyenv, uv):
        yield from map(str, sorted(folder.glob("*/bin/python3")))


def interpreters(paths: Iterable[str]) -> dict[str, str]:
    """Choose an interpreter for each minor version that the library allows, the newest one that can make a venv."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for path in dict.fromkeys(paths):
        if not os.access(path, os.X_OK):
            continue
        done = subprocess.run([path, "-c", ABOUT], capture_output=True, text=True, check=False)
        *numbers, level = done.stdout.split() or (0, "none")
        version = tuple(map(int, numbers))
        if done.returncode == 0 and level == "final" and version >= (3, 11):
            minor = ".".join(map(str, version[:2]))
            found[minor] = max(found.get(minor, (version, path)), (version, path), key=lambda one: one[0])
    return {minor: found[minor][1] for minor in sorted(found, key=lambda minor: found[minor][0])}


def resolve(python: Path) -> list[str]:
    """Ask pip for the newest versions of what the library needs."""
    needed = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    command = [python, *PIP, "--dry-run", "--ignore-installed", "--report", "-", *needed]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return sorted(f"{one['metadata']['name']}=={one['metadata']['version']}" for one in report["install"])


def test(python: Path, versions: list[str], tests: list[str]) -> None:
    """Install these versions and the library beside them, and run tests outside the checkout."""
    subprocess.run([python, *PIP, *versions, ".", *TOOLS], check=True)
    outside = FOLDER / "outside"
    shutil.rmtree(outside, ignore_errors=True)
    outside.mkdir()
    for name in map(Path, COPIED):
        shutil.copytree(name, outside / name) if name.is_dir() else shutil.copy(name, outside)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (
        ["tests/smoke.py"],
        ["-m", "spectral_latent", "demo", "--quiet"],
        ["-m", "pytest", "-q", "-o", "pythonpath=.", "-o", "testpaths=tests", "-m", "not corpus", *tests],
    ):
        subprocess.run([python, *command], cwd=outside, env=alone, check=True)


def main() -> None:
    """Test each Python, and say which."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--if-changed", action="store_true")
    parser.add_argument("--python", action="append")
    parser.add_argument("tests", nargs="+")
    asked = parser.parse_args()
    found = interpreters(asked.python or candidates())
    if not found:
        sys.exit("no Python of 3.11 or later with the modules venv and ensurepip was found")
    print("Python with the newest versions:", *(f"{name} ({path})" for name, path in found.items()), flush=True)
    for name, path in found.items():
        place = FOLDER / name
        subprocess.run([path, "-m", "venv", "--clear", place], check=True)
        python = place / "bin/python"
        versions = resolve(python)
        now = digest(versions)
        if asked.if_changed and tested().get(name) == now:
            print(f"{name}: passed before with the same versions and sources", flush=True)
            continue
        print(f"{name}: {' '.join(versions)}", flush=True)
        test(python, versions, asked.tests)
        note(name, now)


if __name__ == "__main__":
    main()
