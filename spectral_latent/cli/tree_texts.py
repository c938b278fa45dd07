"""Write the trees of a sentence in the forms that `spectral-latent parse` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spectral_latent.cli.conllu import filled_conllu, in_conllu
from spectral_latent.cli.outputs import OutputForm
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.constituency import Phrase
    from spectral_latent.corpora import Format
    from spectral_latent.dependency.sentence import DependencySentence, TagColumn
    from spectral_latent.model import Parses

__all__ = ["dependency_text", "drawings_of", "phrase_text"]


def drawings_of(_: InputSentence, parses: Parses[Any]) -> list[tuple[str, str]]:
    """Draw the trees of a sentence.

    parses: the parses of the sentence.
    """
    return parses.drawings


def phrase_text(sentence: InputSentence, parses: Parses[Phrase], form: OutputForm, n_best: int) -> str:
    """Write the trees of a sentence in brackets or in JSON.

    sentence: the sentence of the input.
    parses: the parses of the sentence.
    form: the form of the answer.
    n_best: the number of trees that were asked for.
    """
    return _bracketed(parses, n_best) if form == "text" else _json(parses, sentence)


def dependency_text(
    sentence: InputSentence,
    parses: Parses[DependencySentence],
    form: OutputForm,
    given: Format,
    column: TagColumn,
    n_best: int,
) -> str:
    """Write the trees of a sentence in CoNLL-U or in JSON.

    sentence: the sentence of the input.
    parses: the parses of the sentence.
    form: the form of the answer.
    given: the format that the sentence was read from.
    column: the column of the parser's tags.
    n_best: the number of trees that were asked for.
    """
    return _conllu(sentence, given, parses, column, n_best) if form == "text" else _json(parses, sentence)


def _bracketed(parses: Parses[Phrase], n_best: int) -> str:
    """Write the trees of a sentence: one tree, or a block of trees with scores."""
    if n_best == 1:
        return "".join(parse.tree.bracketed() for parse in parses) + "\n"
    return "".join(f"{parse.log:.6f}\t{parse.tree.bracketed()}\n" for parse in parses) + "\n"


def _json(parses: Parses[Phrase] | Parses[DependencySentence], sentence: InputSentence) -> str:
    """Write the trees of a sentence as a line of JSON."""
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.reranking import parses_to_nbest

    return "".join(write_nbest([parses_to_nbest(parses, sentence.sent_id)], "json"))


def _conllu(
    sentence: InputSentence, form: Format, parses: Parses[DependencySentence], column: TagColumn, n_best: int
) -> str:
    """Write the trees of a sentence in CoNLL-U, with their ranks if several were asked for."""
    if not parses:
        return ""
    table = sentence if form == "conllu" else in_conllu(sentence, column)
    ranked = enumerate(parses, start=1)
    return "".join(filled_conllu(table, parse, column, rank if n_best > 1 else None) for rank, parse in ranked)
