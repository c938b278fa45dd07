"""Files of PAutomaC are read as they stand, and damaged ones refused by an error that names the line."""

from pathlib import Path

import pytest

from benchmarks.pautomac_files import read_probabilities, read_strings
from spectral_latent.corpora import CorpusError


def test_strings_and_probabilities_are_read(tmp_path: Path) -> None:
    file = tmp_path / "1.pautomac.train"
    file.write_text("3 8\n12 5 4 1 1 5 3 4 7 4 7 5 0\n0\n1 7\n\n")
    assert read_strings(file) == [[5, 4, 1, 1, 5, 3, 4, 7, 4, 7, 5, 0], [], [7]]
    solution = tmp_path / "1.pautomac_solution.txt"
    solution.write_text("2\n0.353703205099\n1.04065038387e-08\n")
    assert read_probabilities(solution) == [0.353703205099, 1.04065038387e-08]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no strings"),
        ("2\n0\n0\n", "line 1: .*number of symbols"),
        ("2 2\n0\n\n1 1\n", "line 3: the line is empty"),
        ("1 2\n2 0\n", "line 2: there are 1 symbols after the length 2"),
        ("1 2\n1 2\n", "line 2: the symbol 2"),
        ("1 2\n1 x\n", "line 2: 'x' is not an integer"),
        ("3 2\n0\n", "1 strings, where the first line declares 3"),
    ],
)
def test_damaged_files_of_strings_are_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "train"
    file.write_text(content)
    with pytest.raises(CorpusError, match=message):
        read_strings(file)


@pytest.mark.parametrize("content", ["1\nx\n", "1\n1.5\n", "1\n0.5 0.5\n", "2\n0.5\n", "1\nnan\n"])
def test_damaged_solutions_are_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "solution"
    file.write_text(content)
    with pytest.raises(CorpusError, match="solution"):
        read_probabilities(file)
