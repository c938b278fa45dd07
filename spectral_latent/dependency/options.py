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
    """Settings of training and parsing, besides those of all grammars.

    attachment: the settings of the conversion of trees to binary trees.
    tags: the column of a sentence that has the tags; in training, the other column if the treebank has no tags there.
    words: the column of a sentence that has the observations.
    lexicon: its default keeps rarer pairs of a word and a tag than that of phrases does, because a tag has several
    roles.
    unseen: the number of unseen arcs that are counted for each symbol, divided among dependants by the frequency of
    their tags on that side.
    floor: when trees are scored, a part of a tree gets the weight of the coarse PCFG if its estimated weight is less
    than this share of that.  No weight is then negative.  None keeps estimates as they are; see `floors`.
    """

    attachment: Attachment = field(default_factory=Attachment)
    tags: TagColumn = "upos"
    words: Literal["forms", "upos", "xpos"] = "forms"
    lexicon: LexiconOptions = field(default_factory=lambda: LexiconOptions(min_expected=3e-5))
    unseen: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.5
    floor: Annotated[float, Above(0.0), Below(1.0)] | None = 0.01

    def tags_of(self, sentence: DependencySentence) -> tuple[str, ...]:
        """Take the tags of a sentence from their column; a word without a tag there has that of the other column.

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
        """Take the columns of a sentence by which relations are predicted.

        sentence: a sentence with heads.
        """
        return TaggedTree(self.words_of(sentence), self.tags_of(sentence), sentence.heads or ())
