"""Treebanks by name, and the readers of NLTK's corpora against NLTK."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nltk
import pytest
from nltk.corpus.reader import BracketParseCorpusReader, SinicaTreebankCorpusReader

from spectral_latent.constituency import Changes
from spectral_latent.corpora import CorpusError, constituency_trees, phrase_from_nltk, phrases_from_nltk

Install = Callable[..., Any]


def brackets(trees: Any) -> list[str]:
    return [tree.bracketed() for tree in trees]


def words(trees: Any) -> list[str]:
    return [" ".join(tree.words()) for tree in trees]


def test_alpino_is_converted_first() -> None:
    with pytest.raises(CorpusError, match=r"nltk:alpino:dev: .*benchmarks\.alpino"):
        constituency_trees("nltk:alpino:dev")


def test_nltk_corpus_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    absent = nltk.corpus.LazyCorpusLoader("floresta_absent", BracketParseCorpusReader, r".*\.txt")
    monkeypatch.setattr(nltk.corpus, "floresta_absent", absent, raising=False)
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with pytest.raises(CorpusError, match=r"python -m nltk\.downloader floresta_absent.*NLTK_DATA"):
        constituency_trees("nltk:floresta_absent")


@pytest.mark.parametrize("is_zipped", [False, True])
def test_files_of_treebanks_are_found_without_nltk(
    is_zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"wsj_0002.mrg": "(X b)", "wsj_0001.mrg": "(X a)", "README": "no tree"}
    for name, text in files.items():
        file = tmp_path / "corpora/treebank/combined" / name
        if is_zipped:
            file.parents[2].mkdir(exist_ok=True)
            with zipfile.ZipFile(tmp_path / "corpora/treebank.zip", "a") as archive:
                archive.writestr(f"treebank/combined/{name}", text)
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    monkeypatch.setenv("NLTK_DATA", f"{tmp_path / 'nothing'}{os.pathsep}{tmp_path}")
    monkeypatch.delitem(sys.modules, "nltk")
    assert words(constituency_trees("nltk:treebank")) == ["a", "b"]
    assert "nltk" not in sys.modules


def test_files_with_faults_are_left_to_nltk(tmp_path: Path) -> None:
    folder = tmp_path / "corpora/treebank/combined"
    folder.mkdir(parents=True)
    (folder / "wsj_0001.mrg").write_text("(S (NN a))\n(S (NN b)\n")
    script = (
        "import sys; from spectral_latent.corpora import constituency_trees\n"
        "(tree,) = constituency_trees('nltk:treebank'); print(tree.bracketed(), 'nltk' in sys.modules)"
    )
    settings = {**os.environ, "NLTK_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=settings, capture_output=True, text=True, check=True)
    assert done.stdout == "(S (NN a)) True\n"
    assert "left out: 1; the first: nltk:treebank, file wsj_0001.mrg, sentence 2" in done.stderr


def test_what_nltk_mends_in_brackets(install: Install) -> None:
    corpus = install({"a.tbf": "(\n  (S (sn (da0 El el) (nc perro perro)) (Fp .) (,)))\n"})
    trees = list(constituency_trees("nltk:toy", changes := Changes()))
    assert brackets(trees) == ["(S (sn (da0 El) (nc perro)) (Fp .) (, ,))"]
    assert changes.counts["lemmas cut from words"] == 2
    assert trees == [phrase_from_nltk(tree) for tree in corpus.parsed_sents()]


def test_trees_that_nltk_cuts_are_counted(install: Install) -> None:
    """Line breaks without indentation make NLTK cut trees, which its own objects then lack."""
    corpus = install({"a.mrg": "(S\n (NP (NN a))\n(VP (VB b)))\n", "b.mrg": "(S (NN c))\n"})
    assert len(list(constituency_trees("nltk:toy"))) == 2
    changes = Changes()
    with pytest.warns(UserWarning, match="trees that NLTK could not read left out: 2; the first: tree"):
        assert brackets(phrases_from_nltk(corpus.parsed_sents(), changes)) == ["(S (NN c))"]
    assert changes.counts.total() == 2


def test_words_and_tags_of_treebanks_need_no_nltk(require_corpus: Callable[[str], Any]) -> None:
    """They are those that are read once NLTK is imported."""
    require_corpus("treebank")
    require_corpus("cess_esp")
    script = (
        "import sys; from itertools import islice; from spectral_latent.corpora import sentences, tagged_sentences\n"
        "sources = [(read, name) for read in (sentences, tagged_sentences) for name in ('treebank', 'cess_esp')]\n"
        "read_all = lambda: [list(islice(read(f'nltk:{name}:test'), 30)) for read, name in sources]\n"
        "rows = read_all(); assert 'nltk' not in sys.modules; import nltk\n"
        "assert rows == read_all()"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_whether_trees_are_historical_may_be_said(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP-SBJ 0) (VP (VB go)))\n")
    for form, expected in (("historical", "go"), ("penn", "0 go")):
        assert words(constituency_trees(tmp_path / "a.mrg", form=form)) == [expected]  # type: ignore[arg-type]


def test_trees_without_words_are_left_out_and_counted(install: Install, tmp_path: Path) -> None:
    text = "(S (NN a))\n(S (NP (-NONE- *)))\n"
    install({"a.mrg": text})
    (tmp_path / "a.mrg").write_text(text)
    for source, place in (("nltk:toy", "nltk:toy, file a.mrg, line 2"), (tmp_path, f"{tmp_path / 'a.mrg'}, line 2")):
        changes = Changes()
        assert brackets(constituency_trees(source, changes)) == ["(S (NN a))"]
        assert changes.left_out == {"trees without words left out": [place]}


def test_errors_in_nltk_corpora_name_the_sentence(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install({"a.mrg": "(S (NN a))\n(S (NN a) b)\n"})
    with pytest.raises(CorpusError, match=r"nltk:toy, file a\.mrg, sentence 2: the constituent S has several words"):
        list(constituency_trees("nltk:toy"))
    install({"a.mrg": "(S (NN a))\n(S (NN a)\n"})
    with pytest.warns(UserWarning, match=r"could not read left out: 1; the first: nltk:toy, file a\.mrg, sentence 2"):
        assert brackets(constituency_trees("nltk:toy")) == ["(S (NN a))"]
    assert "Bad tree" in capsys.readouterr().err


def test_other_readers_are_read_by_nltk(install: Install) -> None:
    line = "#1:1.[0] S(agent:NP(Head:Nhaa:我)|Head:VE2:想)#。\n"
    install({"parsed": line}, SinicaTreebankCorpusReader)
    assert brackets(constituency_trees("nltk:toy")) == ["(S (NP (Nhaa 我)) (VE2 想))"]
    install({"parsed": line + "#2:1.[0] S(agent:NP(Head:Nhaa:我)#。\n"}, SinicaTreebankCorpusReader)
    with pytest.raises(CorpusError, match="nltk:toy, file parsed, sentence 2: "):
        list(constituency_trees("nltk:toy"))
