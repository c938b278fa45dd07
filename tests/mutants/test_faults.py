"""Faults that are known to change nothing still exist, and every kind of fault is drawn."""

import pytest

from tests.mutants.faults import draw, equivalents, faults_of


@pytest.mark.slow  # only `make mutants` reads them
def test_equivalents_are_faults_with_reasons() -> None:
    """An entry goes when its line does."""
    known = equivalents()
    every = {fault.key for module in {key[0] for key in known} for unit in faults_of(module) for fault in unit}
    assert known.keys() - every == set()
    assert all(known.values())


def test_the_same_seed_draws_the_same_faults_of_functions_and_tables() -> None:
    drawn = draw("lexicon", 60, seed=1)
    assert [fault.key for fault in drawn] == [fault.key for fault in draw("lexicon", 60, seed=1)]
    assert len({fault.key for fault in drawn}) == 60
    functions = {fault.function for fault in drawn}
    assert "" in functions and len(functions) > 20
