"""Train models on one source and evaluate them on another: accuracy with its interval, speed and memory.

    python -m benchmarks.accuracy phrases                          # tune: the dev split of NLTK's treebank sample
    python -m benchmarks.accuracy phrases --split test --models plain fast accurate "Berkeley parser"
    python -m benchmarks.accuracy phrases --train nltk:cess_esp:train --evaluate nltk:cess_esp:dev --models fast
    python -m benchmarks.accuracy phrases --models fast --trees 125 250 500                     # a learning curve
    python -m benchmarks.accuracy dependencies --train ewt-train.conllu --evaluate ewt-dev.conllu --models fast
    python -m benchmarks.accuracy columns --train el-train.conllu --evaluate el-dev.conllu --models fast --given text
    python -m benchmarks.accuracy phrases --models slides                       # the slides of Cohen et al. (2013)
    python -m benchmarks.accuracy phrases --models en --words 9-11 19-21 38-42  # speed by the length of a sentence
    python -m benchmarks.accuracy tags --models fast "NLTK TnT"

A model is the name of one of the task's rows, or a ready model or a file, which is loaded instead of trained.  Every
row is a process of its own, so that its peak memory is its own.  Seconds are CPU seconds of that process after
compilation; training includes everything from examples in memory to a model in memory.  ± is half of the 95 % interval
of the bootstrap over sentences, which does not show how other seeds would differ.  Parts of a treebank are nested: the
first examples in one random order.  NAME=SOURCE names a text in the table.

`icepahc:train`, `icepahc:dev` and `icepahc:test` are whole texts of IcePaHC, divided as its ABOUT.md says.  The trees
of the Berkeley parser are the first of its lists, $SPECTRAL_LATENT_DATA/nbest/berkeley.SPLIT.trees.  UDPipe
(`pip install ufal.udpipe`) is trained with its defaults on the same file.
"""

import itertools
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from benchmarks import _peers
from benchmarks._measure import (
    DATA,
    command_line,
    half_interval,
    in_new_process,
    peak_megabytes,
    print_head,
    print_row,
    timed,
    written_difference,
)
from benchmarks.papers.cohen2013 import ONE_STATE, PAPER_F1, SLIDES
from spectral_latent import constituency, dependency, load, sequence
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase
from spectral_latent.corpora import constituency_trees, dependency_trees, tagged_sentences
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import (
    AttachmentScore,
    BracketScores,
    evaluate_columns,
    evaluate_dependency_parser,
    evaluate_parser,
    evaluate_tagger,
    score_attachments,
    score_brackets,
    score_tags,
)
from spectral_latent.reranking import words_of
from spectral_latent.sequence import LatentTagger, TaggerOptions
from spectral_latent_text import TextPipeline

Figures = dict[str, float | str]
OVER = "over the Berkeley parser"
WHOLE = ("sentences", "fallbacks", "tokens/s", "peak MB")
COSTS = ("reading s", "training s", "file MB", "peak MB")
METRICS = {
    "Tokens": "tokens_f1",
    "Sentences": "sentences_f1",
    "Words": "words_f1",
    **{name: name.lower() for name in ("UPOS", "XPOS", "UFeats", "Lemmas", "UAS")},
    "LAS": "las_universal",
    **{name: name.lower() for name in ("MLAS", "BLEX")},
}


class Evaluated(NamedTuple):
    """What a row is evaluated on.

    source: the source of the examples.
    gold: the examples.
    numbers: the number of each example in the source, from 0.
    train: the examples that the model learnt from.
    given: what the model is given, if it may be given several things.
    """

    source: str
    gold: list[Any]
    numbers: Sequence[int]
    train: list[Any]
    given: str | None


class Task(NamedTuple):
    """What models of one kind learn from, and how their answers are scored.

    read: reads the examples of a source, given the name of a column.
    models: a function from examples to a trained model, by the names of rows.
    evaluate: measures a model on gold examples.
    default: the sources that are used where the command line names none.
    """

    read: Callable[[str, str | None], Iterable[Any]]
    models: Mapping[str, Callable[[list[Any]], Any]]
    evaluate: Callable[[Any, Evaluated], Figures]
    columns: Sequence[str]
    default: str = "nltk:treebank"


# Phrases


def read_phrases(source: str, column: str | None) -> Iterator[Phrase]:
    """Read the trees of a source, or of a part of IcePaHC: every tenth text, from the eighth, is dev, the next test."""
    corpus, _, part = source.partition(":")
    if corpus != "icepahc":
        return constituency_trees(source)
    files = sorted((DATA / "treebanks/icepahc").glob("*.psd"))
    part_of = {8: "dev", 9: "test"}
    chosen = (file for at, file in enumerate(files, start=1) if part_of.get(at % 10, "train") == part)
    return itertools.chain.from_iterable(map(constituency_trees, chosen))


