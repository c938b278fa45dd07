"""The dependency formalism's domain object: an annotated sentence."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DependencySentence"]


class DependencySentence(NamedTuple):
    """The words of a sentence with their annotation, as in CoNLL-U; one entry a word in every field but the last.

    Strings are kept as they stand: what is not annotated is `_`, but for the heads.

    >>> words = DependencySentence(
    ...     ("Dogs", "bark"), ("dog", "bark"), ("NOUN", "VERB"), ("NNS", "VBP"), ("Number=Plur", "_"),
    ...     heads=(2, 0), relations=("nsubj", "root"),
    ... )
    >>> words.is_tree(), words._replace(heads=(2, 1)).is_tree()
    (True, False)
    """

    forms: tuple[str, ...]
    """The words themselves."""
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    """Universal part-of-speech tags."""
    xpos: tuple[str, ...]
    """Tags of the treebank's own tag set."""
    feats: tuple[str, ...]
    """Morphological features, such as `Case=Nom|Number=Sing`."""
    heads: tuple[int, ...] | None
    """The number of each word's head, where the first word is 1, and 0 stands for the root; None if not annotated."""
    relations: tuple[str, ...]
    """The label of the arc from each word's head."""
    comments: tuple[str, ...] = ()
    """The sentence's comments, such as `sent_id = 7`, without # and the white space around them."""

    def is_tree(self) -> bool:
        """Whether the heads are annotated, and lead from every word to the root; several words may hang from it."""
        if self.heads is None:
            return False
        walks = [0] * (len(self.heads) + 1)  # for each word, the word from which its head was first asked for
        for start in range(1, len(walks)):
            word = start
            while word and not walks[word]:
                walks[word] = start
                word = self.heads[word - 1]
            if word and walks[word] == start:
                return False
        return True
