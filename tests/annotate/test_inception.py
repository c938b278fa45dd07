"""Requests as INCEpTION sends them: the CAS is written by hand, with UTF-16 offsets, and read by another library."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.tree import list_constituents
from spectral_latent_annotate import Project, create_app
from tests.annotate.conftest import BASE, TREES
from tests.toy import toy_treebank

pytest.importorskip("flask")
pytest.importorskip("cassis")
CORE = "de.tudarmstadt.ukp.dkpro.core.api"
POS = f"{CORE}.lexmorph.type.pos.POS"
PHRASE = "webanno.custom.Phrase"
TOKEN = f"{CORE}.segmentation.type.Token"


def feature(name: str, kind: str) -> str:
    return (
        f"<featureDescription><name>{name}</name><description/><rangeTypeName>uima.cas.{kind}</rangeTypeName>"
        "</featureDescription>"
    )


def layer(name: str, *features: str) -> str:
    predicted = feature("inception_internal_predicted", "Boolean")
    several = "".join(feature(each, "String") + feature(f"{each}_score", "Double") for each in features)
    return (
        f"<typeDescription><name>{name}</name><description/><supertypeName>uima.tcas.Annotation</supertypeName>"
        f"<features>{several}{predicted}</features></typeDescription>"
    )


TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?><typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types>'
    + layer(f"{CORE}.segmentation.type.Sentence")
    + layer(f"{CORE}.segmentation.type.Token")
    + layer(POS, "PosValue")
    + layer(PHRASE, "value")
    + "</types></typeSystemDescription>"
)


def document(trees: Sequence[Phrase], annotated: bool) -> dict[str, Any]:
    """Write a document with a sentence for each tree, and with its tags and phrases if it is annotated."""
    text, parts, at = "", [], 0
    for tree in trees:
        places = []
        for word in tree.words():
            end = at + len(word.encode("utf-16-le")) // 2
            places.append((at, end))
            parts.append(("type5:Token", at, end, ""))
            text += word + " "
            at = end + 1
        parts.append(("type5:Sentence", places[0][0], places[-1][1], ""))
        for part in list_constituents(tree) if annotated else ():
            named = ("pos:POS", "PosValue") if part.is_tag else ("custom:Phrase", "value")
            value = f"{named[1]}={quoteattr(part.label)}"
            parts.append((named[0], places[part.first][0], places[part.end - 1][1], value))
    annotations = "".join(
        f'<{name} xmi:id="{number}" sofa="1" begin="{begin}" end="{end}" inception_internal_predicted="false" {value}/>'
        for number, (name, begin, end, value) in enumerate(parts, start=10)
    )
    members = " ".join(str(number) for number in range(10, 10 + len(parts)))
    xmi = (
        '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:xmi="http://www.omg.org/XMI" '
        'xmlns:cas="http:///uima/cas.ecore" xmlns:custom="http:///webanno/custom.ecore" '
        'xmlns:pos="http:///de/tudarmstadt/ukp/dkpro/core/api/lexmorph/type/pos.ecore" '
        'xmlns:type5="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore" xmi:version="2.0">'
        f'<cas:NULL xmi:id="0"/>{annotations}<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" '
        f'sofaString={quoteattr(text)}/><cas:View sofa="1" members="{members}"/></xmi:XMI>'
    )
    return {"documentId": 838, "userId": "anna", "xmi": xmi}


def body(name: str, value: str, mode: str, **documents: Any) -> dict[str, Any]:
    metadata = {"layer": name, "feature": value, "projectId": 134, "anchoringMode": mode, "crossSentence": False}
    return {"metadata": metadata, "typeSystem": TYPES} | documents


def predicted(answer: Any, name: str, value: str) -> set[tuple[int, int, str]]:
    found = ET.fromstring(answer.get_json()["document"].encode()).iter()
    some = [
        each for each in found if each.tag.endswith("}" + name) and each.get("inception_internal_predicted") == "true"
    ]
    assert all(0.0 < float(each.get(f"{value}_score", "nan")) <= 1.0 for each in some)
    return {(int(each.get("begin", "")), int(each.get("end", "")), each.get(value, "")) for each in some}


def test_suggestions_have_the_places_of_the_words(client: Any, project: Project) -> None:
    # The first word has a character outside the basic plane, which is two units of UTF-16.
    first = Phrase("S", (Phrase("NN", ("𝔘𝔫𝔡",)), *TREES[21].children))
    wanted = [found.tree for found in project.parse([list(first.words()), list(TREES[20].words())])]
    sent = document([first, TREES[20]], annotated=False)
    gold = ET.fromstring(document(wanted, annotated=True)["xmi"].encode())
    for name, value, mode in ((POS, "PosValue", "singleToken"), (PHRASE, "value", "tokens")):
        answer = client.post("/inception/predict", json=body(name, value, mode, document=sent), **BASE)
        assert answer.status_code == 200
        kind = name.rsplit(".", 1)[1]
        ours = {(int(x.get("begin", "")), int(x.get("end", "")), x.get(value)) for x in gold.iter() if kind in x.tag}
        found = predicted(answer, kind, value)
        assert ours <= found
        assert {place[:2] for place in found} == {place[:2] for place in ours}


def test_trees_of_documents_are_learnt_replaced_and_forgotten(client: Any, project: Project) -> None:
    before = project.bench.trees
    kept = dict(before)
    for trees in (TREES[20:24], TREES[22:24], []):
        several = [document(trees, annotated=True), document(TREES[:2], annotated=False)]
        answer = client.post("/inception/train", json=body(PHRASE, "value", "tokens", documents=several), **BASE)
        assert answer.status_code == 204
        added = [tree for name, tree in project.bench.trees.items() if name not in kept]
        # A sentence whose phrases have equal spans may have them in another order.
        assert [sorted(list_constituents(tree)) for tree in added] == [
            sorted(list_constituents(tree)) for tree in trees
        ]
    assert dict(project.bench.trees) == kept


def test_spans_that_are_no_tree_are_not_learnt(client: Any, project: Project) -> None:
    n = len(project.bench.trees)
    good = document(TREES[20:21], annotated=True)["xmi"]
    crossing = good.replace(
        "<cas:Sofa", '<custom:Phrase xmi:id="9" sofa="1" begin="1" end="4" value="NP"/><cas:Sofa', 1
    )
    crossing = crossing.replace('members="', 'members="9 ')
    untagged = re.sub('PosValue="[^"]*"', "", good, count=1)
    for xmi in (crossing, untagged):
        sent = body(PHRASE, "value", "tokens", documents=[{"xmi": xmi}])
        assert client.post("/inception/train", json=sent, **BASE).status_code == 204
        assert len(project.bench.trees) == n


@pytest.mark.parametrize(
    "change",
    [
        *({"document": value} for value in (None, "text", {"documentId": 1}, [{"xmi": ""}])),
        *({"document": {"xmi": value}} for value in ("<xmi", 3, None, ["/etc/passwd"], "/etc/passwd", "")),
        *({"typeSystem": value} for value in ("<typeSystem", 4, None, "<a/>", "")),
        *({"metadata": value} for value in ([], {}, None, {"layer": PHRASE}, {"layer": 3, "feature": "value"})),
        *({"metadata": {"layer": layer, "feature": "value"}} for layer in ("webanno.custom.Other", TOKEN)),
        *(
            {"metadata": {"layer": PHRASE, "feature": name}}
            for name in ("other", ["value"], "inception_internal_predicted")
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("request_of", ["predict", "train"])
def test_malformed_requests_get_a_sentence(client_of_unchanged: Any, change: dict[str, Any], request_of: str) -> None:
    sent = body(PHRASE, "value", "tokens", document=document(TREES[20:21], annotated=False)) | change
    if request_of == "train":
        sent["documents"] = [sent.pop("document")]
        if change == {"metadata": {"layer": PHRASE, "feature": "inception_internal_predicted"}}:
            sent["documents"] = None
    answer = client_of_unchanged.post(f"/inception/{request_of}", json=sent, **BASE)
    assert answer.status_code == 400 and answer.get_json()["error"]


@pytest.mark.parametrize("place", ["xmi", "typeSystem"])
@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE x [<!ENTITY s SYSTEM "file:///etc/hostname">]>',
        "<!DOCTYPE x>",
        '<?xml version="1.0" encoding="UTF-7"?>+ADwAIQ-DOCTYPE x+AD4-',
        "<?xml version='1.0' encoding='UTF-16'?>",
    ],
)
def test_xml_that_names_files_or_other_encodings_is_refused_before_it_is_parsed(
    client_of_unchanged: Any, place: str, prolog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cassis

    sent = body(PHRASE, "value", "tokens", document=document(TREES[20:21], annotated=False))
    owner = sent["document"] if place == "xmi" else sent
    owner[place] = prolog + owner[place].partition("?>")[2]
    load = cassis.load_cas_from_xmi if place == "xmi" else cassis.load_typesystem
    monkeypatch.setattr(cassis, load.__name__, lambda *_given, **_named: pytest.fail("it was parsed"))
    answer = client_of_unchanged.post("/inception/predict", json=sent, **BASE)
    assert answer.status_code == 400 and ("document type" in answer.text or "UTF-8" in answer.text)


def test_the_token_of_the_server_is_in_the_path(project: Project) -> None:
    client = create_app(project, 8017, token="0123456789abcdef").test_client()
    sent = body(PHRASE, "value", "tokens", document=document(TREES[20:21], annotated=False))
    for path, status in (("", 403), ("/0123456789abcdee", 403), ("/0123456789abcdef", 200)):
        assert client.post(f"/inception{path}/predict", json=sent, **BASE).status_code == status
    sent = body(PHRASE, "value", "tokens", documents=[])
    assert client.post("/inception/0123456789abcdef/train", json=sent, **BASE).status_code == 204


def test_nothing_is_suggested_before_there_is_a_parser(tmp_path: Path) -> None:
    project = Project(tmp_path / "new.mrg", [["dogs", "bark"]])
    sent = body(PHRASE, "value", "tokens", document=document(TREES[20:22], annotated=False))
    answer = create_app(project, 8017).test_client().post("/inception/predict", json=sent, **BASE)
    assert answer.status_code == 200 and predicted(answer, "Phrase", "value") == set()
    project.close()


def test_trees_that_go_while_a_new_start_is_trained_are_forgotten(project: Project) -> None:
    kept = dict(project.bench.trees)
    several = {str(at): tree for at, tree in enumerate(toy_treebank(60)[24:])}
    project.learn(several)
    assert project._renewal is not None
    project.learn({"0": several["1"], "new": TREES[20]})
    project._renewal.join()
    names = project.bench.trees.keys() - kept.keys()
    assert {project.bench.trees[name] for name in names} == {several["1"], TREES[20]}