def train_plain(options: ConstituencyOptions, trees: list[Phrase]) -> ConstituencyModel:
    """Train a plain PCFG, which parses with its own operators."""
    (grammar,) = ConstituencyModel.train(trees, options).members
    return ConstituencyModel((grammar.with_operators(grammar.coarse),))


def _estimated(name: str, **settings: Any) -> list[ConstituencyOptions]:
    return [ConstituencyOptions(estimator=EstimatorOptions(name, **settings))]


PHRASE_OPTIONS: dict[str, Sequence[ConstituencyOptions]] = {
    "one spectral grammar": [ConstituencyOptions()],
    "clustering": _estimated("clustering"),
    "pivots": _estimated("anchors"),
    "clusters-em, 5 iterations": _estimated("clusters-em"),
    "EM, 20 iterations": _estimated("em", iterations=20, tolerance=0.0),
    "three grammars": [replace(options, spans=None) for options in constituency.preset("accurate")],
    "fast, functions": [replace(options, function_labels=True) for options in constituency.preset("fast")],
    **{name: constituency.preset(name) for name in ("fast", "clusters", "spectral", "accurate", "best")},
    **{name: [options] for name, options in SLIDES.items()},
}
PLAIN_OPTIONS = {"plain": ConstituencyOptions(), **ONE_STATE}
BERKELEY = "Berkeley parser"


def evaluate_phrases(model: ConstituencyModel | str, evaluated: Evaluated) -> Figures:
    """Score brackets; the likelihood is that of gold trees with known rules, whose estimate is positive."""
    lists = _peers.berkeley_lists(evaluated.source)
    theirs = _peers.berkeley_trees(lists, evaluated.numbers, evaluated.gold) if lists.exists() else None
    if isinstance(model, str):
        if theirs is None:
            raise SystemExit(f"{lists}: no such file; leave out {BERKELEY!r}, or name the folder of its lists")
        return _bracket_figures(evaluated.gold, theirs, None)
    evaluation = evaluate_parser(model, evaluated.gold)
    weight = model.score(evaluated.gold)
    positive = weight.log[weight.sign > 0]
    figures = _bracket_figures(evaluated.gold, [parse.tree for parse in evaluation.parses], theirs)
    if evaluation.function_score is not None:
        figures["with functions"] = evaluation.function_score.f1
    return figures | {
        "fallbacks": evaluation.fallbacks,
        "log p̂": float(positive.sum()) / max(len(positive), 1),
        "≤ 0": 100 * float((weight.sign < 0).sum()) / max(np.count_nonzero(weight.sign), 1),
        "sentences/s": evaluation.sentences_per_second,
    }


def _bracket_figures(gold: Sequence[Phrase], trees: Sequence[Phrase], theirs: Sequence[Phrase] | None) -> Figures:
    """Score trees, and their difference from those of the Berkeley parser."""
    each, f1 = _score_each(gold, trees), attrgetter("f1")
    score = sum(each, BracketScores())
    short = score_brackets(zip(gold, trees, strict=True), max_length=40)
    return {
        "sentences": len(gold),
        "F1": score.f1,
        "±": half_interval(each, f1),
        OVER: "" if theirs is None else written_difference(_score_each(gold, theirs), each, f1),
        "F1 ≤ 40": short.f1 if short.gold else "",
        "tags": score.tagging_accuracy,
        "exact": score.exact,
    }


def _score_each(gold: Sequence[Phrase], trees: Sequence[Phrase]) -> list[BracketScores]:
    return [score_brackets([pair]) for pair in zip(gold, trees, strict=True)]


# Dependencies, and all columns of CoNLL-U


def train_one_state(trees: list[Any]) -> DependencyModel:
    """Train a dependency grammar without states."""
    return DependencyModel((dependency.prepare(trees, [DependencyOptions()])[0].coarse,))


DEPENDENCY_PRESETS = {name: dependency.preset(name) for name in ("fast", "accurate", "spectral")}
DEPENDENCY_OPTIONS: dict[str, DependencyOptions | Sequence[DependencyOptions]] = {
    "spectral, 10 states": DependencyOptions(estimator=EstimatorOptions("spectral", 10)),
    "spectral, 16 states": DependencyOptions(estimator=EstimatorOptions("spectral", 16)),
    "clustering, 16 states": DependencyOptions(estimator=EstimatorOptions("clustering", 16, smoothing=5.0)),
    "EM, 16 states": DependencyOptions(estimator=EstimatorOptions("em", 16, smoothing=5.0, iterations=20)),
    "clusters-em, 16 states": DependencyOptions(estimator=EstimatorOptions("clusters-em", 16, smoothing=5.0)),
    **DEPENDENCY_PRESETS,
}


