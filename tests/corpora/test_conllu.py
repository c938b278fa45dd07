"""The CoNLL-U reader against what a simple writer wrote, against NLTK, and its errors one by one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import CorpusError, parse_conllu, to_conllu
from spectral_latent.corpora.conllu import parse_with_lines
from spectral_latent.dependency import DependencySentence
from tests.corpora.annotated import lines_of, sentences, written
from tests.processes import is_linear


@given(sentences(), st.data())
def test_ranges_are_kept_and_empty_nodes_are_passed_over(sentence: DependencySentence, data: st.DataObject) -> None:
    size = len(sentence.forms)
    rest = "\t".join("_" * 9)
    lines: list[str] = []
    ranges = []
    end = 0
    for number, line in enumerate(["", *lines_of(sentence)]):
        if number > end and data.draw(st.booleans()):
            end = data.draw(st.integers(number, size))
            lines.append(f"{number}-{end}\tX\t{rest[2:]}")
            ranges.append((number, end, "X"))
        lines += [line] * bool(line)
        lines += [f"{number}.{n}\t{rest}" for n in range(1, data.draw(st.integers(0, 2)) + 1)]
    assert list(parse_conllu("\n".join(lines))) == [sentence._replace(comments=(), ranges=tuple(ranges))]


@given(st.lists(sentences(), min_size=1, max_size=3), st.integers(1, 10**6))
def test_the_first_line_has_the_number_that_is_given(sentences: list[DependencySentence], line: int) -> None:
    text = written(sentences)
    found = [
        (sentence, [number - line + 1 for number in numbers]) for sentence, numbers in parse_with_lines(text, "", line)
    ]
    assert found == list(parse_with_lines(text))
    with pytest.raises(CorpusError, match=f"x, line {line + text.count(chr(10))}: 1 column"):
        list(parse_with_lines(text + "1", "x", line))


ROW = "{}\tdog\tdog\tNOUN\tNN\t_\t{}\tdep\t_\t_\n"


def rows(*pairs: str) -> str:
    return "".join(ROW.format(*pair.split(":")) for pair in pairs)


def test_words_as_they_stand() -> None:
    text = "1\ta b\t_\t_\tX\t_\t0\troot\t_\t_\n2\t_\t#\tSYM\t_\t_\t1\tdep\t_\t_\n3\t#\t\u2028\tSYM\t_\t_\t1\tdep\t_\t\n"
    (sentence,) = parse_conllu(text)
    assert sentence.forms == ("a b", "_", "#")
    assert sentence.lemmas == ("_", "#", "\u2028")
    assert sentence.upos == ("_", "SYM", "SYM")


def test_comments_belong_to_the_sentence_that_they_precede_or_interrupt() -> None:
    text = f"# a = 1\n\n#b\n{rows('1:2')}# c\n{rows('2:0')}\n{rows('1:0')}\n#  d\n"
    assert [sentence.comments for sentence in parse_conllu(text)] == [("a = 1", "b", "c"), ()]


GOOD = f"# c\n{rows('1:2', '2:0')}\n"  # four lines


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (f"{GOOD}1\tdog\tNOUN\n", 5, "3 columns where CoNLL-U has 10"),
        (f"{GOOD}{rows('1:0').strip()}\t\n", 5, "11 columns"),
        (f"{GOOD}1\t\tdog\tNOUN\tNN\t_\t0\troot\t_\t_", 5, "column FORM is empty; write _"),
        (f"{GOOD}1\tdog\tdog\tNOUN\tNN\t_\t\troot\t_\t_", 5, "column HEAD is empty"),
        (f"{GOOD}{rows('2:0')}", 5, "'2'"),
        (f"{GOOD}{rows('1:0', '1:0')}", 6, "'1'"),
        (rows("x:0"), 1, "'x'"),
        (rows("١:0"), 1, "'١'"),
        (rows("1:0", "1-2:_", "2:0"), 2, "'1-2'"),
        (rows("1-3:_", "1:0", "2-3:_", "2:0", "3:0"), 3, "'2-3'"),
        (rows("01-2:_", "1:0", "2:1"), 1, "'01-2'"),
        (rows("1:0", "01.1:_", "2:1"), 2, "'01.1'"),
        (rows("1:0", "2-4:_", "2:0", "3:0"), 2, "a range up to the word 4 in a sentence of 3 words"),
        (rows("1-2:_", "1:0", "2-3:_", "2:0", "3:0"), 3, "'2-3'"),
        (rows("1-2:_", "1-3:_", "1:0", "2:0", "3:0"), 2, "'1-3'"),
        (rows("1.1:_", "1:0"), 1, "'1.1'"),
        (rows("1:0", "1.1:_", "1.1:_"), 3, "'1.1'"),
        (rows("0.1:_", "0.1:_", "1:0"), 2, "'0.1'"),
        (rows("1:0", "1.2:_", "1.1:_"), 3, "'1.1'"),
        (f"{GOOD}{rows('0.1:_', '0.2:_')}", 5, "has no words"),
        (rows("1:2", "2:x"), 2, "the HEAD 'x' is not a number"),
        (rows(*(f"{n}:007" if n == 8 else f"{n}:{n - 1}" for n in range(1, 9))), 8, "the HEAD '007' is not a number"),
        (rows("1:2", "2:" + "9" * 5000), 2, "is not a number"),
        (f"{GOOD}{rows('1:2', '2:3')}", 6, "the HEAD 3 in a sentence of 2 words"),
        (f"{GOOD}{rows('1:0', '1.1:_', '2:2')}", 7, "the word 2 is its own HEAD"),
        (f"{GOOD}{rows('1:0', '2:_')}", 6, "no HEAD where other words"),
    ],
)
def test_errors_name_source_and_line(text: str, line: int, problem: str) -> None:
    for ending in ("\n", "\r\n"):
        with pytest.raises(CorpusError) as caught:
            list(parse_conllu(text.replace("\n", ending), "es.conllu"))
        assert str(caught.value).startswith(f"es.conllu, line {line}: ")
        assert problem in str(caught.value)
        assert ";" in str(caught.value)


def test_sentences_before_an_error_are_given() -> None:
    sentences = parse_conllu(f"{GOOD}{GOOD}x\n")
    assert [next(sentences).heads, next(sentences).heads] == [(2, 0), (2, 0)]
    with pytest.raises(CorpusError, match="line 9"):
        next(sentences)


LINES = [ROW.format(i, h) for i in ("1", "2", "1-2", "1.1") for h in "_012"] + ["\n", "#\n"]


@given(
    st.lists(st.sampled_from(LINES)), st.sampled_from([[], ["1-2:_", "1:2", "2:0"], ["1-1:_", "1:0", "2-2:_", "2:1"]])
)
def test_any_lines_give_sentences_or_the_error(some: list[str], before: list[str]) -> None:
    lines = [*(rows(row) for row in before), *["\n"] * bool(before), *some]
    try:
        sentences = list(parse_conllu("".join(lines)))
    except CorpusError:
        return
    assert list(parse_conllu(written(sentences))) == sentences
    assert sum(len(sentence.forms) for sentence in sentences) == sum(line[:2] in ("1\t", "2\t") for line in lines)


def test_long_sentences_take_linear_time() -> None:
    def read(size: int) -> None:
        (sentence,) = parse_conllu(rows(*(f"{n}:{n - 1}" for n in range(1, size + 1))))
        assert len(sentence.forms) == size and sentence.is_tree()

    assert is_linear(read, 2_000)


@pytest.mark.parametrize("name", ["es_gsd", "id_gsd"])
def test_universal_dependencies(shared_file: Callable[[str], Path], name: str) -> None:
    file = shared_file(f"ud/{name}/{name}-ud-dev.conllu")
    text = file.read_text(encoding="utf-8")
    sentences = list(parse_conllu(text))
    assert len(sentences) == len(re.findall("^# sent_id", text, re.MULTILINE))
    assert sum(len(sentence.comments) for sentence in sentences) == len(re.findall("^#", text, re.MULTILINE))
    assert all(sentence.is_tree() for sentence in sentences)
    # Written as they were, they have all that was read.
    for sentence, block in zip(sentences, text.strip().split("\n\n"), strict=True):
        lines = block.split("\n")
        expected = [line if line.startswith("#") else re.sub("\t[^\t]+\t[^\t]+$", "\t_\t_", line) for line in lines]
        assert to_conllu(sentence) == "\n".join([line for line in expected if not re.match(r"\d+\.", line)] + ["", ""])
