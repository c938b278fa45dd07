"""Faults that are known to change nothing still exist, and every kind of fault is drawn."""

from tests.mutants.faults import draw, equivalents, faults_of


def test_equivalents_are_faults_with_reasons() -> None:
    """An entry goes when its line does."""
    for (module, before, after), reason in equivalents().items():
        assert (module, before, after) in {fault.key for unit in faults_of(module) for fault in unit}, before
        assert reason


def test_the_same_seed_draws_the_same_faults_of_functions_and_tables() -> None:
    drawn = draw("lexicon", 60, seed=1)
    assert [fault.key for fault in drawn] == [fault.key for fault in draw("lexicon", 60, seed=1)]
    assert len({fault.key for fault in drawn}) == 60
    functions = {fault.function for fault in drawn}
    assert "" in functions and len(functions) > 20
