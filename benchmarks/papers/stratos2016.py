"""Tables 1, 2, 5, 6 and 7 of Stratos, Collins and Hsu (2016): parts of speech from words alone.

    python -m benchmarks.papers.stratos2016 2 nltk:treebank en_ewt/

A model learns from all sentences of a corpus and tags the same sentences; it is scored by the twelve universal tags,
in Table 7 by the corpus's own tags.  The paper uses ten languages of the universal treebank 2.0, whose English part is
not open.  Its English numbers are printed as far as the text of the paper has them.  Brown clusters, and the log-linear
model of Berg-Kirkpatrick et al. (2010), which are programs of their own, are left out.

| row | paper | meaning |
| --- | --- | --- |
| "random" to "brown" | Table 1 | the settings of the paper, `paper_options`, by the construction of the hull |
| "anchor", "anchor + features" | Tables 2, 6, 7 | the same, with the hull "brown"; features of spelling are appended |
| "true anchors" | section 5.5.1 | the same; the anchor of each tag is its most frequent word that has no other tag |
| "anchor + Baum-Welch" | section 5.3 | five iterations of Baum-Welch after "anchor" |
| "library", "library + features" | | the default of `AnchorOptions`; docs/mathematics.md lists the differences |

The paper does not say how counts are smoothed, nor where EM for the transitions ends; the authors' program adds ten
tokens to every count that it divides by, and makes one step.  `Setting` has both numbers.  Here one sentence, and one
token of every state, is added, so that no sentence is impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks._measure import command_line, print_head, print_row, timed
from benchmarks.papers.assumptions import Assumptions, check_assumptions
from benchmarks.papers.closed_form import Construction, paper_options, train_paper
from spectral_latent.anchors import AnchorHMM, AnchorOptions, WordTypes
from spectral_latent.cli.inputs import universal
from spectral_latent.corpora import CorpusError, tagged_sentences
from spectral_latent.estimation import EM
from spectral_latent.evaluation import many_to_one, one_to_one, v_measure
from spectral_latent.sequence import HiddenMarkov, Sequences
from spectral_latent.sequence.baum_welch import baum_welch, state_posteriors

__all__ = ["HULLS", "METHODS", "Setting", "TaggedCorpus", "main", "score_per_word"]

Words = list[list[str]]
_REFINEMENT = EM(iterations=5, tolerance=0.0, state_smoothing=0.0)


class Setting(NamedTuple):
    """Settings that all methods share.

    n_states: the number of states, m.
    iterations: the most iterations of Baum-Welch.
    seed: the seed of methods that start at random.
    smoothing: κ of the paper's anchor models.
    steps: the steps of EM for the transitions of anchor models; None for as many as convergence takes.
    """

    n_states: int
    iterations: int
    seed: int = 0
    smoothing: float = 0.0
    steps: int | None = None


class TaggedCorpus(NamedTuple):
    """Tagged sentences.

    source: the name of the source.
    words: the words of each sentence.
    tags: the tags of each sentence.
    """

    source: str
    words: Words
    tags: list[list[str]]

    @staticmethod
    def read(source: str, *, fine: bool = False) -> TaggedCorpus:
        """Read a source of tagged sentences.

        fine: whether tags are the corpus's own (of CoNLL-U, XPOS), and not universal.
        """
        sentences = list(tagged_sentences(source, None, "xpos") if fine else universal(source))
        if not sentences:
            raise CorpusError(f"{source}: no sentences to learn from")
        words = [[word for word, _ in sentence] for sentence in sentences]
        return TaggedCorpus(source, words, [[tag for _, tag in sentence] for sentence in sentences])

    @property
    def n_tags(self) -> int:
        """The number of different tags."""
        return len({tag for row in self.tags for tag in row})

    def assumptions(self) -> Assumptions:
        """Check the assumptions of anchor models."""
        return check_assumptions(
            list(zip(words, tags, strict=True)) for words, tags in zip(self.words, self.tags, strict=True)
        )


_WARM = TaggedCorpus(
    "", [["a", "b", "c", "d"], ["a", "c", "b"], ["d", "b"]] * 5, [["A", "B", "C", "D"], ["A", "C", "B"], ["D", "B"]] * 5
)


class Method(NamedTuple):
    """A way to train a model, with the numbers of the paper, on English.

    train: a function that trains a model on a corpus.
    is_random: whether the seed makes a difference.
    paper: many-to-one accuracy in Tables 1 and 2.
    paper_log: log p per word in Table 6.
    """

    train: Callable[[TaggedCorpus, Setting], AnchorHMM | HiddenMarkov]
    is_random: bool = False
    paper: str = "-"
    paper_log: str = "-"


class _Result(NamedTuple):
    """Scores of one run: percentages, nats, CPU seconds of training."""

    many_to_one: float
    v_measure: float
    one_to_one: float
    log_per_word: float
    seconds: float


def _options(setting: Setting, construction: Construction) -> AnchorOptions:
    """Choose the settings of the paper, but for those that `Setting` has."""
    options = paper_options(setting.n_states, construction)
    return replace(options, smoothing=setting.smoothing, steps=setting.steps, added=1.0)


def _anchor(construction: Construction, *, spelling: bool = False) -> Callable[[TaggedCorpus, Setting], AnchorHMM]:
    """Make the method that trains the anchor model of the paper with a hull."""
    return lambda corpus, setting: train_paper(
        corpus.words, _options(setting, construction), construction, appended=spelling, seed=setting.seed
    )


def _library(*, spelling: bool) -> Callable[[TaggedCorpus, Setting], AnchorHMM]:
    """Make the method that trains the library's anchor model."""
    return lambda corpus, setting: AnchorHMM.train(corpus.words, AnchorOptions(setting.n_states, spelling=spelling))


