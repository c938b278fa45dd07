"""Name temporary files and folders by their process, so that those of killed processes can be removed."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

__all__ = ["swept_prefix", "temporary_folder"]


def temporary_folder() -> Path:
    """Make a new folder among the temporary files of the system, and remove those of processes that have ended.

    >>> folder = temporary_folder()
    >>> folder.is_dir(), folder.name.startswith("spectral-latent-")
    (True, True)
    >>> folder.rmdir()
    """
    return Path(tempfile.mkdtemp(prefix=swept_prefix(Path(tempfile.gettempdir()), "spectral-latent-")))


def swept_prefix(folder: Path, prefix: str) -> str:
    """Return the beginning of the names of this process's own temporary files, which end in letters by chance.

    Files and folders of the same kind are removed if their processes, of this machine, have ended.
    """
    prefix += f"{_machine()}-"
    if os.name == "posix":  # other systems have no signal that only asks whether a process exists
        for path in folder.glob(f"{prefix}*"):
            _remove_if_ended(path, path.name.removeprefix(prefix).partition("-")[0])
    return f"{prefix}{os.getpid()}-"


def _machine() -> str:
    """Return a short digest of the name of the machine, and of the container within which a process has its number."""
    space = ""
    with suppress(OSError):  # other systems than Linux
        space = os.readlink("/proc/self/ns/pid")
    return blake2b(f"{platform.node()} {space}".encode(), digest_size=4).hexdigest()


def _remove_if_ended(path: Path, process: str) -> None:
    """Remove a temporary file or folder if its process has ended; what cannot be removed stays."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    except (OSError, ValueError, OverflowError):
        pass
