"""Read sentences whose trees are partly known, for `parse --partial`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import Input, read_text
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel

__all__ = ["known_tree", "read_partial"]


def read_partial(
    file: str, parser: ConstituencyModel | DependencyModel, console: Console, *, projective: bool
) -> Input:
    """Read and check all sentences of a file before the first is parsed.

    file: a file of brackets for a parser of phrases, of CoNLL-U for a parser of dependencies; `-` for standard input.
    parser: the parser that will complete the trees.
    console: tells the user of a terminal what to type.
    projective: whether arcs must not cross.

    Raises CorpusError, which names file and line, for text that breaks the rules of the format, and for constraints
    that do not fit the sentence or the parser; ClickException for another format.
    """
    from spectral_latent.dependency import DependencyModel

    if isinstance(parser, DependencyModel):
        text, source = read_text(file, console, "conllu")
        sentences = list(_of_table(text, source, parser, projective))
        return Input("conllu", iter([sentences]), len(sentences))
    text, source = read_text(file, console, "brackets")
    sentences = list(_of_brackets(text, source, parser))
    return Input("brackets", iter([sentences]), len(sentences))


def _of_brackets(text: str, source: str, model: ConstituencyModel) -> Iterator[InputSentence]:
    """Read sentences with brackets around some of their words."""
    from spectral_latent.corpora.brackets import parse_partial_with_lines
    from spectral_latent.corpora.text import Line
    from spectral_latent.dependency import DependencySentence

    for number, (line, tree) in enumerate(parse_partial_with_lines(text, source), start=1):
        try:
            model.checked(tree.sentence, tree.constraints)
        except ValueError as error:
            raise Line(source, line).error(str(error)) from None
        yield InputSentence(DependencySentence.of(tree.sentence), number, constraints=tree.constraints)


def _of_table(text: str, source: str, model: DependencyModel, projective: bool) -> Iterator[InputSentence]:
    """Read sentences in CoNLL-U, with their lines."""
    from spectral_latent.corpora.conllu import parse_partial_conllu_with_lines
    from spectral_latent.corpora.text import Line

    lines = [f"{line}\n" for line in text.split("\n")]
    begin = 0
    for number, (tree, of_words) in enumerate(parse_partial_conllu_with_lines(text, source), start=1):
        try:
            model.check(tree, projective=projective)
        except ValueError as error:
            raise Line(source, of_words[0]).error(str(error)) from None
        # The sentence ends with the first empty line after its words.
        end = of_words[-1]
        while end < len(lines) and lines[end].strip(" \r\n"):
            end += 1
        own = tuple(lines[begin : end + 1])
        places = tuple(line - 1 - begin for line in of_words)
        yield InputSentence(tree.sentence, number, own, places, constraints=tree.constraints)
        begin = end + 1


def known_tree(sentence: InputSentence, is_dependency: bool) -> Any:
    """Return the sentence in the form that a parser takes: the words alone, or the words with constraints.

    sentence: a sentence with known parts of its tree.
    is_dependency: whether the parser finds dependency trees.
    """
    from spectral_latent.model import Partial

    if is_dependency:
        bare = sentence.sentence.without_tree()
        return bare if sentence.constraints is None else Partial(bare, sentence.constraints)
    if sentence.constraints is None:
        return sentence.words
    return Partial(sentence.sentence.forms, sentence.constraints)
