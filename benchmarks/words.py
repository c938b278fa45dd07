"""Teach `en` words that its trees lack: the verbs of `words.txt`, with the tags that they may have.

    python -m benchmarks.words            # write words.txt anew; needs: pip install lemminflect wordfreq

A line of `words.txt` has a word, the tags of Penn that it may have, and how verbal its lemmas are: the share, in
tenths, of verbs such as *barked* and *barking* among the occurrences of all forms of the lemmas.  It lists what may be
a verb: lemmas whose forms make up `FAMILY` of English text, with their forms in VBZ, and other forms that make up
`FORM` of it.  Lemmas and forms are those of lemminflect (MIT; from the SPECIALIST Lexicon of the National Library of
Medicine), occurrences those of wordfreq (CC BY-SA 4.0).

`place` writes words over others with the same tags, in copies of short trees, which have the weight `WEIGHT`.  A word
that occurs at most `RARE` times has a place for each tag with a share of `LEAST`, and one more for the likeliest of
several tags; VBP has none beside VB.  How often a word has its tags is learnt from the words of trees that may have the
same tags (`learn_shares`).  A new verb also has places in which it is alone in a VP, as in *The cat purrs .*  A word
that is more frequent has places for the tags that it was never seen with.  So phrases stay as frequent as they are in
trees, and a lemma with its tags tells those of its other forms, which have its spelling and an ending.
"""

import gzip
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.cleaning import tagged_words

WORDS = Path(__file__).with_name("words.txt")
FAMILY = 1.2e-6
FORM = 4e-6
COLUMNS = {  # the tags of a lemma, and of its forms in each column of lemminflect
    "noun": ("NN", "NNS"),
    "verb": ("VB VBP", "VBD", "VBN", "VBG", "VBZ"),
    "adj": ("JJ", "JJR", "JJS"),
    "adv": ("RB", "RBR", "RBS"),
}
TAGS = frozenset(tag for columns in COLUMNS.values() for tags in columns for tag in tags.split())

FINITE = ("VBD", "VBP", "VBZ")

SHORT = 10  # words of the longest trees that are copied
RARE = 2.0  # occurrences
FREQUENT = 100.0  # occurrences from which a word has no place, and is not replaced
ALONE = "VP "
WEIGHT = 0.1
LEAST = 0.05
STRENGTH = 5.0  # words


class Word(NamedTuple):
    """A word, the tags that it may have, in one text, and how verbal its lemmas are, from 0 to 10."""

    form: str
    tags: str
    verbal: int


def read_words() -> list[Word]:
    """Read the words of `words.txt`, the most frequent first."""
    rows = (line.split("\t") for line in WORDS.read_text(encoding="ascii").splitlines())
    return [Word(form, tags, int(verbal)) for form, tags, verbal in rows]


