"""Make small shards of treebanks, in memory or in files."""

import pytest

from spectral_latent.estimation import _treebank


def make_shards(monkeypatch: pytest.MonkeyPatch, size: int, *, in_files: bool) -> None:
    """Make the reader of treebanks begin a new shard after so many nodes, and keep shards in files or not."""
    monkeypatch.setattr(_treebank, "SHARD_NODES", size)
    monkeypatch.setattr(_treebank, "_MEMORY", 0 if in_files else 1 << 40)
