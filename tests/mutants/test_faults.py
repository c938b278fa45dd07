"""Faults are drawn; those that are known to change nothing must still exist then."""

from tests.mutants.faults import draw


def test_the_same_seed_draws_the_same_faults_of_functions_and_tables() -> None:
    drawn = draw("lexicon", 60, seed=1)
    assert [fault.key for fault in drawn] == [fault.key for fault in draw("lexicon", 60, seed=1)]
    assert len({fault.key for fault in drawn}) == 60
    functions = {fault.function for fault in drawn}
    assert "" in functions and len(functions) > 20
