"""Files of trees keep their text, except for the trees that are corrected, and these keep what was beside the tree."""

from pathlib import Path

import pytest

from spectral_latent.constituency import Phrase, clean
from spectral_latent.corpora import CorpusError, parse_brackets
from spectral_latent_annotate import TreebankFile

HISTORICAL = """
( (IP-MAT (NP-SBJ-1 (NPR-N Ólafur-ólafur))
          (VBDI kom-koma)
          (CODE <P_12>)
          (NP-OB1 *ICH*-2)
          (PP (P til-til) (NP (N-G bæjar-bær) (CP-REL (WNP-3 0) (IP-SUB (NP-SBJ *T*-3) (BEDI var-vera)))))
          (. .-.)) (ID A.SAGA,.1))

( (CODE <heading>) (ID A.SAGA,.2))

( (FRAG (INTJ já-já)) (ID A.SAGA,.3))
"""


def leaves(text: str) -> list[str]:
    """List what stands after each tag, and the labels of metadata, in order."""
    (tree,) = parse_brackets(text, historical=False)
    return [str(leaf.children[0]) for leaf in tree.preterminals()]


def test_a_corrected_tree_keeps_words_metadata_and_empty_elements(tmp_path: Path) -> None:
    path = tmp_path / "a.psd"
    path.write_text(HISTORICAL, encoding="utf-8")
    file = TreebankFile.read(path)
    assert [tree is None for tree in file.trees] == [False, True, False]
    assert [file.name(number) for number in range(3)] == ["A.SAGA,.1", "A.SAGA,.2", "A.SAGA,.3"]
    assert file.text == HISTORICAL
    (before,) = [file.trees[0]]
    assert before is not None
    flat = Phrase("IP-MAT", tuple(leaf for leaf in before.preterminals() if leaf.label != "-NONE-"))
    file.replace(0, flat)
    assert list(parse_brackets(file.text))[1] == file.trees[2]
    first = file.text[: file.text.index("( (CODE <heading>")]
    assert file.text[len(first) :] == HISTORICAL[HISTORICAL.index("( (CODE <heading>") :]
    wanted = ["Ólafur-ólafur", "kom-koma", "<P_12>", "*ICH*-2", "til-til", "bæjar-bær", "0", "*T*-3", "var-vera", ".-."]
    assert leaves(first) == [*wanted, "A.SAGA,.1"]
    file.replace(0, clean_of(before))
    assert "(NP-SBJ-1 (NPR-N Ólafur-ólafur))" in file.text.replace("(NP-SBJ (", "(NP-SBJ-1 (")


def clean_of(tree: Phrase) -> Phrase:
    found = clean(tree, function_labels=True)
    assert found is not None
    return found


def test_indices_stay_where_phrases_stay() -> None:
    text = "( (S (NP-SBJ-1 (PRP It)) (VP (VBZ seems) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB rain)))))) )\n"
    file = TreebankFile("x.mrg", text)
    (tree,) = file.trees
    assert tree is not None
    file.replace(0, clean_of(tree))
    assert list(parse_brackets(file.text)) == list(parse_brackets(text))


def test_trees_are_added_and_saved(tmp_path: Path) -> None:
    path = tmp_path / "new.mrg"
    file = TreebankFile.read(path)
    assert file.text == ""
    tree = Phrase("S", (Phrase("NN", ("dogs",)), Phrase("VB", ("bark",))))
    assert [file.add(tree), file.add(tree)] == [0, 1]
    file.save()
    assert path.read_text(encoding="utf-8") == "( (S (NN dogs) (VB bark)))\n( (S (NN dogs) (VB bark)))\n"
    old = tmp_path / "old.psd"
    old.write_text(HISTORICAL, encoding="utf-8")
    file = TreebankFile.read(old)
    assert file.add(tree, "B,.1") == 3
    assert file.text.endswith("( (S (NN dogs) (VB bark)) (ID B,.1))\n")
    assert file.text.startswith(HISTORICAL.rstrip())


@pytest.mark.parametrize("end", ["", "\n", "\n\n \n"])
def test_the_end_of_a_file_stays(end: str) -> None:
    trees = [Phrase("S", (Phrase("NN", (word,)),)) for word in ("dogs", "cats")]
    file = TreebankFile("x.mrg", f"(S (NN dogs))\n(S (NN cats)){end}")
    file.replace(1, Phrase("NP", trees[1].children))
    assert file.text == f"(S (NN dogs))\n(NP (NN cats)){end}"
    file.add(trees[0])
    assert file.text == f"(S (NN dogs))\n(NP (NN cats))\n( (S (NN dogs))){end}"
    assert TreebankFile("x.mrg", file.text).trees == file.trees
    one = TreebankFile("x.mrg", f"(S (NN dogs)){end}")
    one.replace(0, Phrase("NP", trees[0].children))
    assert one.text == f"(NP (NN dogs)){end}"


def test_wrong_requests(tmp_path: Path) -> None:
    file = TreebankFile("x.mrg", "( (S (NN dogs)))")
    with pytest.raises(ValueError, match="cats"):
        file.replace(0, Phrase("S", (Phrase("NN", ("cats",)),)))
    assert file.text == "( (S (NN dogs)))"
    broken = tmp_path / "broken.mrg"
    broken.write_text("( (S (NN dogs))", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"broken\.mrg"):
        TreebankFile.read(broken)


def test_new_trees_have_no_more_lemmas_than_their_words_need() -> None:
    file = TreebankFile("x.psd", HISTORICAL)
    file.add(Phrase("IP-MAT", (Phrase("N", ("a-a",)), Phrase("VBD", ("go",)))), "B,.1")
    assert file.text.endswith("( (IP-MAT (N a-a-a-a) (VBD go)) (ID B,.1))\n")
