"""Find results that are older than the code that they measure, by git.

A row is stale if a room that its section of plan.toml names has other statements now than at the row's commit.
Comments, docstrings and imports don't count.  Rows of parsers that are not this library's are never stale.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from benchmarks import _results
from benchmarks._results import Benchmark, Result, git, peer_of, settings

LIBRARY = "spectral_latent"


def is_checkout() -> bool:
    """Tell whether git knows the history of the code."""
    return git("rev-parse", "--verify", "HEAD") is not None


def stale(results: Iterable[Result], benchmarks: Iterable[Benchmark]) -> Iterator[str]:
    """Say of each row that is older than the code what has changed, and which benchmarks make its table."""
    several = list(benchmarks)
    for row in results:
        makers = [benchmark for benchmark in several if row.table in benchmark.tables]
        change = None if peer_of(row) else change_since(row.commit, tuple(settings()["rooms"][makers[0].title]))
        if change is not None:
            yield f"{', '.join(row.name)}: {change} ({' '.join(benchmark.name for benchmark in makers)})"


@cache
def change_since(commit: str, measured: tuple[str, ...]) -> str | None:
    """Say what has changed in rooms since a commit; None if nothing has."""
    commit = commit.rstrip("+")  # with a plus, the code was a little newer than the commit
    paths = [f"{LIBRARY}/{room}" for room in measured]
    names = git("diff", "--name-only", commit, "--", *paths)
    if names is None:
        return f"commit {commit} is not in this clone"
    for name in names.splitlines():
        now = _results.ROOT / name
        then = git("show", f"{commit}:{name}") if now.suffix == ".py" else None  # a model is no text
        if then is None or not now.exists() or _statements(then) != _statements(now.read_text(encoding="utf-8")):
            return f"{name} has changed since {commit}"
    return None


def _statements(text: str) -> str:
    """Write what a module does, without comments, docstrings, imports and the list of its names."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_idle(part)]
    return ast.dump(tree)


def _is_idle(part: ast.stmt) -> bool:
    """Tell whether a statement computes nothing."""
    if isinstance(part, ast.Assign):
        return ast.unparse(part.targets[0]) == "__all__"
    is_text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
    return is_text or isinstance(part, ast.Import | ast.ImportFrom)
