"""Offer the latent PCFG as a component of spaCy."""

from __future__ import annotations

from collections.abc import Sequence

from spacy.language import Language
from spacy.tokens import Doc, Token

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent_spacy._component import Component
from spectral_latent_spacy._constituents import keep_constituents, register_attributes

__all__ = ["SpectralConstituency"]

register_attributes()


class SpectralConstituency(Component):
    """A constituency parser: it sets the attributes listed in `_constituents`, and the tags of untagged words.

    A sentence that the grammar cannot derive has a flat tree labelled FALLBACK.

    name: the name of the component in its pipeline.
    path: the file of the model.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import spacy
    >>> trees = [Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> nlp = spacy.blank("en")
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "model"))
    ...     ConstituencyModel.train(trees).save(path)
    ...     _ = nlp.add_pipe("sentencizer")
    ...     _ = nlp.add_pipe("spectral_constituency", config={"model": path})
    ...     doc = nlp("mice sleep")
    >>> [sent._.parse_string for sent in doc.sents]
    ['(S (NNS mice) (VBP sleep))']
    """

    models = (ConstituencyModel,)

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        trees: dict[Doc, list[tuple[list[Token], Phrase]]] = {doc: [] for doc in docs}
        parses = self.latent.parse_all(([token.text for token in words] for words in sentences), scored=False)
        for words, (parse,) in zip(sentences, parses, strict=True):
            trees[words[0].doc].append((words, parse.tree))
            tags = (node.label for node in parse.tree.nodes() if isinstance(node, Phrase) and node.is_preterminal())
            for token, tag in zip(words, tags, strict=True):
                token.tag_ = token.tag_ or tag
        for doc, of_doc in trees.items():
            keep_constituents(doc, of_doc)


@Language.factory("spectral_constituency", default_config={"model": ""}, assigns=["token.tag"])
def _make_constituency(nlp: Language, name: str, model: str) -> SpectralConstituency:
    """Make the component."""
    return SpectralConstituency(name, model)
