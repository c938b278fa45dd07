"""The command as a process: what it imports, and how it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.reference import commands

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-W", "error", "-m", "spectral_latent"]


def start(*arguments: str | Path, stdin: Any = subprocess.PIPE, **variables: str) -> subprocess.Popen[bytes]:
    environment = (
        os.environ | variables | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    )
    outputs = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, stdin=stdin, **outputs)


def test_help_imports_nothing_heavy() -> None:
    """Neither that of any command nor the version, all asked for in one process."""
    script = (
        "import sys\n"
        "from spectral_latent.cli import main\n"
        f"for arguments in {[['--version'], *([*path, '--help'] for path in commands())]!r}:\n"
        "    main(arguments, standalone_mode=False)\n"
        "    heavy = {'numba', 'nltk', 'numpy', 'scipy'} & set(sys.modules)\n"
        "    heavy and sys.exit(f'{arguments} imports {heavy}')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a single process")
def test_interrupt(model: Path) -> None:
    ours = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child inherits it if we were told to ignore it
    with start("parse", model) as process:
        signal.signal(signal.SIGINT, ours)
        assert process.stdin and process.stdout
        process.stdin.write(b"They see it .\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert b"Traceback" not in errors and b"Interrupted" in errors


@pytest.mark.skipif(sys.platform == "win32", reason="no shell that closes streams")
def test_closed_streams_are_named_if_they_are_needed(run: Run, model: Path, tmp_path: Path) -> None:
    """No file that the command opens is taken for one of the streams."""
    (tmp_path / "text").write_text("They see it .\n")
    words = ["parse", str(model), str(tmp_path / "text"), "-o", str(tmp_path / "out")]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *COMMAND, *words], check=False)
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == run(*words[:3]).stdout
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "parse", str(model)]
    done = subprocess.run(command, input=b"They see it .\n", capture_output=True, check=False)
    assert done.returncode == 1 and b"standard output: closed" in done.stderr


def test_a_pipe_is_tagged_as_it_comes(tagger: Path) -> None:
    """In UTF-8 whatever the locale, until nobody reads."""
    with start("tag", tagger, "-q", PYTHONIOENCODING="ascii") as process:
        assert process.stdin and process.stdout and process.stderr
        for _ in range(3):
            process.stdin.write("They see 東京 .\n\nThey ".encode())
            process.stdin.flush()
            assert process.stdout.readline().decode().startswith("They/PRP see/VBP 東京/")
            assert process.stdout.readline() == b"\n"
            process.stdin.write(b"left .\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"They/PRP left/VBD ./.\n"
        process.stdout.close()
        process.stdin.write(b"They see it .\n" * 3)
        process.stdin.close()
        assert process.wait() == 141
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="standard input has no name")
def test_standard_input_is_read_and_not_overwritten(model: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("They see it .\n")
    with (tmp_path / "text").open() as file, start("parse", model, "-o", tmp_path / "text", stdin=file) as process:
        _, errors = process.communicate()
    assert (process.returncode, b"a file to read" in errors) == (1, True)
    assert (tmp_path / "text").read_text() == "They see it .\n"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals")
@pytest.mark.parametrize(("options", "status"), [(["parse", "--text"], 0), (["score"], 1)])
def test_a_terminal_is_told_what_is_awaited(model: Path, options: list[str], status: int) -> None:
    keyboard, terminal = os.openpty()
    with start(*options, model, stdin=terminal) as process:
        assert process.stderr
        told = process.stderr.readline()
        os.write(keyboard, b"\x04")  # Ctrl-D
        assert b"from the terminal" in told
        assert process.wait() == status
    os.close(keyboard)
    os.close(terminal)
