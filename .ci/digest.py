"""Tell whether tests with some versions of the dependencies have passed since what they depend on changed.

python .ci/digest.py lowest          fails unless the tests named `lowest` passed with the present sources
python .ci/digest.py lowest --note   notes that they passed, in .ci/tested
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

TESTED = Path(".ci/tested")


def digest(versions: Iterable[str] = ()) -> str:
    """Digest versions of packages, the requirements, and the sources that depend on them most.

    These are compiled functions, and how fields are declared and stored.
    """
    found = hashlib.sha256("\n".join(versions).encode())
    for path in [Path("pyproject.toml"), *sorted(Path(".ci").glob("*.py")), *_sources()]:
        found.update(f"{path.as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def _sources() -> Iterable[Path]:
    package = Path("spectral_latent")
    for path in sorted(package.rglob("*.py")):
        is_compiled = re.search(r"^ *@(njit|compiled|pass_part)", path.read_text("utf-8"), re.MULTILINE)
        if is_compiled or path.name in ("_compiled.py", "_options.py") or path.parent.name == "files":
            yield path


def tested() -> dict[str, str]:
    """Return the digest with which the tests of each name last passed."""
    return dict(line.split() for line in TESTED.read_text("utf-8").splitlines())


def note(name: str, digest: str) -> None:
    """Note that the tests of a name passed."""
    lines = [" ".join(entry) for entry in sorted({**tested(), name: digest}.items())]
    TESTED.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    if "--note" in sys.argv:
        note(sys.argv[1], digest())
    else:
        sys.exit(tested().get(sys.argv[1]) != digest())
