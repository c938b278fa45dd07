"""Whatever a newcomer gets wrong has an answer that names the place and the remedy."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spectral_latent.corpora.sources import in_conllu

Run = Callable[..., Any]

ROW = "{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n"
TABLE = ROW.format(1, "They", "PRON", "PRP", 2, "nsubj") + ROW.format(2, "see", "VERB", "VBP", 0, "root") + "\n"
RAW = "The economy didn't grow. Analysts, however, expect growth.\n"


@pytest.fixture(scope="module")
def folder(run: Run, treebank: Path, model: Path, tagger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, and with inputs that are wrong in one way or another."""
    folder = tmp_path_factory.mktemp("bad")
    texts: dict[str, str | bytes] = {
        "trees.mrg": treebank.read_text(),
        "table.conllu": TABLE * 12,
        "sentences.txt": "They see it .\n",
        "raw.txt": RAW,
        "chinese.txt": "\u732b\u5750\u5728\u57ab\u5b50\u4e0a\u3002\n",
        "empty.txt": "",
        "yes.txt": "They\n",
        "latin.txt": b"caf\xe9\n",
        "binary.txt": bytes(range(256)) * 20,
        "cut.txt.gz": gzip.compress(b"They see it .\n")[:-5],
        "half.txt": "\ufeffThey".encode("utf-16-le")[:-1],
        "unbalanced.mrg": "(S (NN dogs)",
        "one.mrg": "(S (NN dogs) (VB run))",
        "short.conllu": "1\tYes\n",
        "untagged.tagged": "They/PRP see\n",
        "strange.tagged": "They/XX see/YY it/ZZ ./QQ\n",
        "strange.conllu": in_conllu("They\tXX\t2\nsee\tYY\t0\n"),
        "old.dp": "They\tXX\t2\nsee\tYY\t0\n",
        "other.pdf": "not a picture",
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    (folder / "folder").mkdir()
    (folder / "wsj").write_bytes(model.read_bytes())
    (folder / "tagger").write_bytes(tagger.read_bytes())
    given = ("train", "dependency", folder / "table.conllu", "-o", folder / "deps", "-q")
    assert run(*given).exit_code == 0
    (folder / "cut").write_bytes(model.read_bytes()[:-10])
    return folder


class Answer(NamedTuple):
    """A command line, and what it must say.

    status: the exit status.
    message: a pattern that standard error must have.
    stdin: what standard input has, if the command reads it.
    """

    line: str
    status: int
    message: str
    stdin: str | None = None


ANSWERS = [
    # text where words are needed, and the other way round
    Answer("parse wsj raw.txt", 0, r"Warning: line 1 has no spaces .* for raw text, give --text"),
    Answer("parse wsj -", 0, r"Warning: line 1 .* give --text", RAW),
    Answer("tag tagger chinese.txt", 0, r"Warning: line 1 .* give --text"),
    Answer("parse deps raw.txt", 0, r"Warning: line 1 .* give --text"),
    Answer("parse wsj empty.txt", 0, r"empty.txt: no sentences"),
    Answer("tag tagger -", 0, r"standard input: no sentences", ""),
    # tags that do not fit
    Answer("parse deps strange.tagged", 0, r"does not know the tags of 4 words, such as XX.*learned upos tags such as"),
    Answer("evaluate tagger strange.tagged", 0, r"count as errors: XX \(1\).*give --column"),
    # bytes
    Answer("parse wsj latin.txt", 1, r"latin.txt, line 1, byte 4: 0xe9 is not UTF-8; .*iconv"),
    Answer("parse wsj binary.txt", 1, r"binary.txt: binary data, where text is needed"),
    Answer("tag tagger cut.txt.gz", 1, r"cut.txt.gz: compressed text that is cut short; copy the file again"),
    Answer("tag tagger half.txt", 1, r"half.txt: not UTF-16, although its first bytes say so"),
    Answer("parse wsj wsj", 1, r"wsj: binary data, where text is needed"),
    # models
    Answer("parse raw.txt wsj", 1, r"raw.txt: text, where the file of a model is needed$"),
    Answer("info trees.mrg", 1, r"trees.mrg: text, where the file of a model is needed$"),
    Answer("parse . sentences.txt", 1, r"\.: a folder; give the file of a model"),
    Answer("parse wsj .", 1, r"\.: a folder, where a file is needed"),
    Answer("score wsj .", 1, r"\.: a folder, where a file is needed"),
    Answer("parse empty.txt sentences.txt", 1, r"empty.txt: not a model, or cut short; train it again$"),
    Answer("parse binary.txt sentences.txt", 1, r"binary.txt: not a model, or cut short; train it again$"),
    Answer("parse cut sentences.txt", 1, r"cut: not a model, or cut short"),
    Answer("parse nomodel sentences.txt", 1, r"nomodel: neither a file nor a ready model; the ready models are "),
    Answer("parse wsj nofile.txt", 1, r"nofile.txt: No such file or directory$"),
    Answer("parse tagger sentences.txt", 1, r"tagger: a tagger, where .*; use it with `tag`, `surprisal`, `evaluate`"),
    Answer(
        "tag wsj sentences.txt",
        1,
        r"wsj: a constituency parser, where a tagger or an anchor model is needed; use it with `parse`",
    ),
    Answer("score deps trees.mrg", 1, r"trees.mrg: trees in brackets, where sentences in CoNLL-U are needed"),
    Answer("parse anchored sentences.txt", 1, r"anchored: an anchor model, where a .* parser is needed; use it with"),
    Answer("label tagger the=DET -o new", 1, r"a tagger, where an anchor model is needed; use it with `tag`"),
    Answer(
        "tag deps sentences.txt", 1, r"a dependency parser, where a tagger or an anchor model is needed; use it with"
    ),
    # training
    Answer("train constituency table.conllu -o new", 1, r"CoNLL-U, where trees .*`train dependency`.*`train tagger`"),
    Answer("train dependency trees.mrg -o new", 1, r"trees in brackets, where .*`train constituency`"),
    Answer("train constituency unbalanced.mrg -o new", 1, r"unbalanced.mrg, line 1: "),
    Answer("train dependency short.conllu -o new", 1, r"short.conllu, line 1: 2 columns where CoNLL-U has 10"),
    Answer("train tagger untagged.tagged -o new", 1, r"untagged.tagged, line 1: 'see' is not a word/TAG"),
    Answer("train constituency nltk:nosuchcorpus -o new", 1, r"NLTK has no such treebank; give one such as"),
    Answer("train constituency nltk:treebank:trian -o new", 1, r"no part 'trian'; give nltk:treebank, or one of its"),
    Answer("train constituency one.mrg -o one", 0, r"^Training on 1 tree Warning: a useful model needs hundreds"),
    Answer("train parser trees.mrg -o new", 2, r"No such command 'parser'. Give one of constituency, dependency"),
    Answer("prase wsj", 2, r"No such command 'prase'. Did you mean parse"),
    Answer("train constituency nltk:treebnk -o new", 1, r"NLTK has no such treebank; did you mean nltk:treebank\?"),
    Answer("score wsj unbalanced.mrg", 1, r"unbalanced.mrg, line 1: the bracket that opens here is never closed"),
    Answer("score wsj empty.txt", 1, r"empty.txt: no trees"),
    Answer("evaluate wsj unbalanced.mrg", 1, r"unbalanced.mrg, line 1: the bracket that opens here is never closed"),
    Answer("evaluate wsj latin.txt", 1, r"latin.txt, line 1, byte 4: 0xe9 is not UTF-8"),
    Answer(
        "evaluate deps table.conllu --column upos", 2, r"--column is for a tagger .*, and deps is a dependency parser"
    ),
    Answer(
        "parse wsj sentences.txt --non-projective", 2, r"is for a dependency parser, and wsj is a constituency parser"
    ),
    Answer(
        "evaluate wsj trees.mrg --non-projective", 2, r"is for a dependency parser, and wsj is a constituency parser"
    ),
    Answer("evaluate tagger tagger.conllu --jobs 2", 2, r"--jobs is for a .* parser, and tagger is a tagger"),
    Answer("evaluate tagger untagged.tagged", 1, r"untagged.tagged, line 1: 'see' is not a word/TAG"),
    Answer("evaluate deps old.dp", 1, r"old.dp: Malt-TAB, which is no longer read; write CoNLL-U"),
    Answer("evaluate deps strange.conllu", 0, r"does not know the tags of 2 words, such as XX"),
    Answer("train constituency folder -o new", 1, r"no treebank files here"),
    Answer("train constituency trees.mrg", 2, r"Missing option .*-o"),
    Answer("train constituency trees.mrg -o new --n-states many", 2, r"'many' is not a valid integer"),
    # output
    Answer("train constituency trees.mrg -o nofolder/new", 2, r"nofolder/new: the folder does not exist; create it"),
    Answer("train constituency trees.mrg -o trees.mrg", 1, r"trees.mrg: a file to read, which would be lost"),
    Answer("parse wsj sentences.txt -o sentences.txt", 1, r"sentences.txt: a file to read, which would be lost"),
    Answer("parse wsj anchored -o anchored", 1, r"anchored: a file to read, which would be lost"),
    # options
    Answer("parse wsj --n-best 0", 2, r"--n-best"),
    Answer("train constituency trees.mrg -o new --preset fast --estimator em", 2, r"--preset includes .* leave out"),
    Answer("train constituency one.mrg -o pivoted --estimator anchors", 0, r"pivoted: 1 grammar|pivoted: "),
    Answer("evaluate wsj trees.mrg --shard 1/2", 2, r"Error: --shard left; divide the input"),
    Answer("train tagger trees.mrg --resume", 2, r"Error: --resume left; divide the input"),
    Answer("papers", 2, r"The command 'papers' left; run `python -m benchmarks.papers` in a checkout"),
    Answer("parse wsj --html page.txt", 2, r"page.txt: name a file that ends in .html"),
    Answer("info wsj --html page.txt", 2, r"page.txt: name a file that ends in .html"),
    Answer("parse wsj yes.txt -o parsed", 0, r"parsed: 1 sentence, 1 word$"),
    Answer("parse wsj --nbest 5", 2, r"No such option.*--n-best"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=[answer.line for answer in ANSWERS])
def test_what_is_wrong_is_answered(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer) -> None:
    monkeypatch.chdir(folder)
    if "anchored" in answer.line and not Path("anchored").exists():
        assert run("train", "anchors", "table.conllu", "-o", "anchored", "--n-states", "2", "-q").exit_code == 0
    before = _contents(folder)
    result = run(*answer.line.split(), stdin=answer.stdin)
    assert result.exit_code == answer.status, result.stderr
    assert re.search(answer.message, " ".join(result.stderr.split())), result.stderr
    assert "Traceback" not in result.stderr
    if answer.status:
        assert _contents(folder) == before  # nothing lost or half-written


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("kind", ["wsj", "tagger", "deps"])
def test_inputs_that_know_themselves(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Tables and words with tags are not taken for words, from a file or a pipe; nothing is said of the format."""
    monkeypatch.chdir(folder)
    command = "tag" if kind == "tagger" else "parse"
    for text in (TABLE, "They/PRON see/VERB\n"):
        result = run(command, kind, stdin=text)
        assert (result.exit_code, "--format" in result.stderr) == (0, False)
        assert result.stderr == "" or kind == "wsj"  # to whose grammar these tags are new
        assert "PRON" not in re.sub("PRON[\t\n ]", "", result.stdout)  # no such word
        assert "#" not in result.stdout or kind == "deps"
