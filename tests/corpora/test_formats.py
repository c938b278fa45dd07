"""The format of a text, by the name of its file or by its first lines; and readers that go by it."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import CorpusError, sentences, tagged_sentences, to_conllu
from spectral_latent.corpora.formats import ENDINGS, Format, sniff_format
from spectral_latent.dependency import DependencySentence
from tests.corpora.annotated import sentences as annotated

CONLLU = "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n"
MALT_TAB = "Dogs\tNNS\t2\nbark\tVBP\t0\n"
TAGGED = "Dogs/NNS bark/VBP\n"
TEXT = "Dogs bark\n"
BRACKETS = "( (S (NP (NNS Dogs)) (VP (VBP bark))))\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("(S", "brackets"),
        ("(", "brackets"),
        ("( (S", "brackets"),
        ("((S", "brackets"),
        ("(S1(NN run))", "brackets"),
        (" (NN run)", "brackets"),
        ("( Reuters ) - The dog", "tokens"),
        ("(Reuters) - The dog", "tokens"),
        ("( The dog barks )", "tokens"),
        ("( The dog )", "tokens"),
        ("( ( The dog ) )", "tokens"),
        ("(/( The/DT dog/NN )/)", "tagged"),
        ("1-2\tVámonos" + 8 * "\t_", "conllu"),
        ("Dogs\tbark", "tokens"),
        ("The\tdog\tbarks", "tokens"),
        ("x" + 9 * "\tword", "tokens"),
        ("and/or/CC so/RB", "tagged"),
        ("and/or so", "tokens"),
        ("he/she and/or", "tokens"),
        ("http://a.b/c", "tokens"),
        ("http://a.b/C", "tokens"),
        ("03/04/2024 05/06/2024", "tokens"),
        ("the/DT http://a.b/c", "tokens"),
        ("/CC so/", "tokens"),
        ('{"words": ["Dogs", "bark"]}', "json"),
        (' { "a \\" b" :', "json"),
        ("{ Dogs bark }", "tokens"),
        ('{ " Dogs bark , " }', "tokens"),
        ("{/( Dogs/NNS }/)", "tagged"),
        ("1\u00a0000/CD dogs/Noun", "tagged"),
        ("Oui/INTJ ,/PUNCT", "tagged"),
        ("$/$ ./.", "tagged"),
        ("", "tokens"),
    ],
)
def test_first_line(line: str, expected: Format) -> None:
    for before in ("", "\n \t\r\n", "# sent_id = 1\n\n"):
        for after in ("", "\n", "\r\n", f"\n\n{line}\n"):
            assert form_of("-", before + line + after) == form_of("a", before + line + after) == expected or not line
    assert form_of("-", f"\ufeff{line}") == form_of("notes", line) == expected


def form_of(name: str, text: str) -> Format:
    guess = sniff_format(name, text)
    assert guess.reason
    form: Format = guess.form
    return form


@pytest.mark.parametrize("number", [2, 7, 20])
@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("N/A TCP/IP", "The dog barks"),
        ("N/A TCP/IP", "the/DT and/or"),
        ("(NN dog)", "The dog barks"),
    ],
)
def test_a_guess_holds_for_all_of_the_first_lines(line: str, other: str, number: int) -> None:
    lines = [line] * 30
    assert form_of("-", "\n".join(lines)) != "tokens"
    lines[number - 1] = other
    guess = sniff_format("-", "\n\n".join(lines))
    assert guess.form == "tokens"
    assert "line 1 looks like" in guess.doubt and "--format" in guess.warning("x") and "x:" in guess.warning("x")
    lines[number - 1], lines[25] = line, other
    assert form_of("-", "\n".join(lines)) != "tokens"  # an error in line 26 will say so
    assert not sniff_format("-", "\n".join([other, *lines])).doubt


def test_a_name_may_say_that_lines_are_tokens() -> None:
    for name in ("a.tok", "a.TXT.gz"):
        assert form_of(name, TAGGED) == "tokens"
        assert "look like" in sniff_format(name, TAGGED).doubt
        for text, form in ((CONLLU, "conllu"), (BRACKETS, "brackets"), ('{"words": []}', "json"), (TEXT, "tokens")):
            assert form_of(name, text) == form
            assert not sniff_format(name, text).doubt


def test_only_what_can_be_read_is_guessed() -> None:
    for text, expected in (("\nN/A\n", "tokens"), ("#/# 5/CD\n", "tagged"), ("# five dollars\n", "tokens")):
        assert form_of("-", text) == expected  # of a single word, and of what may be a comment
    for text, forms, expected in (
        (TAGGED, ("tagged", "conllu"), "tagged"),
        (TEXT, ("tagged", "conllu"), "tagged"),
        (TEXT, ("conllu",), "conllu"),
        (CONLLU, ("tokens", "tagged", "conllu"), "conllu"),
    ):
        assert sniff_format("a.txt", text, *forms).form == expected  # type: ignore[arg-type]
    for name, text, forms in (
        ("-", CONLLU, ("brackets",)),
        ("a.mrg", CONLLU, ("conllu",)),
        ("a", BRACKETS, ("tokens",)),
    ):
        with pytest.raises(CorpusError, match=rf"{name}: .*--format {forms[0]}"):
            sniff_format(name, text, *forms)  # type: ignore[arg-type]
    assert sniff_format("a.mrg", CONLLU, "conllu", given="conllu").form == "conllu"
    with pytest.raises(CorpusError, match=r"a\.mrg: .* give --format conllu"):
        sniff_format("a.mrg", CONLLU, "conllu", given="tagged")


@pytest.mark.parametrize(
    ("text", "other", "name", "command"),
    [
        (BRACKETS, "conllu", "brackets", "train constituency"),
        (CONLLU, "brackets", "CoNLL-U", "train dependency"),
        (TAGGED, "brackets", "words with tags", "train tagger"),
        ('{"words": ["a"]}', "brackets", "JSON", "parse"),
    ],
)
def test_contents_of_another_format_are_named_with_what_takes_them(
    text: str, other: Format, name: str, command: str
) -> None:
    for source in ("-", f"a{ENDINGS[sniff_format('-', text).form][0]}"):
        with pytest.raises(CorpusError, match=rf"(?s)^{source}: .*{name}.*`{command}`"):
            sniff_format(source, text, other)


@pytest.mark.parametrize("form", [form for form in ENDINGS if form != "tokens"])
def test_the_name_decides(form: Format) -> None:
    for ending in ENDINGS[form]:
        for name in (f"a{ending}", f"folder.txt/a{ending.upper()}", f"nltk:toy, file a{ending}"):
            for text in ("", TEXT, TAGGED, BRACKETS):
                assert form_of(name, text) == form


def test_malt_tab_is_refused_under_any_name() -> None:
    for name in ("-", "a.conll", "a.dp", "a.txt"):
        for text in (MALT_TAB, "#\t#\t2\tSUB\n\na\tA\t0\tROOT\r\n"):
            with pytest.raises(CorpusError, match=f"{name}: Malt-TAB, which is no longer read; write CoNLL-U"):
                sniff_format(name, text)
        assert sniff_format(name, MALT_TAB, given="tokens").form == "tokens"
    assert form_of("-", MALT_TAB + "Dogs\tbark\tloudly\n") == "tokens"
    assert form_of("a.dp", CONLLU) == "conllu"


@given(annotated())
def test_what_is_written_in_conllu_is_known(sentence: DependencySentence) -> None:
    assert form_of("-", to_conllu(sentence)) == "conllu"


@given(st.text(string.printable), st.sampled_from(["-", "a.conllu", "a.txt"]))
def test_any_text_has_a_format(text: str, name: str) -> None:
    assert form_of(name, text) in ENDINGS


def test_errors_under_a_guess_say_so(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    for text, read, line in (
        (TAGGED * 25 + "the dog", sentences, 26),
        (TAGGED + "the dog", tagged_sentences, 2),
    ):
        file.write_text(text)
        with pytest.raises(CorpusError, match=rf"notes, line {line}: .*\(read as .* because of .*--format\)"):
            list(read(file))  # type: ignore[operator]
    file.write_text(TAGGED + "the dog")
    with pytest.raises(CorpusError) as caught:
        list(tagged_sentences(file, form="tagged"))
    assert "--format" not in str(caught.value)