def evaluate_arcs(model: Any, evaluated: Evaluated) -> Figures:
    """Score arcs of sentences whose tags and features are given."""
    gold: list[DependencySentence] = evaluated.gold
    if isinstance(model, DependencyModel):
        evaluation = evaluate_dependency_parser(model, gold)
        parsed, speed = [parse.tree for parse in evaluation.parses], evaluation.sentences_per_second
    else:
        parsed, seconds = timed(partial(model, gold))
        speed = len(gold) / seconds
    each = [score_attachments([tree], [found]) for tree, found in zip(gold, parsed, strict=True)]
    score = sum(each, AttachmentScore())
    return {
        "sentences": len(gold),
        "UAS": score.uas,
        "LAS": score.las,
        "±": half_interval(each, attrgetter("las")),
        "universal LAS": score.las_universal,
        "UAS, no punct.": score.uas_no_punctuation,
        "complete": score.complete,
        "sentences/s": speed,
    }


def evaluate_text(model: DependencyModel, evaluated: Evaluated) -> Figures:
    """Score all columns as in the shared task of CoNLL 2018, given the words or the text of the sentences."""
    origin = evaluated.given or "words"
    evaluation = evaluate_columns(model, evaluated.gold, origin=origin)  # type: ignore[arg-type]
    figures: Figures = {column: evaluation.score[metric] for column, metric in METRICS.items()}
    return figures | {"sentences": len(evaluated.gold), "sentences/s": evaluation.sentences_per_second}


# Tags


TAGGER_OPTIONS = {
    **{f"latent, m = {m}": TaggerOptions(EstimatorOptions("spectral", n_states=m)) for m in (1, 4, 8, 16)},
    "latent, m = 8, clusters-em": TaggerOptions(EstimatorOptions("clusters-em", n_states=8)),
    **{name: sequence.preset(name) for name in ("fast", "accurate", "spectral")},
}


def evaluate_tags(model: Any, evaluated: Evaluated) -> Figures:
    """Score tags, those of unknown words apart."""
    known = frozenset(word for row in evaluated.train for word, _ in row)
    tag = model.tag_all if isinstance(model, LatentTagger) else model
    evaluation = evaluate_tagger(tag, evaluated.gold, known)
    each = []
    for gold, tags in zip(evaluated.gold, evaluation.tags, strict=True):
        words = [word for word, _ in gold]
        each.append(score_tags([gold], [list(zip(words, tags, strict=True))]))
    return {
        "sentences": len(evaluated.gold),
        "accuracy": evaluation.score.accuracy,
        "±": half_interval(each, attrgetter("accuracy")),
        "unknown": evaluation.score.unknown_accuracy,
        "known": evaluation.score.known_accuracy,
        "tokens/s": evaluation.tokens_per_second,
    }


# Rows

TASKS = {
    "phrases": Task(
        read_phrases,
        {name: partial(ConstituencyModel.train, options=options) for name, options in PHRASE_OPTIONS.items()}
        | {name: partial(train_plain, options) for name, options in PLAIN_OPTIONS.items()},
        evaluate_phrases,
        (
            "paper F1",
            "F1",
            "±",
            OVER,
            "F1 ≤ 40",
            "tags",
            "exact",
            "with functions",
            "log p̂",
            "≤ 0",
            "fallbacks",
            "sentences/s",
        ),
    ),
    "dependencies": Task(
        lambda source, column: dependency_trees(source),
        {name: partial(DependencyModel.train, options=options) for name, options in DEPENDENCY_OPTIONS.items()}
        | {"one state": train_one_state, "UDPipe 1": _peers.train_udpipe},
        evaluate_arcs,
        ("UAS", "LAS", "±", "universal LAS", "UAS, no punct.", "complete", "sentences/s"),
        "nltk:dependency_treebank",
    ),
    "columns": Task(
        lambda source, column: dependency_trees(source),
        {name: partial(TextPipeline.train, options=options) for name, options in DEPENDENCY_PRESETS.items()},
        evaluate_text,
        (*METRICS, "sentences/s"),
        "nltk:dependency_treebank",
    ),
    "tags": Task(
        tagged_sentences,
        {name: partial(LatentTagger.train, options=options) for name, options in TAGGER_OPTIONS.items()}
        | _peers.TAGGERS,
        evaluate_tags,
        ("accuracy", "±", "unknown", "known", "tokens/s"),
    ),
}


