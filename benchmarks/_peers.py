"""Other programs that are trained or read on the same data: NLTK's taggers, UDPipe, the Berkeley parser."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from benchmarks._measure import DATA
from spectral_latent.constituency import Phrase
from spectral_latent.corpora import parse_conllu, to_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import read_nbest, words_of

Sentences = Sequence[DependencySentence]
Tagged = list[list[tuple[str, str]]]
Tagger = Callable[[Iterable[list[str]]], list[list[str]]]


def berkeley_lists(source: str) -> Path:
    """Name the file of the Berkeley parser's lists of a part of NLTK's treebank sample."""
    split = source.removeprefix("nltk:treebank:")
    return DATA / "nbest" / f"berkeley.{split}.trees"


def berkeley_trees(file: Path, numbers: Sequence[int], gold: Sequence[Phrase]) -> list[Phrase]:
    """Take the first tree of some lists, or a flat tree without any label of the treebank if a list is empty.

    numbers: the number of the list of each sentence, from 0.
    """
    lists = list(read_nbest(file))
    trees = []
    for number, right in zip(numbers, gold, strict=True):
        tree = lists[number].candidates[0].tree if lists[number].candidates else None
        flat = Phrase("NONE", tuple(Phrase("NONE", (word,)) for word in words_of(right)))
        trees.append(tree if isinstance(tree, Phrase) else flat)
    return trees


def train_udpipe(train: Sentences) -> Callable[[Sentences], list[DependencySentence]]:
    """Train the parser of UDPipe 1."""
    from ufal import udpipe  # type: ignore[import-not-found, unused-ignore]

    error = udpipe.ProcessingError()

    def read(trees: Sentences) -> list[Any]:
        """Read trees as UDPipe holds them."""
        reader = udpipe.InputFormat.newConlluInputFormat()
        reader.setText("".join(map(to_conllu, trees)))
        sentences = []
        while reader.nextSentence(sentence := udpipe.Sentence(), error):
            sentences.append(sentence)
        return sentences

    examples = udpipe.Sentences(read(train))
    made = udpipe.Trainer.train("morphodita_parsito", examples, udpipe.Sentences(), "none", "none", "", error)
    with NamedTemporaryFile() as file:  # UDPipe loads models from files alone
        file.write(made)
        file.flush()
        model = udpipe.Model.load(file.name)

    def parse(sentences: Sentences) -> list[DependencySentence]:
        """Parse sentences with their tags and features."""
        given = read([tree.without_tree() for tree in sentences])
        for sentence in given:
            model.parse(sentence, model.DEFAULT, error)
        text = "".join(map(udpipe.OutputFormat.newConlluOutputFormat().writeSentence, given))
        return list(parse_conllu(text, "UDPipe"))

    return parse


def _of_nltk(tagger: Any) -> Tagger:
    """Make a function that gives tags alone of a tagger of NLTK, which gives pairs of word and tag."""
    return lambda sentences: [[tag for _, tag in row] for row in tagger.tag_sents(list(sentences))]


def _train_hidden_markov(sentences: Tagged) -> Tagger:
    """Train NLTK's HiddenMarkovModelTagger."""
    from nltk.tag.hmm import HiddenMarkovModelTagger

    return _of_nltk(HiddenMarkovModelTagger.train(sentences))


def _train_witten_bell(sentences: Tagged) -> Tagger:
    """Train NLTK's HiddenMarkovModelTrainer with smoothed counts, and one more bin for unseen events."""
    from nltk.probability import WittenBellProbDist
    from nltk.tag.hmm import HiddenMarkovModelTrainer

    states = sorted({tag for row in sentences for _, tag in row})
    symbols = sorted({word for row in sentences for word, _ in row})
    trainer = HiddenMarkovModelTrainer(states, symbols)
    trained = trainer.train_supervised(sentences, estimator=lambda counts, bins: WittenBellProbDist(counts, bins + 1))
    return _of_nltk(trained)


def _train_tnt(sentences: Tagged) -> Tagger:
    """Train NLTK's TnT."""
    from nltk.tag.tnt import TnT

    tagger = TnT()
    tagger.train(sentences)
    return _of_nltk(tagger)


def _train_perceptron(sentences: Tagged) -> Tagger:
    """Train NLTK's PerceptronTagger by five iterations."""
    from nltk.tag.perceptron import PerceptronTagger

    random.seed(0)
    tagger = PerceptronTagger(load=False)
    tagger.train(sentences, nr_iter=5)
    return _of_nltk(tagger)


TAGGERS: dict[str, Callable[[Tagged], Tagger]] = {
    "NLTK HMM, default": _train_hidden_markov,
    "NLTK HMM, Witten-Bell": _train_witten_bell,
    "NLTK TnT": _train_tnt,
    "NLTK Perceptron": _train_perceptron,
}
