"""Number the nodes of given trees, so that compiled code can read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range
from spectral_latent.constituency.constituents import Chain
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import IntArray, Vocabulary

__all__ = ["PhraseColumns"]


class PhraseColumns(NamedTuple):
    """T trees of N nodes.

    chain: (N,) the number of the chain of labels; -1 if the grammar does not have this chain.
    label: (N,) the number of the chain's last label; -1 if the grammar does not have this label.
    children: (N,) the number of children of each node; 0 over a word.
    root: (T,) the root of each tree.
    words: the words of all trees.
    """

    chain: IntArray
    label: IntArray
    children: IntArray
    root: IntArray
    words: list[str]

    @staticmethod
    def of(phrases: Iterable[Phrase], chains: Vocabulary[Chain], labels: Vocabulary[str]) -> PhraseColumns:
        """Number the nodes of cleaned phrases.

        phrases: T trees, which `cleaning` has cleaned.
        chains: the chains of labels, as the grammar numbers them.
        labels: the last labels of chains, as the grammar numbers them.

        >>> tree = Phrase("S", (Phrase("NN", ("rain",)), Phrase("VB", ("falls",))))
        >>> columns = PhraseColumns.of([tree], Vocabulary([("S",), ("NN",)]), Vocabulary(["S", "NN", "VB"]))
        >>> columns.chain, columns.label, columns.children
        (array([ 1, -1,  0]), array([1, 2, 0]), array([0, 0, 2]))
        """
        nodes: list[tuple[int, int, int]] = []
        words: list[str] = []
        root: list[int] = []
        for phrase in phrases:
            n_nodes = len(nodes)
            n_words = len(words)
            stack: list[Phrase] = [phrase]
            while stack:  # parents before children, right to left: post-order backwards
                node = stack.pop()
                names = [node.label]
                while len(node.children) == 1 and isinstance(node.children[0], Phrase):
                    node = node.children[0]
                    names.append(node.label)
                below = [child for child in node.children if isinstance(child, Phrase)]
                words += [child for child in node.children if isinstance(child, str)]
                nodes.append((chains.get(tuple(names)), labels.get(node.label), len(below)))
                stack += below
            nodes[n_nodes:] = nodes[n_nodes:][::-1]
            words[n_words:] = words[n_words:][::-1]
            root.append(len(nodes) - 1)
        chain, label, children = np.array(nodes, dtype=np.int64).reshape(-1, 3).T
        return PhraseColumns(chain, label, children, np.array(root, dtype=np.int64), words)

    def check(self, n_chains: int, n_labels: int) -> None:
        """Raise ValueError unless the columns are trees in post-order, with chains and labels of a grammar.

        n_chains: the number of chains of labels.
        n_labels: the number of labels.
        """
        chain, label, children, root, _ = self
        n = np.size(chain)
        for name, column, size in (
            ("chains", chain, n),
            ("labels", label, n),
            ("numbers of children", children, n),
            ("roots", root, np.size(root)),
        ):
            check_column(f"{name} of trees", column, (size,), np.int64)
        check_range("chains of trees", chain, -1, n_chains)
        check_range("labels of trees", label, -1, n_labels)
        check_range("numbers of children of trees", children, 0, n + 1)
        # Subtrees that wait for their parents: every node needs its children, and each tree leaves its root alone.
        waiting = np.cumsum(1 - children)
        finished = np.searchsorted(root, np.arange(n))  # trees before each node
        if (np.diff(root, prepend=-1) <= 0).any() or (len(root) and root[-1] != n - 1) or (n and not len(root)):
            raise ValueError("roots of trees must rise, and the last node must be one")
        if (waiting <= finished).any() or (waiting[root] != np.arange(1, len(root) + 1)).any():
            raise ValueError("nodes of trees must come in post-order, each after as many subtrees as it has children")