class Row(NamedTuple):
    """A row to measure.

    train: the source to learn from.
    evaluate: the source to evaluate on.
    n_trees: the number of examples to learn from; None for all.
    every: 2 to evaluate on every second example, and so on.
    words: the least and the largest number of words of a tree to evaluate on, such as "1-40".
    """

    task: str
    model: str
    train: str
    evaluate: str
    n_trees: int | None
    column: str | None = None
    given: str | None = None
    every: int = 1
    words: str | None = None


def measure(row: Row) -> Figures:
    """Train or load the model of a row, and evaluate it."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("spectral_latent.estimation._recovery").setLevel(logging.INFO)  # where states of "hybrid" begin
    task = TASKS[row.task]
    every = list(task.read(row.evaluate, row.column))
    numbers = list(range(len(every)))
    if row.words is not None:
        least, most = map(int, row.words.split("-"))
        numbers = [n for n in numbers if least <= len(words_of(every[n])) <= most]
    numbers = numbers[:: row.every]
    evaluated = Evaluated(row.evaluate, [every[n] for n in numbers], numbers, [], row.given)
    few = evaluated._replace(gold=evaluated.gold[:2], numbers=numbers[:2])
    if row.model not in task.models:
        model = row.model if row.model == BERKELEY else load(row.model)
        task.evaluate(model, few)  # compiles what is measured
        return task.evaluate(model, evaluated) | {"peak MB": peak_megabytes()}
    train, reading = timed(lambda: list(task.read(row.train, row.column)))
    figures: Figures = {"reading s": reading, "paper F1": PAPER_F1.get(row.model, "")}
    if row.n_trees is not None:
        random.Random(0).shuffle(train)
        del train[row.n_trees :]
    learn = task.models[row.model]
    task.evaluate(learn(train[:20]), few)  # compiles what is measured
    model, figures["training s"] = timed(partial(learn, train))
    if hasattr(model, "save"):
        with TemporaryDirectory() as folder:
            model.save(file := Path(folder, "model"))
            figures["file MB"] = file.stat().st_size / 1e6
    return figures | task.evaluate(model, evaluated._replace(train=train)) | {"peak MB": peak_megabytes()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each pair of sources, model and number of examples."""
    parser = command_line(__doc__)
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's treebank sample")
    parser.add_argument("--train", nargs="+", metavar="SOURCE", help="what to learn from, one for each of --evaluate")
    parser.add_argument("--evaluate", nargs="+", metavar="[NAME=]SOURCE", help="what to evaluate on")
    parser.add_argument("--models", nargs="+", metavar="MODEL", default=["fast"])
    parser.add_argument("--trees", nargs="+", type=int, default=[], help="how many examples to learn; all by default")
    parser.add_argument("--column", choices=("upos", "xpos"), help="the column of tags of CoNLL-U")
    parser.add_argument("--given", nargs="+", choices=("words", "text"), help="what the task `columns` is given")
    parser.add_argument("--every", type=int, default=1, help="evaluate on every second example, and so on")
    parser.add_argument("--words", nargs="+", metavar="LEAST-MOST", help="evaluate on trees of so many words")
    given = parser.parse_args(arguments)
    given.models = [model for name in given.models for model in ([*ONE_STATE, *SLIDES] if name == "slides" else [name])]
    task = TASKS[given.task]
    evaluate = given.evaluate or [f"{task.default}:{given.split}"]
    train = given.train or [f"{task.default}:train"] * len(evaluate)
    if len(train) != len(evaluate):
        parser.error("--train and --evaluate need as many sources")
    several = {"given": given.given, "trees": given.trees, "words": given.words and given.words[1:]}
    keys = ["model", "text", *(name for name, values in several.items() if values)]
    columns = ["sentences", *task.columns, *COSTS]
    print_head(keys, columns)
    rows = itertools.product(
        zip(train, evaluate, strict=True),
        given.given or [None],
        given.models,
        given.trees or [None],
        given.words or [None],
    )
    for (source, target), origin, model, n_trees, words in rows:
        name, _, told = target.rpartition("=")
        row = Row(given.task, model, source, told, n_trees, given.column, origin, given.every, words)
        of_key = {"model": model, "text": name or told, "given": origin, "trees": f"{n_trees or 0:,}", "words": words}
        print_row([of_key[key] for key in keys], in_new_process(measure, row), columns, WHOLE)


if __name__ == "__main__":
    main()
