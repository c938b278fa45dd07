"""Settings of latent dependency grammars."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from spectral_latent._options import Above, AtLeast, AtMost, Below
from spectral_latent.dependency.arc_features import TaggedTree
from spectral_latent.dependency.conversion import Attachment
from spectral_latent.dependency.sentence import DependencySentence, TagColumn
from spectral_latent.grammar import GrammarOptions
from spectral_latent.lexicon import LexiconOptions

__all__ = ["DependencyOptions"]


@dataclass(frozen=True)
class DependencyOptions(GrammarOptions):
    """Settings of training and parsing, besides those of all grammars (`GrammarOptions`).

    attachment: the settings of the conversion of trees to binary trees.
    tags: the column of a sentence that has the tags; in training, the other column if the treebank has no tags there.
    words: the column of a sentence that has the observations.
    lexicon: the settings of the lexicon.  The default keeps rarer pairs of a word and a tag than the default of parsers
    of phrases, because a tag has several roles.
    unseen: the pseudo-count of all unseen arcs of each symbol together, divided among dependants by the frequency of
    their tags on that side.
    floor: in scoring, the weight of a part of a tree is replaced by its weight in the coarse PCFG if it is less than
    this share of the latter.  No weight is then negative.  None keeps all estimates; see `floors`.
    """

    attachment: Attachment = field(default_factory=Attachment)
    tags: TagColumn = "upos"
    words: Literal["forms", "upos", "xpos"] = "forms"
    lexicon: LexiconOptions = field(default_factory=lambda: LexiconOptions(min_expected=3e-5))
    unseen: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.5
    floor: Annotated[float, Above(0.0), Below(1.0)] | None = 0.01

    def tags_of(self, sentence: DependencySentence) -> tuple[str, ...]:
        """Take the tags of a sentence from their column; a word without a tag there has the tag of the other column.

        sentence: a sentence of n words.
        """
        return sentence.tags(self.tags)

    def words_of(self, sentence: DependencySentence) -> tuple[str, ...]:
        """Take the observations of a sentence from their column.

        sentence: a sentence of n words.
        """
        words: tuple[str, ...] = getattr(sentence, self.words)
        return words

    def tagged_tree(self, sentence: DependencySentence) -> TaggedTree:
        """Take the columns of a sentence from which relations are predicted.

        sentence: a sentence with heads.
        """
        return TaggedTree(self.words_of(sentence), self.tags_of(sentence), sentence.heads or ())
