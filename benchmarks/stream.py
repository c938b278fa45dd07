"""Parse or tag a great many sentences by one command, kill it twice, let it go on, and check its output.

    python benchmarks/stream.py                         # 1,000,000 sentences parsed
    python benchmarks/stream.py --sentences 50000 --jobs 2
    python benchmarks/stream.py --command tag

Sentences are drawn from 10,000 of the embedded grammar; the model is learnt from 1,000 of its trees.  The command is
killed by SIGKILL after a third and two thirds of the sentences, and goes on by `--resume`.  The resident memory of its
processes is printed after each tenth.  The output must be, byte for byte, the answers that the model gives to each
sentence alone; the status is 1 if it is not.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from hashlib import blake2b
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil
from _measure import print_head, print_row

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.sequence import LatentTagger

TREES = 1000  # the number of trees that the model learns from
DISTINCT = 10_000  # the number of distinct sentences
TENTHS = 10
SECONDS = 0.05  # between two looks at the progress of the command


def leaves(tree: Phrase) -> list[tuple[str, str]]:
    """List the words of a tree with their tags."""
    return [
        (node.children[0], node.label) for node in tree.nodes() if not isinstance(node, str) and node.is_preterminal()
    ]


def make_model(command: Literal["parse", "tag"], path: Path) -> list[bytes]:
    """Train and save a model, and return its answers to all sentences, in their order."""
    trees = embedded_treebank(DISTINCT)
    if command == "parse":
        parser = ConstituencyModel.train(trees[:TREES])
        parser.save(path)
        return [f"{parser.parse(list(tree.words())).tree.bracketed()}\n".encode() for tree in trees]
    tagger = LatentTagger.train(map(leaves, trees[:TREES]))
    tagger.save(path)
    words = [list(tree.words()) for tree in trees]
    pairs = (zip(row, tagger.tag(row), strict=True) for row in words)
    return [f"{' '.join(map('/'.join, row))}\n".encode() for row in pairs]


def write_sentences(n: int, answers: list[bytes], path: Path) -> str:
    """Write sentences that are drawn at random, and return the digest of their answers."""
    rng = random.Random(1)
    texts = [" ".join(tree.words()) + "\n" for tree in embedded_treebank(DISTINCT)]
    digest = blake2b()
    with path.open("w", encoding="utf-8") as file:
        for _ in repeat(None, n):
            place = rng.randrange(DISTINCT)
            file.write(texts[place])
            digest.update(answers[place])
    return digest.hexdigest()


def digest_of(path: Path) -> str:
    """Compute the digest of a file."""
    digest = blake2b()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def noted(progress: Path) -> int:
    """Return the number of sentences that an unfinished command has noted."""
    try:
        _, *notes = progress.read_bytes().rpartition(b"\n")[0].splitlines()
        return int(json.loads(notes[-1])["sentences"])
    except (FileNotFoundError, IndexError, ValueError):  # nothing is noted yet
        return 0


def megabytes(pid: int) -> float:
    """Return the resident memory of a process and of its children."""
    process = psutil.Process(pid)
    try:
        return sum(each.memory_info().rss for each in [process, *process.children(recursive=True)]) / 2**20
    except psutil.NoSuchProcess:
        return 0.0


def run(words: list[str], progress: Path, step: int, end: int | None) -> None:
    """Run the command, print its memory after each step of sentences, and kill it after `end` sentences if given."""
    due = noted(progress) // step + 1  # the number of the next step
    with subprocess.Popen(words) as process:
        while process.poll() is None:
            done = noted(progress)
            if done >= due * step:
                print_row([f"{done:,}"], {"MB": megabytes(process.pid)}, ["MB"], {"MB"})
                due = done // step + 1
            if end is not None and done >= end:
                process.kill()
                break
            time.sleep(SECONDS)
    if end is None and process.returncode:
        raise SystemExit(process.returncode)
    if end is not None:
        print_row([f"killed after {noted(progress):,}"], {}, [], ())


def main() -> int:
    """Run the command, and tell whether its output is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--command", choices=["parse", "tag"], default="parse")
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        model, source, output = (Path(folder, name) for name in ("model", "sentences.txt", "answers.txt"))
        expected = write_sentences(given.sentences, make_model(given.command, model), source)
        words = [sys.executable, "-m", "spectral_latent", given.command, str(model), str(source), "-o", str(output)]
        words += ["--resume", "--jobs", str(given.jobs)]
        progress = output.with_name("answers.txt.progress")
        step = max(1, given.sentences // TENTHS)
        print_head(["sentences"], ["MB"])
        for end in (given.sentences // 3, given.sentences * 2 // 3, None):
            run(words, progress, step, end)
        cost = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = cost.ru_utime + cost.ru_stime
        is_right = digest_of(output) == expected
        print(f"{given.sentences / seconds:,.0f} sentences per CPU second, {seconds:,.0f} seconds in all")
        print(f"The output is {'right' if is_right else 'WRONG'}: {output.stat().st_size:,} bytes")
    return int(not is_right)


if __name__ == "__main__":
    sys.exit(main())
