"""Read and write treebanks, and tagged and plain sentences."""

from spectral_latent.corpora._nltk import phrase_from_nltk, phrases_from_nltk
from spectral_latent.corpora.brackets import Markup, parse_brackets, parse_partial, raw_trees
from spectral_latent.corpora.conllu import (
    DividedText,
    divided_texts,
    has_text,
    parse_conllu,
    parse_partial_conllu,
    to_conllu,
)
from spectral_latent.corpora.formats import Format, Guess, sniff_format
from spectral_latent.corpora.rows import parse_table
from spectral_latent.corpora.sources import constituency_trees, dependency_trees
from spectral_latent.corpora.tagged import (
    UNIVERSAL_TAGS,
    parse_tagged,
    plain_sentences,
    sentences,
    tagged_sentences,
    universal_tag,
)
from spectral_latent.corpora.text import CorpusError, decode, read_text

__all__ = [
    "UNIVERSAL_TAGS",
    "CorpusError",
    "DividedText",
    "Format",
    "Guess",
    "Markup",
    "constituency_trees",
    "decode",
    "dependency_trees",
    "divided_texts",
    "has_text",
    "parse_brackets",
    "parse_conllu",
    "parse_partial",
    "parse_partial_conllu",
    "parse_table",
    "parse_tagged",
    "phrase_from_nltk",
    "phrases_from_nltk",
    "plain_sentences",
    "raw_trees",
    "read_text",
    "sentences",
    "sniff_format",
    "tagged_sentences",
    "to_conllu",
    "universal_tag",
]