def _true_anchors(corpus: TaggedCorpus, setting: Setting) -> AnchorHMM:
    """Train the anchor model of the paper with a true anchor for every tag that has one."""
    anchors = [anchor.word for anchor in corpus.assumptions().anchors.values() if anchor is not None]
    return train_paper(corpus.words, _options(setting, "brown"), anchors=anchors)


def _refined(corpus: TaggedCorpus, setting: Setting) -> HiddenMarkov:
    """Train the anchor model of the paper, and go on by Baum-Welch."""
    start = _anchor("brown")(corpus, setting).hidden
    return baum_welch([WordTypes.of(corpus.words).sequences], start, _REFINEMENT)[0]


def _baum_welch(corpus: TaggedCorpus, setting: Setting) -> HiddenMarkov:
    """Train by Baum-Welch from a random start."""
    types = WordTypes.of(corpus.words)
    n = types.sequences.n_sequences
    start = HiddenMarkov.random(types.tokens.astype(float), n, setting.n_states, setting.seed)
    return baum_welch([types.sequences], start, EM(iterations=setting.iterations, state_smoothing=0.0))[0]


HULLS = {
    "random": Method(_anchor("random"), is_random=True),
    "best-fit": Method(_anchor("best-fit")),
    "cca": Method(_anchor("cca")),
    "brown": Method(_anchor("brown"), paper="66.1"),
}
METHODS = {
    "Baum-Welch": Method(_baum_welch, is_random=True, paper="59.8", paper_log="-6.45"),
    "anchor": Method(_anchor("brown"), paper="66.1", paper_log="-7.06"),
    "anchor + features": Method(_anchor("brown", spelling=True), paper="71.4", paper_log="-7.05"),
    "true anchors": Method(_true_anchors),
    "anchor + Baum-Welch": Method(_refined),
    "library": Method(_library(spelling=False)),
    "library + features": Method(_library(spelling=True)),
}


def _run(corpus: TaggedCorpus, method: Method, setting: Setting) -> _Result:
    """Train a model, and score the states that it finds in its own corpus."""
    method.train(_WARM, setting._replace(n_states=2, iterations=2))  # compiles what the method needs
    model, seconds = timed(lambda: method.train(corpus, setting))
    sequences = WordTypes.of(corpus.words).sequences
    hidden = model.hidden if isinstance(model, AnchorHMM) else model
    found = (
        [state for row in model.tag_all(corpus.words) for state in row]
        if isinstance(model, AnchorHMM)
        else state_posteriors(sequences, hidden)[0].argmax(axis=1).tolist()
    )
    gold = [tag for row in corpus.tags for tag in row]
    per_word = score_per_word(hidden, sequences)
    return _Result(many_to_one(gold, found), v_measure(gold, found), one_to_one(gold, found), per_word, seconds)