def learn_shares(words: Sequence[Word], seen: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Learn how often each word has each tag, from seen words that may have the same tags and are as verbal.

    All seen words with the same tags count as `STRENGTH` words that are as verbal, too; one more word is among them,
    which has its tags equally often.

    seen: the number of times that words of trees have each tag.
    """
    alike: dict[tuple[str, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    same_tags: dict[str, dict[str, float]] = {}
    for word in words:
        tags = word.tags.split()
        far = same_tags.setdefault(word.tags, defaultdict(float, {tag: 1.0 / len(tags) for tag in tags}))
        counts = {tag: count for tag, count in seen.get(word.form, {}).items() if tag in TAGS}
        for tag, count in counts.items():
            share = count / sum(counts.values())
            alike[word.tags, word.verbal][tag] += share
            far[tag] += share
    shares = {}
    for word in words:
        near, far = alike[word.tags, word.verbal], same_tags[word.tags]
        own, rest = sum(near.values()), STRENGTH / sum(far.values())
        shares[word.form] = {tag: (near[tag] + rest * far[tag]) / (own + STRENGTH) for tag in sorted(far)}
    return shares


def places_of(word: Word, share: Mapping[str, float], counts: Mapping[str, float]) -> list[str]:
    """List the places of a word: a tag, or a tag that is alone in a VP.

    share: how often the word has each tag.
    counts: the number of times that it was seen with each tag.
    """
    tags = word.tags.split()
    likely = [tag for tag in tags if share[tag] >= LEAST and not (tag == "VBP" and "VB" in tags)]
    if sum(counts.values()) > RARE:
        return [tag for tag in likely if tag not in counts]
    likeliest = max(tags, key=lambda tag: share[tag])
    again = [likeliest] if len(tags) > 1 and likeliest in likely else []
    alone = [] if counts else [f"{ALONE}{tag}" for tag in tags if tag == "VBP" or (tag in FINITE and tag in likely)]
    return [*likely, *again, *alone]


def place(trees: Sequence[tuple[Phrase, float]], words: Sequence[Word]) -> Iterator[tuple[Phrase, float]]:
    """Write words into copies of short trees, which have weights of their own.

    trees: trees with their weights.
    """
    seen: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for tree, weight in trees:
        for tag, form in tagged_words(tree):
            seen[form][tag] += weight
    frequent = {form for form, counts in seen.items() if sum(counts.values()) >= FREQUENT}
    replaced = {form for form in seen if form not in frequent and form.isalpha() and form.islower()}
    shares = learn_shares(words, seen)
    queues: dict[str, deque[str]] = defaultdict(deque)
    for word in words:
        if word.form not in frequent:
            for each in places_of(word, shares[word.form], seen.get(word.form, {})):
                queues[each].append(word.form)
    short = {tree.bracketed(): tree for tree, _ in trees if sum(1 for _ in tree.words()) <= SHORT}
    left = [short[text] for text in sorted(short, key=lambda text: blake2b(text.encode()).digest())]
    while left:  # only trees with a place are read again
        copied = [(tree, _with_words(tree, False, queues, replaced)) for tree in left]
        yield from ((copy, WEIGHT) for tree, copy in copied if copy != tree)
        left = [tree for tree, copy in copied if copy != tree]


def _with_words(tree: Phrase, alone: bool, queues: Mapping[str, deque[str]], replaced: Collection[str]) -> Phrase:
    """Write the next words of the queues of places into a tree.

    alone: whether the tree is alone in a VP.
    """
    if tree.is_preterminal():
        queue = (alone and queues.get(f"{ALONE}{tree.label}")) or queues.get(tree.label)
        return Phrase(tree.label, (queue.popleft(),)) if queue and tree.children[0] in replaced else tree
    alone = tree.label == "VP" and len(tree.children) == 1
    children = (_with_words(x, alone, queues, replaced) for x in tree.children if isinstance(x, Phrase))
    return Phrase(tree.label, tuple(children))


def _file_of(package: str, name: str) -> Path:
    """Find a file of a package, which is not imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed; pip install lemminflect wordfreq")
    return Path(spec.origin).parent / name


def make_words() -> list[Word]:
    """Make the words of `words.txt`, the most frequent first."""
    with gzip.open(_file_of("wordfreq", "data/large_en.msgpack.gz")) as stream:
        _, *groups = import_module("msgpack").unpackb(stream.read())  # group n has words of frequency 10^(-n/100)
    frequency: dict[str, float] = defaultdict(float)
    frequency.update({word: 10.0 ** (-number / 100) for number, group in enumerate(groups) for word in group})
    tags: dict[str, set[str]] = defaultdict(set)
    lemmas: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))  # the forms of lemmas with tags
    with gzip.open(_file_of("lemminflect", "resources/infl_lu.csv.gz"), "rt", encoding="utf-8") as stream:
        for line in stream:
            lemma, kind, *columns = line.strip().split(",")
            if kind == "verb" and len(columns) > 1:
                columns[1] = columns[1] or columns[0]  # the participle is the past
            for names, column in zip(COLUMNS.get(kind, ()), [lemma, *columns], strict=False):
                for form in filter(str.isalpha, column.split("/")):
                    if form.isascii() and form.islower():
                        tags[form].update(names.split())
                        lemmas[lemma][form].update(names.split())
    family: dict[str, float] = {}
    total: dict[str, float] = defaultdict(float)  # of each form, the sums over its lemmas
    verbal: dict[str, float] = defaultdict(float)
    for lemma, forms in lemmas.items():
        family[lemma] = sum(frequency[form] for form in sorted(forms))
        verbs = [x for x in sorted(forms) if forms[x] & {"VBD", "VBN", "VBG"} and not forms[x] & {"NN", "JJ"}]
        for form in forms:
            total[form] += family[lemma]
            verbal[form] += sum(frequency[verb] for verb in verbs)
    words = [
        Word(form, " ".join(sorted(tags[form])), round(10 * verbal[form] / total[form]))
        for form in sorted(tags, key=lambda form: (-frequency[form], form))
        if family.get(form, total[form] if "VBZ" in tags[form] else 0.0) >= FAMILY or frequency[form] >= FORM
    ]
    return [word for word in words if "VB" in word.tags]


def main() -> None:
    """Write `words.txt`."""
    WORDS.write_text("".join(f"{form}\t{tags}\t{verbal}\n" for form, tags, verbal in make_words()), encoding="ascii")


if __name__ == "__main__":
    main()
