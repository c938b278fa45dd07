"""The table of equations is complete: every citation has a claim, and every claim a citation and tests."""

from tests.equations import CLAIMS, citations, files_of_tests


def test_every_claim_is_cited_in_the_code() -> None:
    assert [place for place in CLAIMS if place not in citations()] == []


def test_every_citation_is_a_claim() -> None:
    found = citations()
    assert {place: names for place, names in found.items() if place not in CLAIMS} == {}


def test_the_tests_of_claims_exist() -> None:
    files = files_of_tests()
    assert [test for claim in CLAIMS.values() for test in claim.tests if test not in files] == []
