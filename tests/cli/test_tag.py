"""`spectral-latent tag`."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import read_conllu
from spectral_latent.sequence import LatentTagger

Run = Callable[..., Any]

CONLLU = """\
# sent_id = 1
# text = They see the dogs.
1|They|they|_|_|Number=Plur|2|nsubj|_|_
2|see|see|X|Y|_|0|root|2:root|_
2.1|ghost|ghost|Z|Z|_|_|_|2:dep|_
3-4|thedogs|_|_|_|_|_|_|_|SpaceAfter=No
3|the|the|_|_|_|4|det|_|_
4|dogs|dog|_|_|_|2|obj|_|_
# a comment within
5|.|.|_|_|_|2|punct|_|_

# newdoc

# sent_id = 2
1|Cats|cat|_|_|_|0|root|_|_
""".replace("|", "\t")


SENTENCES = [["They", "see", "the", "dogs", "."], ["Cats"]]


def filled(text: str, column: int, tags: list[str]) -> str:
    """The text with tags in a column of its words."""
    rest = iter(tags)

    def line_of(line: str) -> str:
        columns = line.split("\t")
        return "\t".join([*columns[:column], next(rest), *columns[column + 1 :]]) if columns[0].isdigit() else line

    return "\n".join(map(line_of, text.split("\n")))


def test_words_with_tags(run: Run, tagger: Path, taggings: Path, tmp_path: Path) -> None:
    gold = taggings.read_text()
    text = re.sub(r"/\S+", "", gold)
    (tmp_path / "text").write_text(text)
    from_stdin, from_file = run("tag", tagger, stdin=text), run("tag", tagger, tmp_path / "text")
    assert from_stdin.exit_code == from_file.exit_code == 0
    assert from_stdin.output == from_file.output == gold


def test_empty_lines_stay(run: Run, tagger: Path) -> None:
    result = run("tag", tagger, stdin="\nThey see it .\n  \nThey left it .")
    assert result.stdout == "\nThey/PRP see/VBP it/PRP ./.\n\nThey/PRP left/VBD it/PRP ./.\n"
    assert run("tag", tagger, stdin="\n\n").stdout == "\n\n"
    assert (run("tag", tagger, stdin="").stdout, run("tag", tagger, "--format", "conllu", stdin="").stdout) == ("", "")


@pytest.mark.parametrize(
    "word", ["and/or", "/", "a//", "\u00a0", "日本語", "x" * 3000, "\x00", "-NONE-", "\u2028", "*"]
)
def test_odd_words(run: Run, tagger: Path, word: str) -> None:
    (line,) = run("tag", tagger, stdin=f"They see {word} .\n").stdout.removesuffix("\n").split("\n")
    assert [token.rpartition("/")[0] for token in line.split(" ")] == ["They", "see", word, "."]


def test_byte_order_mark_and_line_ends(run: Run, tagger: Path) -> None:
    result = run("tag", tagger, stdin=b"\xef\xbb\xbfThey see it .\r\nThey  left\tit .\r\n")
    assert result.stdout == "They/PRP see/VBP it/PRP ./.\nThey/PRP left/VBD it/PRP ./.\n"


def test_tags_are_those_of_the_model(run: Run, tagger: Path) -> None:
    sentences = [["Dogs", "see", "the", "old", "cats"]] * 5000  # more than is read at once
    result = run("tag", tagger, stdin="\n".join(map(" ".join, sentences)))
    expected = list(LatentTagger.load(tagger).tag_all(sentences))
    found = [[token.rpartition("/")[2] for token in line.split()] for line in result.stdout.splitlines()]
    assert found == expected


@pytest.mark.parametrize(("options", "column"), [([], 3), (["--column", "upos"], 3), (["--column", "xpos"], 4)])
@pytest.mark.parametrize("change", [("", ""), ("\n", "\r\n"), (r"\n\Z", ""), (r"\Z", "\n\n \n# end"), (r"\A", "\n\n")])
def test_conllu(
    run: Run, tagger: Path, tmp_path: Path, options: list[str], column: int, change: tuple[str, str]
) -> None:
    text = re.sub(*change, CONLLU)
    expected = filled(text, column, list(chain.from_iterable(LatentTagger.load(tagger).tag_all(SENTENCES))))
    (tmp_path / "two.conllu").write_bytes(text.encode())
    (tmp_path / "two").write_bytes(text.encode())
    assert run("tag", tagger, tmp_path / "two.conllu", *options).stdout_bytes == expected.encode()
    assert run("tag", tagger, tmp_path / "two", "--format", "conllu", *options).stdout_bytes == expected.encode()
    assert run("tag", tagger, "--format", "conllu", *options, stdin=text.encode()).stdout_bytes == expected.encode()


@pytest.mark.parametrize(
    ("learnt", "given", "column"),
    [("xpos", None, 4), ("xpos", "upos", 3), ("upos", "xpos", 4), ("universal", None, 3), ("of my own", None, 3)],
)
def test_the_column_of_training_is_filled(
    run: Run, tagger: Path, tmp_path: Path, learnt: str, given: str | None, column: int
) -> None:
    replace(LatentTagger.load(tagger), tagset=learnt).save(tmp_path / "model")
    expected = filled(CONLLU, column, list(chain.from_iterable(LatentTagger.load(tagger).tag_all(SENTENCES))))
    options = [] if given is None else ["--column", given]
    assert run("tag", tmp_path / "model", "--format", "conllu", *options, stdin=CONLLU).stdout == expected
    assert run("tag", tmp_path / "model", stdin="it").stdout == "it/PRP\n"


def test_tags_that_are_hard_to_write(run: Run, tmp_path: Path) -> None:
    LatentTagger.train([[("a", 1), ("b", 2)]]).save(tmp_path / "numbers")
    result = run("tag", tmp_path / "numbers", stdin="a b")
    assert (result.exit_code, "the tag 1 is not a string" in result.stderr) == (1, True)
    LatentTagger.train([[("a", "A/X"), ("b", "B")]]).save(tmp_path / "slash")
    result = run("tag", tmp_path / "slash", stdin="a b")
    assert (result.exit_code, result.stdout, "The tag 'A/X'" in result.stderr) == (0, "a/A/X b/B\n", True)
    row = "1\ta\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    result = run("tag", tmp_path / "slash", "--format", "conllu", stdin=row.format("_"))
    assert (result.stdout, result.stderr) == (row.format("A/X"), "")


def test_universal_dependencies(run: Run, shared_file: Callable[[str], Path], tmp_path: Path) -> None:
    train, dev = (shared_file(f"ud/de_gsd/de_gsd-ud-{part}.conllu") for part in ("test", "dev"))
    assert run("train", "tagger", train, "-o", tmp_path / "model", "-q").exit_code == 0
    text = dev.read_text(encoding="utf-8")
    tagged = run("tag", tmp_path / "model", dev)
    assert tagged.exit_code == 0, tagged.stderr
    (tmp_path / "tagged.conllu").write_text(tagged.stdout, encoding="utf-8")
    before, after = (list(read_conllu(path)) for path in (dev, tmp_path / "tagged.conllu"))
    assert [sentence._replace(upos=()) for sentence in after] == [sentence._replace(upos=()) for sentence in before]
    tags = [tag for sentence in after for tag in sentence.upos]
    assert tagged.stdout == filled(text, 3, tags)
    gold = [tag for sentence in before for tag in sentence.upos]
    accuracy = 100 * sum(map(str.__eq__, tags, gold)) / len(gold)
    assert accuracy > 88
    found = json.loads(run("evaluate", tmp_path / "model", dev, "--json").stdout)
    assert (found["sentences"], found["tokens"]) == (len(before), len(gold))
    assert found["accuracy"] == pytest.approx(accuracy)
    assert 70 < found["unknown_accuracy"] < accuracy < found["known_accuracy"]
    assert run("tag", tmp_path / "model", "--format", "conllu", stdin=text).stdout == tagged.stdout
