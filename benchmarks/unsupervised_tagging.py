"""Parts of speech without labels: Tables 1, 2, 5 and 6 of Stratos et al. (2016), over the treebanks at hand.

    python benchmarks/unsupervised_tagging.py                            # NLTK's treebank sample and Brown corpus
    python benchmarks/unsupervised_tagging.py --baselines ptb=nltk:treebank       # and Baum-Welch and log-linear models
    python benchmarks/unsupervised_tagging.py --likelihood en=en-train.conllu,en-dev.conllu de=de-dev.conllu
    python benchmarks/unsupervised_tagging.py --hulls en=en-train.conllu          # Table 1
    python benchmarks/unsupervised_tagging.py --assumptions                       # Table 5

A model learns from all sentences of a corpus and tags the same sentences; it is scored by the twelve universal tags.
Methods that start at random are run once per seed: mean (standard deviation).  Every run is a process of its own.
Seconds are CPU seconds of learning, after compilation and from sentences in memory; one thread per process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from _measure import in_new_process
from threadpoolctl import threadpool_limits

from spectral_latent.anchors import AnchorHMM, AnchorOptions, HullOptions, Types
from spectral_latent.corpora import tagged_sentences, universal_tag
from spectral_latent.evaluation import many_to_one, one_to_one, v_measure
from spectral_latent.papers import (
    LogLinearOptions,
    baum_welch_of_seeds,
    check_assumptions,
    cluster_model,
    log_likelihood_per_word,
    log_linear,
    max_marginal_states,
)
from spectral_latent.sequence import HiddenMarkov

Words = list[list[str]]
DEFAULTS = ("PTB sample=nltk:treebank", "Brown corpus=nltk:brown")


class Setting(NamedTuple):
    """What the methods share."""

    states: int
    iterations: int
    seed: int


class Method(NamedTuple):
    """A learner, whether it starts at random, and the group that a flag asks for."""

    fit: Callable[[Words, Setting], AnchorHMM | HiddenMarkov]
    seeded: bool
    group: str


class Corpus(NamedTuple):
    """A name and the sources of its sentences."""

    name: str
    sources: tuple[str, ...]

    def tagged(self) -> list[list[tuple[str, str]]]:
        """All sentences, with universal tags."""
        found = []
        for source in self.sources:
            column = "universal" if source.startswith("nltk:") else None
            for sentence in tagged_sentences(source, column):
                found.append([(word, universal_tag(tag)) for word, tag in sentence])
        return found


class Result(NamedTuple):
    """Of one run: percentages, nats per word, CPU seconds."""

    many_to_one: float
    v_measure: float
    one_to_one: float
    log_likelihood: float
    seconds: float


def anchor(words: Words, setting: Setting, hull: HullOptions) -> AnchorHMM:
    return AnchorHMM.train(words, AnchorOptions(n_states=setting.states, hull=hull))


def baum_welch(words: Words, setting: Setting) -> HiddenMarkov:
    return baum_welch_of_seeds(Types.of(words), setting.states, (setting.seed,), setting.iterations)


def features(words: Words, setting: Setting) -> HiddenMarkov:
    options = LogLinearOptions(n_states=setting.states, iterations=setting.iterations, seed=setting.seed)
    return log_linear(Types.of(words), options)


def of_hull(construction: str) -> Method:
    """An anchor model without spelling, whose points are as in the paper."""

    def fit(words: Words, setting: Setting) -> AnchorHMM:
        return anchor(words, setting, HullOptions(construction, spelling=False, prior=0.0, seed=setting.seed))

    return Method(fit, construction == "random", "hulls")


METHODS = {
    "Baum-Welch": Method(baum_welch, True, "baselines"),
    "log-linear": Method(features, True, "baselines"),
    "Brown clusters": Method(lambda words, setting: cluster_model(Types.of(words), setting.states), False, "models"),
    "anchor": Method(lambda words, setting: anchor(words, setting, HullOptions(spelling=False)), False, "models"),
    "anchor + features": Method(lambda words, setting: anchor(words, setting, HullOptions()), False, "models"),
    **{f"hull: {name}": of_hull(name) for name in ("random", "best-fit", "cca", "brown")},
}


def measure(corpus: Corpus, name: str, setting: Setting) -> Result:
    """One run."""
    fit = METHODS[name].fit
    with threadpool_limits(1):
        fit([["a", "b", "c", "d"], ["a", "c", "b"], ["d", "b"]] * 5, setting._replace(states=2, iterations=2))
        tagged = corpus.tagged()
        words = [[word for word, _ in sentence] for sentence in tagged]
        start = time.process_time()
        model = fit(words, setting)
        seconds = time.process_time() - start
        types = Types.of(words)
        if isinstance(model, AnchorHMM):
            found = [state for row in model.states(words) for state in row]
        else:
            found = max_marginal_states(model, types.sequences).tolist()
        hidden = model.hidden if isinstance(model, AnchorHMM) else model
        gold = [tag for sentence in tagged for _, tag in sentence]
        return Result(
            many_to_one(gold, found),
            v_measure(gold, found),
            one_to_one(gold, found),
            log_likelihood_per_word(hidden, types.sequences),
            seconds,
        )


def cells(runs: list[Result], likelihood: bool) -> str:
    """Columns of the table: means, with standard deviations where there are several runs."""
    columns = np.array(runs)
    spread = columns.std(axis=0, ddof=1) if len(runs) > 1 else None
    digits = {"log_likelihood": 3}
    shown = []
    for k, field in enumerate(Result._fields):
        if field == "log_likelihood" and not likelihood:
            continue
        d = digits.get(field, 1)
        shown.append(f"{columns[:, k].mean():.{d}f}" + ("" if spread is None else f" ({spread[k]:.{d}f})"))
    return " | ".join(shown)


def rows_of(corpus: Corpus, names: list[str], arguments: argparse.Namespace) -> Iterator[tuple[str, list[Result]]]:
    """The runs of each method."""
    for name in names:
        seeds = range(arguments.seeds if METHODS[name].seeded else 1)
        yield (
            name,
            [
                in_new_process(measure, corpus, name, Setting(arguments.n_states, arguments.iterations, seed))
                for seed in seeds
            ],
        )


def print_methods(corpora: list[Corpus], names: list[str], arguments: argparse.Namespace) -> None:
    """Table 1 or 2, with the likelihoods of Table 6; then means over corpora."""
    head = ["corpus", "method", "many-to-one", "V-measure", "one-to-one"]
    head += ["log p per word"] * arguments.likelihood + ["CPU s"]
    print(f"| {' | '.join(head)} |\n| --- | --- {'| ---: ' * (len(head) - 2)}|", flush=True)
    means: dict[str, list[Result]] = {name: [] for name in names}
    for corpus in corpora:
        for name, runs in rows_of(corpus, names, arguments):
            print(f"| {corpus.name} | {name} | {cells(runs, arguments.likelihood)} |", flush=True)
            means[name].append(Result(*np.mean(runs, axis=0).tolist()))
    if len(corpora) > 1:
        for name, found in means.items():
            whole = Result(*np.mean(found, axis=0).tolist())
            print(f"| mean | {name} | {cells([whole], arguments.likelihood)} |")


def print_assumptions(corpora: list[Corpus], candidates: int) -> None:
    """Table 5, then the most frequent anchor of each tag."""
    print(f"| corpus | words | types | tags with anchor | within {candidates} | unambiguous types | tokens |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    lines = []
    for corpus in corpora:
        tagged = corpus.tagged()
        found = check_assumptions(tagged)
        words = [word.lower() for sentence in tagged for word, _ in sentence]
        shares = (
            found.anchored_tags,
            found.anchored_within(candidates),
            found.unambiguous_types,
            found.unambiguous_tokens,
        )
        shown = " | ".join(f"{share:.1f}" for share in shares)
        print(f"| {corpus.name} | {len(words):,} | {len(set(words)):,} | {shown} |")
        anchors = ((tag, a) for tag, a in found.anchors.items())
        each = (f"{tag}: {a.word} ({a.count})" if a else f"{tag}: none" for tag, a in anchors)
        lines.append(f"- {corpus.name}: {', '.join(each)}")
    print("\nMost frequent anchors (tokens):\n\n" + "\n".join(lines))


def corpus_of(text: str) -> Corpus:
    """NAME=SOURCE[,SOURCE...]."""
    name, equals, sources = text.partition("=")
    if not (name and equals and sources):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SOURCE[,SOURCE...]")
    return Corpus(name, tuple(sources.split(",")))


def main() -> None:
    """Print the table that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", type=corpus_of, metavar="NAME=SOURCE[,SOURCE...]")
    parser.add_argument("--hulls", action="store_true", help="Table 1: anchor models without spelling, by hull")
    parser.add_argument("--baselines", action="store_true", help="also Baum-Welch and log-linear models: slow")
    parser.add_argument("--likelihood", action="store_true", help="also log p per word in nats, as in Table 6")
    parser.add_argument("--assumptions", action="store_true", help="Table 5 instead: are there anchors?")
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="these only")
    parser.add_argument("--n-states", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3, help="of methods that start at random")
    parser.add_argument("--iterations", type=int, default=100, help="of Baum-Welch and of log-linear models")
    arguments = parser.parse_args()
    corpora = arguments.corpora or [corpus_of(text) for text in DEFAULTS]
    if arguments.assumptions:
        print_assumptions(corpora, AnchorOptions().candidates)
        return
    groups = {"hulls"} if arguments.hulls else {"models", "baselines"} if arguments.baselines else {"models"}
    names = arguments.methods or [name for name, method in METHODS.items() if method.group in groups]
    print_methods(corpora, names, arguments)


if __name__ == "__main__":
    main()
