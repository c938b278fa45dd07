"""Processes that are killed while they save or parse, and what they leave."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psutil

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.files import load_model, save_model
from tests.toy import toy_treebank

__all__ = ["KINDS"]

COMMAND = [sys.executable, "-m", "spectral_latent"]
SAVE = """
import sys, numpy as np
from spectral_latent.files import save_model
print(flush=True)
for number in range(10**9):
    save_model(sys.argv[1], {"x": np.full(250_000, float(number))}, {"kind": "toy", "number": number})
"""
TREES = toy_treebank(400)
WORKER = "loky"  # in the command line of a worker, and of none of its helpers but the resource tracker
TRACKER = "resource_tracker"


def during_save(case: int, seed: int, folder: Path) -> str:
    """Kill a process that saves models of 2 MB one after another: "killed", or "left a file", which the next removes.

    Raises AssertionError or ModelFileError if the file is not a whole model.
    """
    path = folder / "model"
    save_model(path, {}, {"kind": "toy"})
    with subprocess.Popen([sys.executable, "-c", SAVE, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(f"{seed}:{case}").uniform(0.0, 0.1))
        process.kill()
    arrays, settings = load_model(path, "toy")
    assert not arrays or (arrays["x"] == settings["number"]).all()
    left = len(list(folder.iterdir())) - 1
    save_model(path, {}, {"kind": "toy"})
    assert [file.name for file in folder.iterdir()] == ["model"]
    return "left a file" if left else "killed"


@cache
def _parser(folder: Path) -> tuple[Path, Path, bytes]:
    """Make a parser, sentences, and what the command must print."""
    path = folder / "model"
    model = ConstituencyModel.train(TREES[:50])
    model.save(path)
    source = folder / "sentences.txt"
    sentences = [list(tree.words()) for tree in TREES]
    source.write_text("".join(" ".join(words) + "\n" for words in sentences), encoding="utf-8")
    expected = "".join(parse.tree.bracketed() + "\n" for (parse,) in model.parse_all(sentences))
    return path, source, expected.encode()


def during_parsing(case: int, seed: int, folder: Path) -> str:
    """Kill a worker of a command that parses: "killed", or "finished before" if there was no worker any more.

    Raises AssertionError unless every tree is printed once, in order, and the same as without a kill.
    """
    path, source, expected = _parser(folder)
    command = [*COMMAND, "parse", str(path), str(source), "-q", "--jobs", "2"]
    rng = random.Random(f"{seed}:{case}")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        workers: list[psutil.Process] = []
        while not workers and process.poll() is None:
            time.sleep(0.02)  # looking takes the time of the processor from the command
            workers = _workers(process.pid)
        time.sleep(rng.uniform(0.0, 2.0))
        workers = _workers(process.pid)
        if workers:
            rng.choice(workers).kill()
        printed, _ = process.communicate()
    assert process.returncode == 0
    assert printed == expected
    return "killed" if workers else "finished before"


def _workers(pid: int) -> list[psutil.Process]:
    """List the workers of a process."""
    found = []
    try:
        for child in psutil.Process(pid).children():
            line = " ".join(child.cmdline())
            if WORKER in line and TRACKER not in line:
                found.append(child)
    except psutil.NoSuchProcess:
        return []
    return found


KINDS: dict[str, Callable[[int, int, Path], str]] = {
    "save": during_save,
    "parsing": during_parsing,
}
