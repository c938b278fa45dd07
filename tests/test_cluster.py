"""A Dask cluster computes the same as one process.

All tests of a cluster are here, because they share one cluster: its processes take longer to start than the tests.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import pytest

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.corpora import parse_brackets
from spectral_latent.estimation import parallel_map
from tests.constituency.test_model import MEMBERS, SENTENCES
from tests.estimation.test_parallel import process
from tests.model.test_batches import check_that_each_process_reads_the_model_once
from tests.streams import make_shards

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start a cluster of two workers on this machine, each a process, and return its client.

    All workers are forked from a process that has imported this module.
    """
    import dask  # not at the head of the module, because every process that collects tests would take a second
    from dask.distributed import Client, LocalCluster
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", __name__])
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
            Client(workers) as client,
        ):
            yield client


@pytest.fixture(autouse=True)
def engine(cluster: Any) -> Iterator[None]:
    """Let the cluster do the work of joblib when both workers are there."""
    cluster.wait_for_workers(2)
    with joblib.parallel_config(backend="dask"):
        yield


def test_a_cluster_takes_part_whatever_the_number_of_jobs() -> None:
    assert os.getpid() not in parallel_map(process, range(4), 1)


def test_each_process_reads_the_model_once() -> None:
    check_that_each_process_reads_the_model_once(None)


def test_models_are_learnt_and_parse_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = list(parse_brackets(SENTENCES * 5))
    make_shards(monkeypatch, 150, in_files=True)
    ConstituencyModel.train(trees, MEMBERS, jobs=None).save(tmp_path / "distributed")
    model = ConstituencyModel.load(tmp_path / "distributed")
    sentences = [list(tree.words()) for tree in trees[:20]]
    assert list(model.parse_all(sentences, jobs=None)) == [[model.parse(words)] for words in sentences]
    with joblib.parallel_config(backend="sequential"):
        ConstituencyModel.train(trees, MEMBERS, jobs=1).save(tmp_path / "alone")
    assert (tmp_path / "distributed").read_bytes() == (tmp_path / "alone").read_bytes()
