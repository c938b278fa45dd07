"""Tables 1, 2, 5 and 6 of Stratos, Collins and Hsu (2016): parts of speech from words alone.

A model learns from all sentences of a corpus and tags the same sentences; it is scored by the twelve universal tags.
The paper uses ten languages of the universal treebank 2.0, whose English part is not open.  Its English numbers are
printed as far as the text of the paper has them.

The settings are those of `AnchorOptions`, one for all corpora, not those of the paper: points are smoothed, mixtures
sharpened, and EM for the transitions ends after ten steps.  docs/mathematics.md lists the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import click
import numpy as np

from spectral_latent.anchors import AnchorHMM, AnchorOptions, HullName, HullOptions, WordTypes
from spectral_latent.cli.sources import universal
from spectral_latent.corpora import CorpusError
from spectral_latent.evaluation import many_to_one, one_to_one, v_measure
from spectral_latent.papers.assumptions import check_assumptions
from spectral_latent.papers.baselines import decode_states, score_per_word, train_baum_welch, train_cluster_hmm
from spectral_latent.papers.featurized import FeaturizedOptions, train_featurized_hmm
from spectral_latent.papers.tables import MarkdownTable, timed
from spectral_latent.sequence import HiddenMarkov

__all__ = ["HULLS", "METHODS", "Corpus", "Setting", "print_assumptions", "print_methods"]

Words = list[list[str]]
_WARM = [["a", "b", "c", "d"], ["a", "c", "b"], ["d", "b"]] * 5


class Setting(NamedTuple):
    """Settings that all methods share.

    n_states: m.
    iterations: the most of Baum-Welch and of L-BFGS.
    seed: of methods that start at random.
    """

    n_states: int
    iterations: int
    seed: int


class Method(NamedTuple):
    """A way to train a model.

    train: from sentences.
    is_random: whether the seed makes a difference.
    paper: many-to-one accuracy in the paper, on English.
    """

    train: Callable[[Words, Setting], AnchorHMM | HiddenMarkov]
    is_random: bool = False
    paper: str = "-"


class Corpus(NamedTuple):
    """Tagged sentences.

    source: its name.
    words: of each sentence.
    tags: of each sentence, universal.
    """

    source: str
    words: Words
    tags: list[list[str]]

    @staticmethod
    def read(source: str) -> Corpus:
        """Read a source of tagged sentences.

        source: a file, a folder, or a corpus of NLTK; see `corpora.tagged_sentences`.
        """
        tagged = list(universal([source]))
        if not tagged:
            raise CorpusError(f"{source}: no sentences to learn from")
        words = [[word for word, _ in sentence] for sentence in tagged]
        return Corpus(source, words, [[tag for _, tag in sentence] for sentence in tagged])


class _Result(NamedTuple):
    """Scores of one run: percentages, nats, CPU seconds of training."""

    many_to_one: float
    v_measure: float
    one_to_one: float
    log_per_word: float
    seconds: float


def _anchor(hull: HullOptions) -> Callable[[Words, Setting], AnchorHMM]:
    """Make the method that trains an anchor model with a hull."""
    return lambda words, setting: AnchorHMM.train(words, AnchorOptions(n_states=setting.n_states, hull=hull))


def _hull(construction: HullName) -> Callable[[Words, Setting], AnchorHMM]:
    """Make the method that trains an anchor model whose points come from contexts alone."""

    def train(words: Words, setting: Setting) -> AnchorHMM:
        """Train with the seed of the setting."""
        return _anchor(HullOptions(construction, spelling=False, prior=0.0, seed=setting.seed))(words, setting)

    return train


def _baum_welch(words: Words, setting: Setting) -> HiddenMarkov:
    """Train by Baum-Welch from a random start."""
    return train_baum_welch(WordTypes.of(words), setting.n_states, (setting.seed,), setting.iterations)


def _clusters(words: Words, setting: Setting) -> HiddenMarkov:
    """Train with Brown clusters as states."""
    return train_cluster_hmm(WordTypes.of(words), setting.n_states)


def _featurized(words: Words, setting: Setting) -> HiddenMarkov:
    """Train the log-linear model from random weights."""
    options = FeaturizedOptions(n_states=setting.n_states, iterations=setting.iterations, seed=setting.seed)
    return train_featurized_hmm(WordTypes.of(words), options)


HULLS = {
    "random": Method(_hull("random"), is_random=True),
    "best-fit": Method(_hull("best-fit")),
    "cca": Method(_hull("cca")),
    "brown": Method(_hull("brown"), paper="66.1"),
}
METHODS = {
    "Baum-Welch": Method(_baum_welch, is_random=True, paper="59.8"),
    "log-linear": Method(_featurized, is_random=True),
    "Brown clusters": Method(_clusters, paper="62.9"),
    "anchor": Method(_anchor(HullOptions(spelling=False)), paper="66.1"),
    "anchor + features": Method(_anchor(HullOptions()), paper="71.4"),
}


def _run(corpus: Corpus, method: Method, setting: Setting) -> _Result:
    """Train a model, and score the states that it finds in its own corpus."""
    method.train(_WARM, setting._replace(n_states=2, iterations=2))  # compiles what the method needs
    model, seconds = timed(method.train, corpus.words, setting)
    sequences = WordTypes.of(corpus.words).sequences
    hidden = model.hidden if isinstance(model, AnchorHMM) else model
    found = (
        [state for row in model.states(corpus.words) for state in row]
        if isinstance(model, AnchorHMM)
        else decode_states(model, sequences).tolist()
    )
    gold = [tag for row in corpus.tags for tag in row]
    return _Result(
        many_to_one(gold, found),
        v_measure(gold, found),
        one_to_one(gold, found),
        score_per_word(hidden, sequences),
        seconds,
    )


def _cells(runs: Sequence[_Result]) -> list[str]:
    """Format the means of runs, with standard deviations where there are several."""
    columns = np.array(runs)
    cells = []
    for name, column in zip(_Result._fields, columns.T, strict=True):
        digits = 3 if name == "log_per_word" else 1
        spread = f" ({column.std(ddof=1):.{digits}f})" if len(column) > 1 else ""
        cells.append(f"{column.mean():.{digits}f}{spread}")
    return cells


def print_methods(corpora: Sequence[Corpus], methods: dict[str, Method], setting: Setting, seeds: int) -> None:
    """Print the scores of methods on every corpus, and their means over several corpora.

    corpora: at least one.
    methods: by name.
    setting: with the first seed.
    seeds: how many runs of random methods; mean (standard deviation) are printed.
    """
    click.echo("Paper: English, whose treebank is not open; - where the text at hand has no number.\n")
    columns = ("paper, many-to-one", "many-to-one", "V-measure", "one-to-one", "log p per word", "training s")
    table = MarkdownTable("method", "corpus", *columns)
    for name, method in methods.items():
        means = []
        for corpus in corpora:
            n_runs = seeds if method.is_random else 1
            runs = [_run(corpus, method, setting._replace(seed=setting.seed + i)) for i in range(n_runs)]
            table.row(name, corpus.source, method.paper, *_cells(runs))
            means.append(_Result(*np.mean(runs, axis=0).tolist()))
        if len(corpora) > 1:
            table.row(name, "mean", method.paper, *_cells([_Result(*np.mean(means, axis=0).tolist())]))
    click.echo()


def print_assumptions(corpora: Sequence[Corpus]) -> None:
    """Print Table 5: how many tags have an anchor, and how many words a single tag.

    corpora: at least one.
    """
    candidates = AnchorOptions().candidates
    click.echo("Paper: all tags of all ten languages have an anchor, and more than 90 % of types are unambiguous.")
    click.echo(f"Shares in per cent.  An anchor within {candidates} is one of the {candidates} most frequent words.\n")
    columns = ("words", "types", "tags with anchor", f"within {candidates}", "unambiguous types", "unambiguous tokens")
    table = MarkdownTable("corpus", *columns)
    anchors = []
    for corpus in corpora:
        tagged = [list(zip(*pair, strict=True)) for pair in zip(corpus.words, corpus.tags, strict=True)]
        assumptions = check_assumptions(tagged)
        words = [word.lower() for row in corpus.words for word in row]
        shares = (
            assumptions.anchored_tags,
            assumptions.anchored_within(candidates),
            assumptions.unambiguous_types,
            assumptions.unambiguous_tokens,
        )
        table.row(corpus.source, f"{len(words):,}", f"{len(set(words)):,}", *(f"{share:.1f}" for share in shares))
        of_tags = (f"{tag}: {a.word} ({a.count})" if a else f"{tag}: none" for tag, a in assumptions.anchors.items())
        anchors.append(f"- {corpus.source}: {', '.join(of_tags)}")
    click.echo("\nMost frequent anchors (tokens):\n")
    for line in anchors:
        click.echo(line)
