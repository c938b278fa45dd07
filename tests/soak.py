"""Print the resident memory of a process that parses and tags a great deal; the status is 1 if it keeps growing.

    python -m tests.soak                          # 100,000 sentences parsed, 1,000,000 words tagged
    python -m tests.soak --sentences 5000 --words 50000

A quarter of the words are new.  In the first half, the memory for unseen words fills up; in the second half, nothing
should grow.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from itertools import islice

import psutil

from spectral_latent.constituency import ConstituencyModel
from spectral_latent.sequence import LatentTagger
from tests.toy import toy_treebank

MOST_GROWTH = 20.0  # megabytes, in the second half
_TAGGED = 100  # the number of sentences that are tagged at once
TREES = 1000  # drawn from the toy grammar


def sentences(seed: int) -> Iterator[list[str]]:
    """Draw sentences without end; a quarter of their words are new."""
    rng = random.Random(seed)
    known = [list(tree.words()) for tree in toy_treebank(TREES)]
    while True:
        yield [word if rng.random() < 0.75 else "".join(rng.choices("abcdefghij", k=8)) for word in rng.choice(known)]


def resident() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def growth(label: str, sizes: Iterator[int], amount: int) -> float:
    """Ask for answers of the sizes until they add up to `amount`, print the memory, and return the late growth."""
    done = 0
    memory: list[float] = []  # after each tenth of the amount
    for size in sizes:
        done += size
        if done * 10 >= amount * (len(memory) + 1):
            memory.append(resident())
            print(f"{label:<10}{done:>10,}{memory[-1]:>8.0f} MB", flush=True)
        if done >= amount:
            break
    return memory[-1] - memory[len(memory) // 2 - 1]


def main() -> int:
    """Parse and tag, and print the memory."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=1_000_000)
    given = parser.parse_args()
    phrases = ConstituencyModel.train(toy_treebank(TREES))
    tagger = LatentTagger.train([[(word, word[-1]) for word in tree.words()] for tree in toy_treebank(TREES)])

    parsed = (1 for _ in phrases.parse_all(sentences(1)))
    drawn = sentences(1)
    batches = iter(lambda: list(islice(drawn, _TAGGED)), [])
    tagged = (len(tags) for batch in batches for tags in tagger.tag_all(batch))
    grown = {
        "sentences": growth("sentences", parsed, given.sentences),
        "words": growth("words", tagged, given.words),
    }
    for label, megabytes in grown.items():
        print(f"{label:<10} grew by {megabytes:.1f} MB in the second half; {MOST_GROWTH:.0f} MB is the most")
    return int(max(grown.values()) > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
