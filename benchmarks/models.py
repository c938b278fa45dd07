"""Build the models that come with the library: `make models`, or some of them.

    python -m benchmarks.models            # all
    python -m benchmarks.models en is      # some

Needs the treebanks of $SPECTRAL_LATENT_DATA.  The same treebanks give the same bytes on processors of one kind.  Each
file has a record of what it was made of.

`en` learns phrases from GUM, and everyday words from EWT.  A parser of the preset `accurate`, trained on GUM, finds
trees of the sentences of EWT under their gold tags (`complete`).  One grammar with a model of spans then learns from
both; a found tree counts as `FOUND` times its probability.  Both treebanks spell quotation marks by one character,
and EWT has words of hyphens, which the Penn Treebank does not.  Trees with such marks come in both spellings.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.toy import train_toy
from spectral_latent.constituency import (
    ConstituencyModel,
    Phrase,
    PhraseConstraints,
    SpanOptions,
    preset,
)
from spectral_latent.constituency.cleaning import tagged_words
from spectral_latent.corpora import constituency_trees, dependency_trees
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.dependency import preset as dependency_preset
from spectral_latent.dependency.tree import BLANK
from spectral_latent.grammar.options import clusters_then_em
from spectral_latent.lexicon import LexiconOptions
from spectral_latent.model import Partial, complete
from spectral_latent.ready import FOLDER, listed_models
from spectral_latent.sequence import LatentTagger
from spectral_latent.sequence import preset as tagger_preset

FOUND = 0.3  # the weight of a found tree of probability 1
SINCE = 1800
LONGEST = 60  # words of a sentence whose tree is found
OPENING = ("``", '"', "“", "„")
CLOSING = ("''", '"', "”")
HYPHEN = "HYPH"
NO_TAGS = ("GW", "XX")  # of words that are parts of words, or foreign to the sentence


class Recipe(NamedTuple):
    """What a ready model is made of, and how."""

    sources: Sequence[str]
    """The files, below the folder of data; patterns are expanded."""
    train: Callable[[Sequence[Path]], Any]
    folder: Path | None = None
    """The folder of the files; None for the folder of data."""


def words_spelt(tree: Phrase, opening: str, closing: str) -> Phrase:
    """Spell the quotation marks of a tree."""
    word = tree.children[0]
    if tree.label in ("``", "''") and isinstance(word, str) and word in (*OPENING, *CLOSING):
        return Phrase(tree.label, (opening if tree.label == "``" else closing,))
    children = (words_spelt(x, opening, closing) if isinstance(x, Phrase) else x for x in tree.children)
    return Phrase(tree.label, tuple(children))


def in_both_spellings(weighted: Iterable[tuple[Phrase, float]]) -> Iterator[tuple[Phrase, float]]:
    """Give each tree with quotation marks twice: as it is, and as the Penn Treebank spells them."""
    for tree, weight in weighted:
        spelt = words_spelt(tree, OPENING[0], CLOSING[0])
        yield from [(tree, weight)] if spelt == tree else [(tree, weight / 2), (spelt, weight / 2)]


def with_tags(sentence: DependencySentence, tags: set[str], joins: bool) -> Partial[PhraseConstraints]:
    """Make a sentence whose tags are known, where the parser has them.

    joins: whether parts of words are joined at hyphens; the tags of the joined words are unknown.
    """
    words: list[str] = []
    known: dict[int, str] = {}
    hyphens = [at for at, tag in enumerate(sentence.xpos) if tag == HYPHEN and 0 < at < len(sentence.forms) - 1]
    for at, (form, tag) in enumerate(zip(sentence.forms, sentence.xpos, strict=True)):
        if joins and (at in hyphens or at - 1 in hyphens):
            words[-1] += form
            known.pop(len(words) - 1, None)
            continue
        if tag in tags:
            known[len(words)] = tag
        words.append(form)
    return Partial(tuple(words), PhraseConstraints(tags=known))


def train_english(files: Sequence[Path]) -> ConstituencyModel:
    """Train `en` on files of GUM and one of EWT."""
    *trees, tagged = files
    gold = list(in_both_spellings((tree, 1.0) for file in trees for tree in constituency_trees(file)))
    teacher = ConstituencyModel.train([t for t, _ in gold], preset("accurate"), weights=[w for _, w in gold])
    tags = {tag for tree, _ in gold for tag, _ in tagged_words(tree)}.difference(NO_TAGS)
    partial = [
        with_tags(sentence, tags, joins)
        for sentence in dependency_trees(tagged)
        for joins in ((False, True) if HYPHEN in sentence.xpos else (False,))
        if 1 < len(sentence.forms) <= LONGEST
    ]
    found = in_both_spellings((tree, FOUND * share) for tree, share in complete(teacher.parse_all(partial)))
    every = [*gold, *found]
    (fast,) = preset("fast")
    options = replace(fast, lexicon=LexiconOptions(min_expected=5e-3), spans=SpanOptions(), compact=True)
    return ConstituencyModel.train([tree for tree, _ in every], options, weights=[weight for _, weight in every])


def train_dependencies(files: Sequence[Path]) -> DependencyModel:
    """Train `en-ud` on a file of EWT: a parser that finds universal tags itself, and a tagger of Penn tags."""
    # Raw text has no morphological features, so relations must not rely on them.
    sentences = [tree._replace(feats=(BLANK,) * len(tree.forms)) for tree in dependency_trees(files[0])]
    (fast,) = dependency_preset("fast")
    lexicon = replace(fast.lexicon, min_expected=1e-3)
    model = DependencyModel.train(sentences, replace(fast, lexicon=lexicon, compact=True))
    fast_tagger = tagger_preset("fast")
    options = replace(fast_tagger, lexicon=LexiconOptions(min_expected=1e-2), compact=True)
    tagger = LatentTagger.train([list(zip(x.forms, x.xpos, strict=True)) for x in sentences], options)
    return replace(model, taggers=(replace(tagger, tagset="xpos"),))


def train_icelandic(files: Sequence[Path]) -> ConstituencyModel:
    """Train `is` on the training files of IcePaHC since `SINCE`; all would double the file for 3 points of F1."""
    (fast,) = preset("fast")
    options = replace(
        fast,
        estimator=clusters_then_em(4, 2, 2),
        lexicon=LexiconOptions(min_expected=3e-2),
        function_labels=True,
        compact=True,
    )
    train = [f for number, f in enumerate(files, start=1) if number % 10 not in (8, 9) and int(f.name[:4]) >= SINCE]
    return ConstituencyModel.train((tree for file in train for tree in constituency_trees(file)), options)


RECIPES = {
    "en": Recipe(("treebanks/gum_open/*.ptb", "ud/en_ewt/en_ewt-ud-train.conllu"), train_english),
    "en-ud": Recipe(("ud/en_ewt/en_ewt-ud-train.conllu",), train_dependencies),
    "is": Recipe(("treebanks/icepahc/*.psd",), train_icelandic),
    "toy": Recipe(("toy.txt",), train_toy, Path(__file__).parent),
}


def record_of(name: str, files: Sequence[Path]) -> dict[str, Any]:
    """Record what a model was made of: each file, with the digest (BLAKE2b) of its bytes."""
    digests = [{"name": file.name, "content": blake2b(file.read_bytes(), digest_size=32).hexdigest()} for file in files]
    (about,) = (entry for entry in listed_models() if entry.name == name)
    return {"command": f"python -m benchmarks.models {name}", "licence": about.licence, "sources": digests}


def build(name: str, folder: Path) -> Path:
    """Train a model, and save it in a folder."""
    recipe = RECIPES[name]
    data = recipe.folder or Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared"))
    files = [file for pattern in recipe.sources for file in sorted(data.glob(pattern))]
    for pattern in recipe.sources:
        if not any(data.glob(pattern)):
            raise SystemExit(f"{data / pattern}: no such files; name the folder of treebanks by SPECTRAL_LATENT_DATA")
    made = folder / f"{name}.model"
    recipe.train(files).save(made, record_of(name, files))
    return made


def main() -> None:
    """Build the models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="[default: all]")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="[default: the package]")
    arguments = parser.parse_args()
    for name in arguments.names or RECIPES:
        made = build(name, arguments.folder)
        print(f"{made}: {made.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
