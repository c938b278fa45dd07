"""Compare taggers on the same splits: this library's and those of NLTK.

    python -m benchmarks.tagging                                            # dev of NLTK's treebank sample, 45 tags
    python -m benchmarks.tagging --split test
    python -m benchmarks.tagging --train ewt-train.conllu --evaluate ewt-test.conllu --column xpos
    python -m benchmarks.tagging --train de-dev.conllu --evaluate de-test.conllu --taggers "latent, m = 8"

Every row is a process of its own, so that its peak memory is its own.  Seconds are CPU seconds of that process after
compilation; training includes everything from sentences in memory to a tagger in memory.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from benchmarks._measure import in_new_process, peak_megabytes, print_head, print_row
from spectral_latent.corpora import tagged_sentences
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import evaluate_tagger
from spectral_latent.sequence import LatentTagger, TaggerOptions

Sentence = list[tuple[str, str]]
Tagger = Callable[[Iterable[list[str]]], list[list[str]]]
COLUMNS = ("accuracy", "unknown", "known", "training s", "tokens/s", "peak MB")
WHOLE = ("tokens/s", "peak MB")


class Corpus(NamedTuple):
    """The sources of sentences to learn from and to tag, and the column of the tags."""

    train: str
    evaluate: str
    column: str | None


def latent(sentences: list[Sentence], states: int, estimator: str = "spectral") -> Tagger:
    """Train this library's tagger."""
    options = TaggerOptions(EstimatorOptions(estimator, n_states=states))
    return LatentTagger.train(sentences, options).tag_all


def of_nltk(tagger: object) -> Tagger:
    """Make a function that gives tags alone of a tagger of NLTK, which gives pairs of word and tag."""
    return lambda sentences: [[tag for _, tag in row] for row in tagger.tag_sents(list(sentences))]


def hidden_markov(sentences: list[Sentence], witten_bell: bool) -> Tagger:
    """Train NLTK's HiddenMarkovModelTagger."""
    from nltk.probability import WittenBellProbDist
    from nltk.tag.hmm import HiddenMarkovModelTagger, HiddenMarkovModelTrainer

    if not witten_bell:
        return of_nltk(HiddenMarkovModelTagger.train(sentences))
    states = sorted({tag for row in sentences for _, tag in row})
    symbols = sorted({word for row in sentences for word, _ in row})
    trainer = HiddenMarkovModelTrainer(states, symbols)

    def estimator(counts: object, bins: int) -> WittenBellProbDist:
        """Smooth counts, with one more bin for unseen events."""
        return WittenBellProbDist(counts, bins + 1)

    return of_nltk(trainer.train_supervised(sentences, estimator=estimator))


def tnt(sentences: list[Sentence]) -> Tagger:
    """Train NLTK's TnT."""
    from nltk.tag.tnt import TnT

    tagger = TnT()
    tagger.train(sentences)
    return of_nltk(tagger)


def perceptron(sentences: list[Sentence]) -> Tagger:
    """Train NLTK's PerceptronTagger by five iterations."""
    from nltk.tag.perceptron import PerceptronTagger

    random.seed(0)
    tagger = PerceptronTagger(load=False)
    tagger.train(sentences, nr_iter=5)
    return of_nltk(tagger)


TAGGERS: dict[str, Callable[[list[Sentence]], Tagger]] = {
    "NLTK HMM, default": lambda sentences: hidden_markov(sentences, witten_bell=False),
    "NLTK HMM, Witten-Bell": lambda sentences: hidden_markov(sentences, witten_bell=True),
    "NLTK TnT": tnt,
    "NLTK Perceptron": perceptron,
    "plain, m = 1": lambda sentences: latent(sentences, 1),
    "latent, m = 4": lambda sentences: latent(sentences, 4),
    "latent, m = 8": lambda sentences: latent(sentences, 8),
    "latent, m = 16": lambda sentences: latent(sentences, 16),
    "latent, m = 8, clusters-em": lambda sentences: latent(sentences, 8, "clusters-em"),
}


def measure(corpus: Corpus, name: str) -> dict[str, float]:
    """Train and evaluate the tagger of a row, and return the row's numbers."""
    warm = [[("a", "A"), ("b", "B")], [("b", "A"), ("a", "B")]] * 2
    TAGGERS[name](warm)([["a", "b"]])
    train = list(tagged_sentences(corpus.train, corpus.column))
    start = time.process_time()
    tagger = TAGGERS[name](train)
    trained = time.process_time()
    gold = list(tagged_sentences(corpus.evaluate, corpus.column))
    evaluation = evaluate_tagger(tagger, gold, {word for row in train for word, _ in row})
    score = evaluation.score
    return {
        "accuracy": score.accuracy,
        "unknown": score.unknown_accuracy,
        "known": score.known_accuracy,
        "training s": trained - start,
        "tokens/s": evaluation.tokens_per_second,
        "peak MB": peak_megabytes(),
    }


def main() -> None:
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("dev", "test"), default="dev", help="the part of NLTK's treebank sample")
    parser.add_argument("--train", help="other sentences to learn from: a file, a folder or nltk:NAME")
    parser.add_argument("--evaluate", help="the sentences to tag with --train")
    parser.add_argument("--column", choices=("upos", "xpos"), help="the column of the tags in CoNLL-U")
    parser.add_argument("--taggers", nargs="+", choices=TAGGERS, default=list(TAGGERS))
    arguments = parser.parse_args()
    if (arguments.train is None) != (arguments.evaluate is None):
        parser.error("--train and --evaluate go together")
    train = arguments.train or "nltk:treebank:train"
    corpus = Corpus(train, arguments.evaluate or f"nltk:treebank:{arguments.split}", arguments.column)
    print_head(["tagger"], COLUMNS)
    for name in arguments.taggers:
        print_row([name], in_new_process(measure, corpus, name), COLUMNS, WHOLE)


if __name__ == "__main__":
    main()
