"""Read sentences whose trees are partly known: brackets around some of the words.

    She saw (NP the man (PP with the telescope)) .
    (S (NP (PRP She)) (VP (VBD saw) ( the man ) with the telescope) .)
    She saw the man (!NP with the telescope) (! in the park) .

A label follows its bracket at once.  A bracket without a label requires a constituent with any label.  A bracket with !
before its label forbids a constituent with this label; a bracket with ! alone forbids any constituent.  A sentence ends
with its line, or with the line where its last bracket closes, so that trees may stand on several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import intern  # one string per distinct label and word

from spectral_latent.constituency import PartialPhrase, Phrase, partial_phrase
from spectral_latent.corpora.text import CorpusError, Line

__all__ = ["parse_partial", "parse_partial_with_lines"]

_TOKEN = re.compile(r"(\()([^\s()]*+) | (\)) | [^\s()]++", re.ASCII | re.VERBOSE)
_OPENS = 1
_LABEL = 2
_CLOSES = 3


def parse_partial(text: str, source: str = "<string>") -> Iterator[PartialPhrase]:
    """Read sentences with brackets around some of their words.

    text: the sentences; empty lines have no meaning.

    Raises `CorpusError`, which names `source` and the line, for brackets that do not match, brackets without words,
    brackets that are both required and forbidden, sentences that have nothing but traces, and a text without sentences.

    >>> (sentence,) = parse_partial("She saw (NP the man) .")
    >>> sentence.sentence, sentence.constraints.brackets
    (('She', 'saw', 'the', 'man', '.'), (Bracket(first=2, end=4, label='NP'),))
    """
    return (sentence for _, sentence in parse_partial_with_lines(text, source))


def parse_partial_with_lines(text: str, source: str = "<string>") -> Iterator[tuple[int, PartialPhrase]]:
    """Read sentences as `parse_partial` does, each with the number of its first line.

    >>> [line for line, _ in parse_partial_with_lines("(NP Yes\\n,\\nindeed)\\n\\nNo")]
    [1, 5]
    """
    is_empty = True
    # The label and the children so far of the sentence, and of each bracket that is open in it.
    begun: list[tuple[str, list[Phrase | str]]] = [("", [])]
    begin = 0  # the line where the sentence begins
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if len(begun) == 1:
            begin = number
        for token in _TOKEN.finditer(line):
            if token[_OPENS]:
                begun.append((intern(token[_LABEL]), []))
            elif not token[_CLOSES]:
                begun[-1][1].append(intern(token[0]))
            elif len(begun) == 1:
                raise Line(source, number).error("a bracket closes that was never opened; write -RRB- for the word )")
            else:
                label, children = begun.pop()
                if not children:
                    raise Line(source, number).error(f"the bracket ({label}) has no words; remove it")
                begun[-1][1].append(Phrase(label, tuple(children)))
        if len(begun) == 1 and begun[0][1]:
            try:
                sentence = partial_phrase(Phrase("", tuple(begun[0][1])))
            except ValueError as error:
                raise Line(source, begin).error(str(error)) from None
            if not sentence.sentence:
                raise Line(source, begin).error("the sentence that begins here has no words; remove it")
            yield begin, sentence
            is_empty = False
            begun = [("", [])]
    if len(begun) > 1:
        raise Line(source, begin).error(
            "a bracket that opens in this sentence is never closed; add the missing bracket"
        )
    if is_empty:
        raise CorpusError(f"{source}: no sentences; give text such as She saw (NP the man) .")
