"""Import numba without the settings of the current folder, keep compiled code in files, and say what is compiled.

numba reads `.numba_config.yaml` of the current folder, which could name the folder from which compiled code is loaded.
Whoever prepares a folder of texts could then run code.
"""

import gc
import hashlib
import logging
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import parent_process
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["compile_whole", "is_private", "register_part"]

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
    from numba.core.codegen import JITCodeLibrary
    from numba.core.dispatcher import Dispatcher
    from numba.core.registry import cpu_target
    from numba.extending import overload
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


class _CompiledFiles(FunctionCache):
    """Files with the compiled code of a function; their names have a digest of the sources of the code.

    numba compiles a function again if its source has changed.  It does not compare the sources of the parts that the
    function calls, nor the sources of the records that it reads; and it cannot read its own files if the class of a
    record has moved.  With the digest of all these sources, changed code has another file, and is compiled again.

    Raises RuntimeError if there is no folder for the files that belongs to the user alone."""

    _impl_class = CodeFolder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        digest = _digest(function.__module__)
        file: Any = IndexDataCacheFile
        self._cache_file = file(self._cache_path, f"{self._impl.filename_base}.{digest}", digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read the code for arguments of some types; None without a file, or where it is damaged and replaced."""
        try:
            if not is_private(self._cache_path):  # others may have got the right to write since it was chosen
                return None
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # whatever pickle makes of the bytes that a full disk or a power failure has left
            with suppress(OSError):
                self._cache_file.flush()  # type: ignore[no-untyped-call]
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for arguments of some types, unless it cannot be written, as on a full disk."""
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def _digest(module: str) -> str:
    """Digest the source of a module and all sources of its package that it depends on.

    The times of the files do not count, so that an installation over an equal one finds the code again."""
    digest = hashlib.sha256()
    for name in sorted(_dependencies(module)):
        source = getattr(sys.modules[name], "__file__", None)
        if source is not None and os.path.exists(source):
            status = os.stat(source)
            digest.update(name.encode() + _content(source, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:12]


@cache
def _content(source: str, size: int, time: int) -> bytes:
    """Digest the text of a file, which is read again in this process only after it has changed."""
    return hashlib.sha256(Path(source).read_bytes()).digest()


def _dependencies(module: str) -> set[str]:
    """Find the modules on which a module depends: itself, and all modules of its package from which it gets names."""
    package = module.partition(".")[0]
    found = {module}
    waiting = [module]
    while waiting:
        for value in list(vars(sys.modules[waiting.pop()]).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if (
                isinstance(name, str)
                and name.partition(".")[0] == package
                and name in sys.modules
                and name not in found
            ):
                found.add(name)
                waiting.append(name)
    return found


def register_part(called: Callable[..., Any], function: Callable[..., Any], settings: dict[str, Any]) -> None:
    """Let compiled code that calls a function of Python run the compiled form of another one, or of the same."""

    def chosen(*args: Any) -> Any:
        return function

    options: Any = settings
    overload(called, jit_options=options, strict=False)(chosen)


def compile_whole(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Make a dispatcher that compiles a function for the types of its arguments, and keeps the code in files."""
    dispatcher = njit(**settings)(function)
    if isinstance(dispatcher, Dispatcher):  # if compilation is switched off, it is the function itself
        # Keep no code if neither the folder of the source nor the folder of the user's caches is the user's own.
        with suppress(RuntimeError):
            dispatcher._cache = _CompiledFiles(function)  # type: ignore[attr-defined]
    return dispatcher


class _CodeOfPart(JITCodeLibrary):
    """The code of a part, which is optimised as a part of each function that calls it, and not alone before."""

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""


class _Compilation(event.Listener):
    """Announce the first compilation; during each one, stop the collection of garbage, and do not optimise parts alone.

    Functions of this library whose code is read from a file are not compiled.  Processes that another one has started
    are silent.  Almost all objects that numba makes are in use until a compilation ends, and looking through them for
    garbage would take a sixth of the time.  Optimising parts alone, before their callers, would take a tenth."""

    def __init__(self) -> None:
        self._is_announced = False
        self._depth = 0  # the number of functions that are being compiled, each as a part of the one before
        self._collects = False  # whether garbage was collected before
        self._generator: Any = cpu_target.target_context.codegen()
        self._whole = self._generator._library_class  # holds the code of a function

    def on_start(self, event: event.Event) -> None:
        """Print the message unless it was printed before, and stop the collection of garbage."""
        if not _is_own(event):
            return
        if not self._is_announced and parent_process() is None:
            function = event.data["dispatcher"].py_func
            first = f"{function.__module__.removeprefix('spectral_latent.')}.{function.__name__}"
            because = why_unkept(function.__code__.co_filename)
            _log.warning(
                "Compiling %s and other functions on first use, which takes up to a minute, %s",
                first,
                f"and again in each process: {because}" if because else "once",
            )
        self._is_announced = True
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        else:
            self._generator._library_class = _CodeOfPart
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Collect garbage again when the compilation of a function and its parts has ended."""
        if not _is_own(event):
            return
        self._depth -= 1
        if self._depth <= 1:
            self._generator._library_class = self._whole
        if self._depth == 0 and self._collects:
            gc.enable()


def _is_own(event: event.Event) -> bool:
    """Tell whether the compiled function belongs to this library."""
    return bool(event.data["dispatcher"].py_func.__module__.startswith("spectral_latent."))


event.register("numba:compile", _Compilation())  # type: ignore[no-untyped-call]
