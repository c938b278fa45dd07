"""Build the models that come with the library: `make models`, or some of them.

    python -m benchmarks.models            # all
    python -m benchmarks.models en is      # some

Needs the treebanks of $SPECTRAL_LATENT_DATA.  The same treebanks give the same bytes on processors of one kind.  Each
file has a record of what it was made of.

`en` learns phrases from GUM, and everyday words from EWT.  The trees of GUM, which are silver, are mended by rules
(`benchmarks.silver`).  A parser of the preset `accurate`, trained on GUM, finds trees of the sentences of EWT under
their gold tags, and under brackets that their gold dependencies require or forbid (`find_trees`).  One grammar with a
model of spans then learns from both; a found tree counts as `FOUND` times its probability.  It also learns from short
everyday sentences, whose trees were written for it (`everyday_training.mrg`; `everyday.mrg` is a dev set).  Copies of
short trees have verbs that all these lack (`benchmarks.words`).  Both treebanks spell quotation marks by one character,
and have words of hyphens, which the Penn Treebank does not.  Trees with such marks come in both spellings.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measure import DATA, command_line
from benchmarks.silver import HYPHEN, Relations, join_hyphens, learn_relations, mend, mended, neighbours, subtrees
from benchmarks.toy import train_toy
from benchmarks.words import WORDS, place, read_words
from spectral_latent.constituency import (
    Binarisation,
    ConstituencyModel,
    Phrase,
    PhraseConstraints,
    SpanOptions,
    preset,
)
from spectral_latent.constituency.cleaning import tagged_words
from spectral_latent.corpora import constituency_trees, dependency_trees
from spectral_latent.dependency import DependencySentence
from spectral_latent.dependency import preset as dependency_preset
from spectral_latent.estimation import EM, Clusters
from spectral_latent.grammar.options import clusters_then_em
from spectral_latent.lexicon import JudgeOptions, LexiconOptions
from spectral_latent.model import Partial, complete
from spectral_latent.ready import FOLDER, listed_models
from spectral_latent.sequence import LatentTagger, TaggerOptions
from spectral_latent_text import TextPipeline

WRITTEN = Path(__file__).with_name("everyday_training.mrg")
FOUND = 0.3  # the weight of a found tree of probability 1
SINCE = 1800
LONGEST = 60  # words of a sentence whose tree is found
OPENING = ("``", '"', "“", "„")
CLOSING = ("''", '"', "”")
OFTEN = 3  # from so many times on, a word has UPOS of its own for an XPOS
SHARE = 0.01  # of the UPOS of an XPOS; rarer ones are left out
NO_TAGS = ("GW", "XX")  # of words that are parts of words, or foreign to the sentence


class Recipe(NamedTuple):
    """What a ready model is made of, and how."""

    sources: Sequence[str]
    """The files, below the folder of data; patterns are expanded."""
    train: Callable[[Sequence[Path]], Any]
    folder: Path | None = None
    """The folder of the files; None for the folder of data."""
    own: Sequence[Path] = ()
    """Files of this folder that are read, too."""


def words_spelt(tree: Phrase, opening: str, closing: str) -> Phrase:
    """Spell the quotation marks of a tree."""
    word = tree.children[0]
    if tree.label in ("``", "''") and isinstance(word, str) and word in (*OPENING, *CLOSING):
        return Phrase(tree.label, (opening if tree.label == "``" else closing,))
    children = (words_spelt(x, opening, closing) if isinstance(x, Phrase) else x for x in tree.children)
    return Phrase(tree.label, tuple(children))


def in_all_spellings(weighted: Iterable[tuple[Phrase, float]]) -> Iterator[tuple[Phrase, float]]:
    """Give trees as they are and as the Penn Treebank spells them, with equal shares of their weights.

    The Penn Treebank has quotation marks of its own, and words with hyphens."""
    for tree, weight in weighted:
        joined = dict.fromkeys((tree, join_hyphens(tree)))
        spelt = dict.fromkeys(each for one in joined for each in (one, words_spelt(one, OPENING[0], CLOSING[0])))
        yield from ((each, weight / len(spelt)) for each in spelt)


def with_tags(
    sentence: DependencySentence, tags: Collection[str], relations: Relations, joins: bool
) -> Partial[tuple[str, ...], PhraseConstraints]:
    """Make a sentence whose tags are known, where the parser has them, and what subtrees tell of its brackets.

    relations: the relations of these subtrees.
    joins: whether parts of words are joined at hyphens; the tags of the joined words are unknown.
    """
    words: list[str] = []
    known: dict[int, str] = {}
    word_at: dict[int, int] = {}  # the word that begins with each part, or after the last part
    hyphens = [at for at, tag in enumerate(sentence.xpos) if tag == HYPHEN and 0 < at < len(sentence.forms) - 1]
    for at, (form, tag) in enumerate(zip(sentence.forms, sentence.xpos, strict=True)):
        if joins and (at in hyphens or at - 1 in hyphens):
            words[-1] += form
            known.pop(len(words) - 1, None)
            continue
        word_at[at] = len(words)
        if tag in tags:
            known[len(words)] = tag
        words.append(form)
    word_at[len(sentence.forms)] = len(words)
    # A bracket has at least two words, and no edge within a word.
    required, forbidden = (
        [
            (word_at[part.first], word_at[part.end])
            for part in parts
            if part.relation in wanted and part.first in word_at and word_at.get(part.end, 0) - word_at[part.first] > 1
        ]
        for parts, wanted in ((subtrees(sentence), relations.together), (neighbours(sentence), relations.apart))
    )
    apart = [span for span in forbidden if span not in required]
    return Partial(tuple(words), PhraseConstraints(required, apart, known))


def find_trees(
    teacher: ConstituencyModel, tags: Collection[str], sentences: Sequence[DependencySentence]
) -> Iterator[tuple[Phrase, float]]:
    """Find trees of sentences under their tags and the brackets of subtrees, or under tags alone if there are none.

    The relations of these subtrees are learnt from every fifth sentence, whose tree is found under tags alone.
    """
    some = sentences[::5]
    free = teacher.parse_all((with_tags(sentence, tags, Relations(), False) for sentence in some), scored=False)
    relations = learn_relations((sentence, parses[0].tree) for sentence, parses in zip(some, free, strict=True))
    print(f"en: subtrees with these relations are constituents: {', '.join(sorted(relations.together))}", flush=True)
    print(f"en: subtrees with these are apart: {', '.join(sorted(relations.apart))}", flush=True)
    spellings = [
        (sentence, joins)
        for sentence in sentences
        for joins in ((False, True) if HYPHEN in sentence.xpos else (False,))
    ]
    found = list(teacher.parse_all(with_tags(sentence, tags, relations, joins) for sentence, joins in spellings))
    without = [each for each, parses in zip(spellings, found, strict=True) if parses[0].is_fallback]
    print(f"en: {len(found):,} sentences of EWT, {len(without):,} without brackets", flush=True)
    again = teacher.parse_all(with_tags(sentence, tags, Relations(), joins) for sentence, joins in without)
    yield from complete([*found, *again])


def train_english(files: Sequence[Path]) -> ConstituencyModel:
    """Train `en` on files of GUM and one of EWT."""
    *trees, tagged = files
    counts = Counter[str]()
    silver = mended((tree for file in trees for tree in constituency_trees(file)), counts)
    gold = list(in_all_spellings((tree, 1.0) for tree in silver))
    teacher = ConstituencyModel.train([t for t, _ in gold], preset("accurate"), weights=[w for _, w in gold])
    tags = {tag for tree, _ in gold for tag, _ in tagged_words(tree)}.difference(NO_TAGS)
    sentences = [sentence for sentence in dependency_trees(tagged) if 1 < len(sentence.forms) <= LONGEST]
    completed = [*find_trees(teacher, tags, sentences)]
    mended_too = (mend(tree, counts) for tree, _ in completed)
    found = in_all_spellings((tree, FOUND * share) for tree, (_, share) in zip(mended_too, completed, strict=True))
    written = mended(constituency_trees(WRITTEN), counts)
    every = [*gold, *found, *((tree, 1.0) for tree in written)]
    every += list(place(every, read_words()))
    for rule, number in counts.items():
        print(f"en: {rule} changed {number:,} nodes", flush=True)
    (fast,) = preset("fast")
    way = Binarisation("first", siblings=1)
    options = replace(fast, estimator=clusters_then_em(22, 2, 8), binarisation=way, spans=SpanOptions(), compact=True)
    return ConstituencyModel.train([tree for tree, _ in every], options, weights=[weight for _, weight in every])


def find_upos(tagger: LatentTagger, trees: Iterable[Phrase], sentences: Sequence[DependencySentence]) -> Iterator[Any]:
    """Give words of trees, whose tags are `xpos`, the likeliest of the tags `upos` that sentences have there.

    A word that has its `xpos` at least `OFTEN` times has tags of its own.  Each sentence has form, upos and xpos of
    its words."""
    of_tag: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for form, upos, xpos in (word for each in sentences for word in zip(each.forms, each.upos, each.xpos, strict=True)):
        of_tag[xpos,][upos] += 1
        of_tag[xpos, form.lower()][upos] += 1
    for tree in trees:
        xpos, forms = zip(*tagged_words(tree), strict=True)
        own = [of_tag.get((tag, form.lower()), Counter()) for tag, form in zip(xpos, forms, strict=True)]
        seen = [of if of.total() >= OFTEN else of_tag[tag,] for of, tag in zip(own, xpos, strict=True)]
        known = [{upos for upos, times in of.items() if times >= SHARE * of.total()} or None for of in seen]
        yield forms, tagger.tag(forms, known), xpos


def train_dependencies(files: Sequence[Path]) -> TextPipeline:
    """Train `en-ud` on EWT: two grammars with a model of arcs, and taggers with few states.

    The taggers of tags then learn from both EWT and GUM."""
    *gum, ewt = files
    sentences = list(dependency_trees(ewt))
    (fast,) = dependency_preset("fast")
    lexicon = replace(fast.lexicon, min_expected=1e-2)
    alike = replace(fast, lexicon=lexicon, arcs=JudgeOptions(penalty=16.0), candidates=8, compact=True)
    parser = [replace(alike, attachment=replace(alike.attachment, first_side=side)) for side in ("right", "left")]
    taggers = TaggerOptions(
        EM(Clusters(4)),
        LexiconOptions(min_expected=3e-2),
        compact=True,
        judge=JudgeOptions(folds=2, penalty=2.0, iterations=100),
    )
    pipeline = TextPipeline.train(sentences, parser, taggers=taggers)
    upos, xpos, feats = pipeline.taggers
    # EWT comes first, so that tags have the numbers that the readings of the pipeline have.
    words = [(each.forms, each.upos, each.xpos) for each in sentences]
    words += find_upos(upos, (tree for file in gum for tree in constituency_trees(file)), sentences)
    forms, *columns = zip(*words, strict=True)
    anew = (LatentTagger.train(map(zip, forms, column), taggers) for column in columns)
    named = [replace(tagger, tagset=old.tagset) for tagger, old in zip(anew, (upos, xpos), strict=True)]
    return replace(pipeline, taggers=(*named, feats))


def train_icelandic(files: Sequence[Path]) -> ConstituencyModel:
    """Train `is` on the training files of IcePaHC since `SINCE`; older texts would make the file larger."""
    (fast,) = preset("fast")
    options = replace(
        fast,
        estimator=clusters_then_em(8, 2, 2),
        lexicon=LexiconOptions(min_expected=1e-2),
        spans=SpanOptions(),
        function_labels=True,
        compact=True,
    )
    train = [f for number, f in enumerate(files, start=1) if number % 10 not in (8, 9) and int(f.name[:4]) >= SINCE]
    return ConstituencyModel.train((tree for file in train for tree in constituency_trees(file)), options)


RECIPES = {
    "en": Recipe(("treebanks/gum_open/*.ptb", "ud/en_ewt/en_ewt-ud-train.conllu"), train_english, own=(WORDS, WRITTEN)),
    "en-ud": Recipe(("treebanks/gum_open/*.ptb", "ud/en_ewt/en_ewt-ud-train.conllu"), train_dependencies),
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
    data = recipe.folder or DATA
    files = [file for pattern in recipe.sources for file in sorted(data.glob(pattern))]
    for pattern in recipe.sources:
        if not any(data.glob(pattern)):
            raise SystemExit(f"{data / pattern}: no such files; name the folder of treebanks by SPECTRAL_LATENT_DATA")
    made = folder / f"{name}.model"
    recipe.train(files).save(made, record_of(name, [*files, *recipe.own]))
    return made


def main() -> None:
    """Build the models."""
    parser = command_line(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="[default: all]")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="[default: the package]")
    arguments = parser.parse_args()
    for name in arguments.names or RECIPES:
        made = build(name, arguments.folder)
        print(f"{made}: {made.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