def score_per_word(model: HiddenMarkov, sequences: Sequences) -> float:
    """Compute the mean log-probability of a word, in nats, ends of sentences included (Table 6)."""
    return float(state_posteriors(sequences, model)[1].sum()) / len(sequences.terminal)


def _cells(runs: Sequence[_Result]) -> list[str]:
    """Format the means of runs, with standard deviations where there are several."""
    columns = np.array(runs)
    cells = []
    for name, column in zip(_Result._fields, columns.T, strict=True):
        digits = 3 if name == "log_per_word" else 1
        spread = f" ({column.std(ddof=1):.{digits}f})" if len(column) > 1 else ""
        cells.append(f"{column.mean():.{digits}f}{spread}")
    return cells


def print_methods(
    corpora: Sequence[TaggedCorpus], methods: dict[str, Method], setting: Setting, seeds: int, *, fine: bool = False
) -> None:
    """Print the scores of methods on every corpus, and their means over several corpora."""
    scores = ("paper, many-to-one", "many-to-one", "V-measure", "one-to-one", "paper, log p per word")
    columns = (*scores, "log p per word", "training s")
    print_head(["method", "corpus", "states"], columns)

    def row(name: str, source: str, m: str, runs: Sequence[_Result]) -> None:
        """Print the row of a method, with the numbers of the paper beside its own."""
        accuracy, v_measure, one_to_one, log, seconds = _cells(runs)
        paper, paper_log = ("-", "-") if fine else (methods[name].paper, methods[name].paper_log)
        cells = [paper, accuracy, v_measure, one_to_one, paper_log, log, seconds]
        print_row([name, source, m], dict(zip(columns, cells, strict=True)), columns, ())

    for name, method in methods.items():
        means = []
        for corpus in corpora:
            m = corpus.n_tags if fine else setting.n_states
            n_runs = seeds if method.is_random else 1
            runs = [_run(corpus, method, setting._replace(n_states=m, seed=setting.seed + i)) for i in range(n_runs)]
            row(name, corpus.source, str(m), runs)
            means.append(_Result(*np.mean(runs, axis=0).tolist()))
        if len(corpora) > 1:
            row(name, "mean", "", [_Result(*np.mean(means, axis=0).tolist())])


def print_assumptions(corpora: Sequence[TaggedCorpus]) -> None:
    """Print Table 5: how many tags have an anchor, also among the most frequent words, and how many words one tag."""
    candidates = AnchorOptions().candidates
    columns = ("words", "types", "tags with anchor", f"within {candidates}", "unambiguous types", "unambiguous tokens")
    print_head(["corpus"], columns)
    for corpus in corpora:
        assumptions = corpus.assumptions()
        words = [word.lower() for row in corpus.words for word in row]
        cells = (
            len(words),
            len(set(words)),
            assumptions.anchored_tags,
            assumptions.anchored_within(candidates),
            assumptions.unambiguous_types,
            assumptions.unambiguous_tokens,
        )
        print_row([corpus.source], dict(zip(columns, cells, strict=True)), columns, columns[:2])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of the paper."""
    parser = command_line(__doc__)
    parser.add_argument("table", choices=("1", "2", "5", "7"), help="Table 2 has the likelihoods of Table 6, too")
    parser.add_argument("sources", metavar="SOURCE", nargs="*", default=["nltk:treebank"], help="corpora with tags")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="of Tables 2 and 7")
    parser.add_argument("--n-states", type=int, default=12, help="the most parts of speech")
    parser.add_argument("--seeds", type=int, default=1, help="runs of random methods; in the paper 10")
    parser.add_argument("--iterations", type=int, default=30, help="of Baum-Welch; in the paper 1000")
    parser.add_argument("--smoothing", metavar="κ", type=float, default=0.0, help="tokens added to counts")
    parser.add_argument("--steps", type=int, help="of EM for transitions; as many as convergence takes if not given")
    given = parser.parse_args(arguments)
    is_fine = given.table == "7"
    corpora = [TaggedCorpus.read(source, fine=is_fine) for source in given.sources]
    if given.table == "5":
        print_assumptions(corpora)
        return
    setting = Setting(given.n_states, given.iterations, smoothing=given.smoothing, steps=given.steps)
    methods = HULLS if given.table == "1" else {name: METHODS[name] for name in given.methods}
    print_methods(corpora, methods, setting, given.seeds, fine=is_fine)


if __name__ == "__main__":
    main()
