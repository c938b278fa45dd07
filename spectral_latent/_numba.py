"""Import numba without the settings of the current folder, and choose the folder of compiled code.

numba reads `.numba_config.yaml` of the current folder, which could name the folder from which compiled code is loaded.
Whoever prepares a folder of texts could then run code.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

__all__ = [
    "CodeFolder",
    "Dispatcher",
    "FunctionCache",
    "IndexDataCacheFile",
    "event",
    "is_private",
    "njit",
    "register_jitable",
    "why_unkept",
]

_SETTINGS = ".numba_config.yaml"
_VARIABLE = "NUMBA_CACHE_DIR"
_log = logging.getLogger(__name__)


@contextmanager
def _no_settings_of_the_folder() -> Iterator[None]:
    """Hide YAML from numba if the current folder has settings for it, and say that they are not read."""
    if not os.path.lexists(_SETTINGS) or "numba" in sys.modules:
        yield
        return
    _log.warning("%s is not read: settings of numba come from environment variables alone", os.path.abspath(_SETTINGS))
    hidden: Any = sys.modules
    module = hidden.get("yaml")
    hidden["yaml"] = None  # an import of it fails
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A Numba config file is found")
            yield
    finally:
        del hidden["yaml"]
        if module is not None:
            hidden["yaml"] = module


with _no_settings_of_the_folder():
    from numba import njit
    from numba.core import config, event
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
    from numba.core.dispatcher import Dispatcher
    from numba.extending import register_jitable
    from numba.misc.appdirs import user_cache_dir

config._config_fname = ""  # numba looks for the file again whenever it compiles


class CodeFolder(CompileResultCacheImpl):
    """Where numba keeps the compiled code of a function: in a folder that this library has chosen.

    Raises RuntimeError if there is no such folder."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._py_file = code.co_filename  # for messages of numba
        self._lineno = code.co_firstlineno
        self._locator = self
        name = f"{Path(self._py_file).stem}.{function.__qualname__}"
        self._filename_base = self.get_filename_base(name, getattr(sys, "abiflags", ""))  # type: ignore[no-untyped-call]
        self._folder = _folder_for(self._py_file)
        if self._folder is None:
            raise RuntimeError("no folder for compiled code")

    def get_cache_path(self) -> str | None:
        """Return the folder."""
        return self._folder

    def ensure_cache_path(self) -> None:
        """Raise PermissionError if others have got the right to write to the folder since it was chosen."""
        if self._folder is None or not is_private(self._folder):
            raise PermissionError(f"{self._folder} is no longer private")

    def get_source_stamp(self) -> str:
        """Return what changes with the source; names of files have a digest of all sources."""
        return ""

    def get_disambiguator(self) -> str:
        """Return what tells functions of the same name apart."""
        return str(self._lineno)


def _folder_for(source: str) -> str | None:
    """Find the folder for the compiled code of a source file; None if there is none, or no such file."""
    if not os.path.exists(source):
        return None
    return _folder_of(os.path.dirname(os.path.abspath(source)), os.environ.get(_VARIABLE))


@cache
def _folder_of(sources: str, given: str | None) -> str | None:
    """Choose the folder for the compiled code of a folder of sources: a private one, or None."""
    name = f"{os.path.basename(sources)}_{hashlib.sha256(sources.encode()).hexdigest()[:16]}"
    if given:
        lines = [[Path(given).absolute(), Path(given, name).absolute()]]
    else:
        lines = [[Path(sources, "__pycache__")]]
        with suppress(RuntimeError):  # a user without a home
            whole = Path(user_cache_dir("spectral_latent", appauthor=False))  # type: ignore[no-untyped-call]
            lines.append([whole, whole / name])
    for line in lines:
        with suppress(OSError):
            for folder in line:
                folder.mkdir(0o755 if folder.name == "__pycache__" else 0o700, parents=True, exist_ok=True)
            if all(map(is_private, line)) and os.access(line[-1], os.W_OK):
                return str(line[-1])
    return None


def is_private(folder: str | os.PathLike[str]) -> bool:
    """Tell whether a folder belongs to the user of this process, and nobody else may write to it."""
    if os.name != "posix":  # other systems keep rights in other ways
        return True
    status = os.stat(folder)
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def why_unkept(source: str) -> str | None:
    """Say why the compiled code of a source file is not kept; None if it is kept, or if there is no such file."""
    if _folder_for(source) or not os.path.exists(source):
        return None
    if given := os.environ.get(_VARIABLE):
        return f"{_VARIABLE}={given} is no folder that belongs to you and that nobody else may write to"
    return f"no folder for it belongs to you and may be written by nobody else; name one by {_VARIABLE}"
