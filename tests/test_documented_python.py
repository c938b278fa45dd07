"""The Python code of the README and the documents runs page by page, as a reader would type it, on small corpora."""

import contextlib
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nltk.corpus
import pytest
from nltk import DependencyGraph

from spectral_latent import load
from spectral_latent.reranking import parser_nbest, write_nbest
from spectral_latent_nltk import phrase_to_nltk
from tests.documents import documents
from tests.toy import toy_treebank

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {page: "".join(BLOCK.findall(text)) for page, text in documents().items() if BLOCK.search(text)}
OUTPUT = re.compile(r"^```python\n[^`]*^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TREES = toy_treebank(40)
TAGGED = [phrase_to_nltk(tree).pos() for tree in TREES]
CORPUS = SimpleNamespace(  # replaces NLTK's treebank; the head of each word is the word before it
    parsed_sents=lambda: [phrase_to_nltk(tree) for tree in TREES],
    tagged_sents=lambda tagset=None: TAGGED,
    sents=lambda: [[word for word, _ in sentence] for sentence in TAGGED],
)
ROWS = ["".join(f"{word}\t{tag}\t{at}\tROOT\n" for at, (word, tag) in enumerate(tagged)) for tagged in TAGGED]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the treebanks and lists that the pages name; their models are the ready ones, or those that they train."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "treebank").mkdir()
    brackets = "\n".join(tree.bracketed() for tree in TREES)
    for name in ("treebank/all.mrg", "other.mrg", "dev.mrg"):
        (folder / name).write_text(brackets)
    rows = [
        "".join(f"{at + 1}\t{word}\t_\t{tag}\t_\t_\t{at}\tdep\t_\t_\n" for at, (word, tag) in enumerate(tagged))
        for tagged in TAGGED
    ]
    for name in ("en-train.conllu", "en-dev.conllu"):
        (folder / name).write_text("\n".join([*rows, ""]))
    (folder / "dev.nbest").write_text("".join(write_nbest(parser_nbest(load("en"), TREES, 3))))
    return folder


@pytest.fixture
def here(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace NLTK's corpora by small ones, and every cluster by a cluster of threads."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name in ("treebank", "brown"):
        monkeypatch.setattr(nltk.corpus, name, CORPUS)
    graphs = SimpleNamespace(parsed_sents=lambda: [DependencyGraph(rows) for rows in ROWS])
    monkeypatch.setattr(nltk.corpus, "dependency_treebank", graphs)
    import dask.distributed  # not at the head of the module, which every process imports that collects tests

    client: Callable[..., Any] = dask.distributed.Client
    monkeypatch.setattr(dask.distributed, "Client", lambda _: client(processes=False, dashboard_address=":0"))


@pytest.mark.usefixtures("here")
@pytest.mark.filterwarnings("ignore:the parser does not know the tags")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str) -> None:
    """The code gets one process for any number that it asks for, because starting processes takes seconds."""
    code = re.sub(r"jobs=\d+", "jobs=1", PAGES[page])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page, "exec"), {"__name__": "documented"})
    assert printed.getvalue() or "print(" not in code
    for shown in OUTPUT.findall(documents()[page]):
        assert shown in printed.getvalue()
