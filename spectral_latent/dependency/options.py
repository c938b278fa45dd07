"""Hold the settings of latent dependency grammars, and presets of settings that go well together.

The options of presets were chosen on the dev splits of treebanks of four languages; docs/accuracy.md has their figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

from spectral_latent._names import PresetName
from spectral_latent._options import AtLeast, AtMost, of_preset
from spectral_latent.dependency.conversion import Attachment, Side
from spectral_latent.dependency.tree import DependencySentence, TagColumn
from spectral_latent.grammar.options import BEAM, THRESHOLD, GrammarOptions, clusters_then_em
from spectral_latent.grammar.parser import check_alike
from spectral_latent.lexicon import LexiconOptions
from spectral_latent.lexicon.choices import JudgeOptions


@dataclass(frozen=True)
class DependencyOptions(GrammarOptions):
    """Settings of training and parsing, besides those of all grammars (`GrammarOptions`).

    tags: the column of a sentence that has the tags; in training, the other column if the treebank has no tags there.
    words: the column of a sentence that has the observations.
    lexicon: the settings of the lexicon.  The default keeps rarer pairs of a word and a tag than the default of parsers
    of phrases, because a tag has several roles.
    unseen: the pseudo-count of all unseen arcs of each symbol together, divided among dependants by the frequency of
    their tags on that side.
    arcs: the settings of a model of arcs, which judges arcs by the words around them; None for no such model.
    candidates: the number of projective trees with the largest sums of posteriors that get relations; of these, the
    tree with the largest expected number of words whose arc and relation are right is the best."""

    later: ClassVar[frozenset[str]] = GrammarOptions.later | {"arcs", "candidates"}
    earlier: ClassVar[frozenset[str]] = frozenset({"floor"})
    attachment: Attachment = field(default_factory=Attachment)
    tags: TagColumn = "upos"
    words: Literal["forms", "upos", "xpos"] = "forms"
    lexicon: LexiconOptions = field(default_factory=lambda: LexiconOptions(min_expected=3e-5))
    unseen: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 0.5
    arcs: JudgeOptions | None = None
    candidates: Annotated[int, AtLeast(1)] = 1

    def tags_of(self, sentence: DependencySentence) -> tuple[str, ...]:
        """Take the tags of a sentence from their column; a word without a tag there has the tag of the other column."""
        return sentence.tags(self.tags)

    def words_of(self, sentence: DependencySentence) -> tuple[str, ...]:
        """Take the observations of a sentence from their column."""
        words: tuple[str, ...] = getattr(sentence, self.words)
        return words


def check_together(options: Sequence[DependencyOptions]) -> None:
    """Raise ValueError unless grammars with these options can belong to one parser.

    The parser as a whole has one column of tags and one of words, symbols with tags or without, one model of arcs and
    one number of candidates.  Each grammar uses its own of all other options, such as the side whose children are
    attached first."""
    check_alike(options, DependencyOptions, ("tags", "words", "attachment.symbols_have_tags", "arcs", "candidates"))


def _grammar(n_states: int, iterations: int, rank: int, seed: int = 0, first_side: Side = "right") -> DependencyOptions:
    """Make the options of a grammar with tightly pruned charts."""
    estimator = clusters_then_em(n_states, iterations, rank).with_settings(seed=seed)
    return DependencyOptions(estimator=estimator, beam=BEAM, threshold=THRESHOLD, attachment=Attachment(first_side))


_SIDES: tuple[Side, ...] = ("right", "left")
_PRESETS: dict[PresetName, tuple[DependencyOptions, ...]] = {
    "fast": (_grammar(16, 2, 8),),
    "accurate": tuple(
        replace(_grammar(*size, side), arcs=JudgeOptions(), candidates=16)
        for size in ((28, 3, 16, 0), (16, 2, 8, 1))
        for side in _SIDES
    ),
    "spectral": (DependencyOptions(),),
}


def preset(name: PresetName) -> tuple[DependencyOptions, ...]:
    """Return the options of each grammar of a dependency parser, for `DependencyModel.train`.

    Raises ValueError for another name.

    >>> [options.attachment.first_side for options in preset("accurate")]
    ['right', 'left', 'right', 'left']
    """
    return of_preset(_PRESETS, name)
