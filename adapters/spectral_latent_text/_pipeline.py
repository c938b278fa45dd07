"""Parse raw text by a dependency parser whose columns are filled before and after it parses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from spectral_latent.dependency import (
    BLANK,
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    PartialDependencies,
)
from spectral_latent.estimation import Listener, silent
from spectral_latent.files import Axes
from spectral_latent.model import Analysis, check_trees
from spectral_latent.sequence import LatentTagger, TaggerOptions
from spectral_latent.tokenisation import Tokenisation
from spectral_latent.trees import IntArray
from spectral_latent_text._columns import (
    COLUMNS,
    count_readings,
    learn_columns,
    learn_lemmas,
    learn_segmenter,
    with_columns,
)
from spectral_latent_text._lemmas import Lemmatiser
from spectral_latent_text._segmentation import LearntTokenisation, Segmenter


@dataclass(frozen=True, eq=False, repr=False)
class TextPipeline(DependencyModel):
    """A dependency parser of raw text, or of words, whose trees have tags, features and lemmas.

    Values that sentences have are kept.

    taggers: taggers of the columns `upos`, `xpos` and `feats`, which fill these columns before words are parsed; one of
    equal columns has the names of both, as in `upos xpos`.
    lemmas: finds the lemmas of sentences without any; None to leave them open.
    segmenter: divides raw text; None to divide it by the rules of `Tokenisation`.
    readings: (R, C + 1) tags that words have together: the number of the tag of each of C taggers, and how often; None
    if words may have any tags together.

    >>> def tree(noun, verb):
    ...     sentence = DependencySentence.of([noun, verb], ["NOUN", "VERB"])._replace(lemmas=(noun.rstrip("s"), verb))
    ...     return sentence._replace(comments=(f"text = {noun} {verb}",)).with_heads((2, 0))
    >>> pipeline = TextPipeline.train([tree(noun, verb) for noun in ("cats", "dogs") for verb in ("bark", "sleep")] * 9)
    >>> (parses,) = pipeline.parse_text("cats bark")
    >>> parses[0].tree.lemmas, parses[0].tree.upos, parses[0].tree.heads
    (('cat', 'bark'), ('NOUN', 'VERB'), (2, 0))
    """

    kind: ClassVar[str] = "pipeline"
    later: ClassVar[frozenset[str]] = DependencyModel.later | {"readings"}

    taggers: tuple[LatentTagger, ...] = ()
    lemmas: Lemmatiser | None = None
    segmenter: Segmenter | None = None
    readings: Annotated[IntArray, Axes("R", "C")] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(not {*str(tagger.tagset).split()} <= {*COLUMNS} for tagger in self.taggers):
            raise ValueError("the tagset of a tagger of a pipeline must have 'upos', 'xpos' or 'feats'")
        if self.readings is not None:
            n_tags = [len(tagger.tags) for tagger in self.taggers]
            tags, times = self.readings[:, :-1], self.readings[:, -1:]
            has_tags = tags.shape[1] == len(n_tags) and ((tags >= 0) & (tags < n_tags)).all()
            if not (has_tags and len(times) and times.min() > 0):
                raise ValueError(f"readings must have a tag of each of {len(n_tags)} taggers, and occur")

    @staticmethod
    def train(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | Sequence[DependencyOptions] | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
        taggers: TaggerOptions | None = None,
    ) -> TextPipeline:
        """Learn to divide text, taggers of tags and features, lemmas, and a parser.

        The parser learns from tags and features as taggers predict them, so that it knows their mistakes; gold ones
        help it less than a parser that `DependencyModel.train` makes.

        sentences: the trees of a treebank, which are kept in memory.
        weights: the weight of each tree in the training of the parser; 1 if not given.
        taggers: the options of taggers, with those of a judge; None for those of the preset `accurate`.
        Raises the errors of `DependencyModel.train`."""
        trees = list(check_trees(sentences, DependencySentence))
        of_columns, tagged = learn_columns(trees, taggers, jobs=jobs, listener=listener)
        parser = DependencyModel.train(tagged, options, weights=weights, jobs=jobs, listener=listener)
        rest = learn_lemmas(trees), learn_segmenter(trees), count_readings(trees, of_columns)
        return TextPipeline(parser.members, parser.relations, parser.arcs, of_columns, *rest)

    @cached_property
    def tokenisation(self) -> Tokenisation:
        """The way in which raw text is divided into sentences and words: as learnt, or by rules."""
        rules = super().tokenisation
        return rules if self.segmenter is None else LearntTokenisation(rules.known, self.segmenter)

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, the columns that its taggers fill among them."""
        taggers = [f"{tagger.tagset}: {len(tagger.tags)}" for tagger in self.taggers]
        lemmas = None if self.lemmas is None else len(self.lemmas.keys)
        return super().description | {"taggers": taggers, "lemmas": lemmas}

    def analyse(self, inputs: Sequence[PartialDependencies]) -> Analysis[PartialDependencies]:
        """Fill the columns that taggers know, and take the first three steps."""
        sentences = with_columns([given.sentence for given in inputs], self.taggers, self.readings)
        return super().analyse(
            [given._replace(sentence=sentence) for given, sentence in zip(inputs, sentences, strict=True)]
        )

    def assemble(
        self, analysis: Analysis[PartialDependencies], n_best: int = 1, *, projective: bool = True
    ) -> Analysis[PartialDependencies]:
        """Find up to `n_best` trees of each sentence, with lemmas.

        projective: whether trees must be projective; n_best must be 1 if not."""
        analysis = super().assemble(analysis, n_best, projective=projective)
        return analysis._replace(trees=[list(map(self._with_lemmas, trees)) for trees in analysis.trees])

    def fallback(self, analysis: Analysis[PartialDependencies], at: int) -> DependencySentence:
        """Make a tree that is flat below the first word, with lemmas; see `DependencyModel.fallback`."""
        return self._with_lemmas(super().fallback(analysis, at))

    def _with_lemmas(self, tree: DependencySentence) -> DependencySentence:
        """Find the lemmas of a tree without any."""
        if self.lemmas is None or set(tree.lemmas) != {BLANK}:
            return tree
        return tree._replace(lemmas=self.lemmas.lemmas(tree.forms, tree.upos, tree.feats))
