"""Tagged and plain sentences by name, against NLTK where it reads the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.corpus.reader import DependencyCorpusReader, TaggedCorpusReader
from nltk.tag import map_tag, str2tuple

from spectral_latent.constituency import Changes
from spectral_latent.corpora import (
    UNIVERSAL_TAGS,
    CorpusError,
    constituency_trees,
    parse_tagged,
    sentences,
    tagged_sentences,
    universal_tag,
)

Install = Callable[..., Any]
Tagged = list[tuple[str, str]]

SPACES = " \t\n\r\f\v"
WORD = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters=SPACES), min_size=1, max_size=5)
TAG = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters=SPACES + "/"), min_size=1, max_size=3)
SENTENCES = st.lists(st.lists(st.tuples(WORD, TAG), min_size=1, max_size=4), min_size=1, max_size=4)


@given(SENTENCES, st.data())
def test_reads_what_was_written(tagged: list[Tagged], data: st.DataObject) -> None:
    space, end = st.text(" \t\f\v", max_size=2), st.text("\r\n", max_size=2)
    lines = [
        data.draw(space).join(f"{word}/{tag} " for word, tag in sentence) + data.draw(end) + "\n" for sentence in tagged
    ]
    assert list(parse_tagged(data.draw(end) + "".join(lines))) == tagged


@given(WORD)
def test_a_word_is_divided_as_by_nltk(token: str) -> None:
    word, tag = str2tuple(token)
    try:
        ((pair,),) = parse_tagged(token)
    except CorpusError:
        assert not (word and tag)
    else:
        assert (pair[0], pair[1].upper()) == (word, tag)


CONLLU = """1-2|vámonos|_|_|_|_|_|_|_|_
1|vamos|ir|VERB|V|_|0|root|_|_
2|nos|nosotros|PRON|{}|_|1|obj|_|_
""".replace("|", "\t")


@pytest.fixture
def conllu(tmp_path: Path) -> Path:
    file = tmp_path / "a.CONLLU"
    file.write_text(CONLLU.format("P"), encoding="utf-8")
    return file


def test_columns_of_conllu(conllu: Path) -> None:
    assert list(tagged_sentences(conllu)) == [[("vamos", "VERB"), ("nos", "PRON")]]
    assert list(tagged_sentences(str(conllu), "upos")) == list(tagged_sentences(conllu))
    assert list(tagged_sentences(conllu, "xpos")) == [[("vamos", "V"), ("nos", "P")]]
    assert list(sentences(conllu)) == [["vamos", "nos"]]
    with pytest.raises(CorpusError, match=r"a\.CONLLU: no tags in a column 'universal'; give upos, or xpos"):
        tagged_sentences(conllu, "universal")


def test_the_column_that_has_tags(tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    file.write_text("1\tYes\t_\t_\tUH\t_\t_\t_\t_\t_\n")
    columns: list[Any] = []
    for column in (None, "upos"):
        assert list(tagged_sentences(file, column, columns=columns)) == [[("Yes", "UH")]]
    assert columns == ["xpos", "xpos"]
    file.write_text("1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n")
    with pytest.raises(CorpusError, match=r"a\.conllu: no word has a tag"):
        list(tagged_sentences(file))


def test_a_file_may_have_the_name_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nltk.tagged").write_text("a/A\n")
    assert list(sentences("nltk.tagged")) == [["a"]] and list(tagged_sentences("nltk.tagged")) == [[("a", "A")]]


def test_words_of_tagged_text(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("\nthe/DT dog/NN\nbarks/VB\n")
    assert list(sentences(file)) == [["the", "dog"], ["barks"]]
    file.write_text("the/DT dog/NN\nbarks\n")
    with pytest.warns(UserWarning, match="line 1 looks like words with tags, but others do not"):
        assert list(sentences(file)) == [["the/DT", "dog/NN"], ["barks"]]
    with pytest.raises(CorpusError, match="line 2: 'barks' is not a word/TAG"):
        list(sentences(file, form="tagged"))
    file.write_text("and/or dogs\nbarks/VB\n")
    assert list(sentences(file)) == [["and/or", "dogs"], ["barks/VB"]]
    with pytest.raises(CorpusError, match="line 1: 'dogs'"):
        list(sentences(file.rename(tmp_path / "a.tagged")))


def test_parts(install: Install) -> None:
    install({f"{n:02}.pos": f"w{n}/N" for n in range(1, 21)}, TaggedCorpusReader)
    assert list(tagged_sentences("nltk:toy:test")) == [[("w9", "N")], [("w19", "N")]]
    assert list(sentences("nltk:toy:dev")) == [["w8"], ["w18"]]
    assert len(list(tagged_sentences("nltk:toy:train"))) == 16
    install({"all.pos": "".join(f"w{n}/N\n" for n in range(1, 21))}, TaggedCorpusReader)
    assert list(sentences("nltk:toy:test")) == [["w9"], ["w19"]]


def test_a_part_without_files(install: Install) -> None:
    install({"a.mrg": "(X a)", "b.mrg": "(X b)"})
    for read in (tagged_sentences, sentences, constituency_trees):
        assert len(list(read("nltk:toy:train"))) == 2
        with pytest.raises(CorpusError, match=r"nltk:toy:dev: none of the 2 files is in this part.*; give nltk:toy"):
            read("nltk:toy:dev")


def test_traces_are_left_out(install: Install) -> None:
    install(
        {"a.mrg": "( (S (NP (-NONE- *)) (VB go)))\n( (X (-NONE- *T*-1)))\n( (S (NP *pro*) (VB stop)))\n"}, tagset="wsj"
    )
    changes = Changes()
    assert list(tagged_sentences("nltk:toy", changes=changes)) == [[("go", "VB")], [("stop", "VB")]]
    assert changes.counts["empty elements removed"] == 2
    assert changes.left_out == {"trees without words left out": ["nltk:toy, file a.mrg, line 2"]}
    assert list(sentences("nltk:toy")) == [["go"], ["stop"]]


def test_corpora_without_universal_tags(install: Install) -> None:
    install({"a.pos": "a/A"}, TaggedCorpusReader, tagset="unknown")
    remedy = r"nltk:toy, file a\.\w+: NLTK knows no universal tags.*universal_tagset"
    with pytest.raises(CorpusError, match=remedy):
        list(tagged_sentences("nltk:toy", "universal"))
    install({"a.dp": "a\tA\t0\n"}, DependencyCorpusReader)
    assert list(tagged_sentences("nltk:toy")) == [[("a", "A")]]
    with pytest.raises(CorpusError, match=remedy):
        list(tagged_sentences("nltk:toy", "universal"))


def test_errors_in_nltk_corpora_name_the_sentence(install: Install) -> None:
    install({"a.pos": "a/A\nb/B c\n"}, TaggedCorpusReader)
    message = r"nltk:toy, file a\.pos, sentence 2: expected a tag for the word 'c', got None; restore the corpus"
    tagged = tagged_sentences("nltk:toy")
    assert next(tagged) == [("a", "A")]
    with pytest.raises(CorpusError, match=message):
        next(tagged)
    assert list(sentences("nltk:toy")) == [["a"], ["b", "c"]]


def test_universal_tags(require_corpus: Callable[[str], Any]) -> None:
    require_corpus("treebank")
    own, universal = (list(tagged_sentences("nltk:treebank:test", column)) for column in (None, "universal"))
    assert universal == [[(word, map_tag("en-ptb", "universal", tag)) for word, tag in s] for s in own]
    assert list(tagged_sentences("nltk:treebank:test", default="universal")) == universal
    assert list(tagged_sentences("nltk:treebank:test", default="xpos")) == own


OWN = ["ADJ", "ADP", "ADV", "DET", "NOUN", "NUM", "PRON", "VERB", "X"]
UPOS = [*OWN, "AUX", "CCONJ", "INTJ", "PART", "PROPN", "PUNCT", "SCONJ", "SYM"]


def test_every_upos_has_a_universal_tag_and_every_universal_tag_an_upos() -> None:
    assert {universal_tag(tag) for tag in UPOS} == set(UNIVERSAL_TAGS)
    assert [universal_tag(tag) for tag in OWN] == OWN
    assert [universal_tag(tag) for tag in UNIVERSAL_TAGS] == list(UNIVERSAL_TAGS)


@pytest.mark.parametrize("tag", ["NNP", "_", "", "propn"])
def test_other_tags_are_an_error(tag: str) -> None:
    with pytest.raises(ValueError, match="neither a UPOS tag"):
        universal_tag(tag)
