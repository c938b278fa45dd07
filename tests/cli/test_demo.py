"""The tree that `demo` shows."""

from spectral_latent.cli.demo import _drawn
from spectral_latent.corpora import parse_brackets


def test_a_tree_has_a_line_for_each_constituent_to_the_right_of_the_one_above() -> None:
    (tree,) = parse_brackets("(S (NP (DT the) (NN cat)) (VB sat))")
    assert list(_drawn(tree)) == ["S", "  NP", "    DT the", "    NN cat", "  VB sat"]
