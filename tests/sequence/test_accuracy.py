"""Taggers and models of sequences with default settings on treebanks: floors somewhat below what they reach."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from spectral_latent.corpora import tagged_sentences
from spectral_latent.evaluation import score_tags
from spectral_latent.sequence import LatentHMM, LatentTagger


def test_the_english_web_treebank(shared_file: Callable[[str], Path]) -> None:
    """From a third of the sentences, which takes half of the time."""
    train, dev = (
        list(tagged_sentences(shared_file(f"ud/en_ewt/en_ewt-ud-{part}.conllu"))) for part in ("train", "dev")
    )
    tagger, rows = LatentTagger.train(train[:4000]), [[word for word, _ in row] for row in dev]
    found = [list(zip(row, tags, strict=True)) for row, tags in zip(rows, tagger.tag_all(rows), strict=True)]
    assert score_tags(dev, found).accuracy >= 92.4  # measured 92.9; 94.5 from all sentences


def test_sequences_of_tags(require_corpus: Callable[[str], Any]) -> None:
    """From 400 sentences, by what held-out sentences ask for; one state has a perplexity of 24.3."""
    require_corpus("treebank")
    train, dev = (
        [[tag for _, tag in row] for row in tagged_sentences(f"nltk:treebank:{part}")] for part in ("train", "dev")
    )
    log = LatentHMM.train(train[:400]).log_probabilities(dev)
    assert np.exp(-log.sum() / sum(map(len, dev))) <= 12.0  # measured 11.3
