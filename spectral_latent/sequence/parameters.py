"""Hold the parameters of a latent hidden Markov model, with or without tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Above, AtMost, ShortRepr, counted
from spectral_latent.files import (
    CompactOperators,
    array_from,
    arrays_of,
    operators_from,
    rounded_operators,
    setting_from,
)
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray

__all__ = ["SequenceParameters"]


@dataclass(frozen=True, eq=False, repr=False)
class SequenceParameters(ShortRepr):
    """Operators over the s-trees of sequences with K tags; see `conversion`.

    prior: (K,) the share of each tag among all positions.
    coarse: operators with one state for each tag.
    latent: operators over the same rules, with latent states.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM.
    """

    prior: FloatArray
    coarse: ObservableOperators
    latent: ObservableOperators
    objective: tuple[float, ...] = ()

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        return f"{counted(self.n_tags, 'tag')} of up to {counted(self.n_states, 'state')}"

    def __post_init__(self) -> None:
        rules = self.latent.rules
        n_tags = self.n_tags
        if not self.coarse.rules.equals(rules):
            raise ValueError("the coarse and the latent operators must have the same rules")
        if not 2 * n_tags == self.latent.n_symbols == self.coarse.n_symbols:
            raise ValueError("the operators do not have two symbols for each tag")
        spine, emission = np.concatenate([rules.unary, rules.binary[:, :2]]).T
        if not (spine == n_tags + emission).all() or (emission >= n_tags).any() or (rules.binary[:, 2] < n_tags).any():
            raise ValueError("the rules are not those of sequences")
        if (rules.leaf[:, 0] >= n_tags).any():
            raise ValueError("a rule that emits an observation must be of a tag")
        if not (self.coarse.root[n_tags:].any() and self.latent.root[n_tags:].any() and (self.coarse.unary > 0).all()):
            raise ValueError("no sequence can begin or end")

    def check_sizes(self, n_tags: int, n_terminals: int) -> None:
        """Raise ValueError unless the parameters have `n_tags` tags, and emit only terminals 0 ... n_terminals - 1.

        n_tags: the number of tags that the model names.
        n_terminals: the number of terminals that the model names.
        """
        if self.n_tags != n_tags:
            raise ValueError(f"the operators are of {self.n_tags} tags, not {n_tags}")
        if self.latent.rules.leaf[:, 1].max(initial=-1) >= n_terminals:
            raise ValueError("a rule emits a terminal that has no name")

    @property
    def n_tags(self) -> int:
        """The number of tags, K."""
        return len(self.prior)

    @property
    def n_states(self) -> int:
        """The largest number of latent states of a tag."""
        return int(self.latent.states.max())

    @cached_property
    def proper(self) -> tuple[ObservableOperators, ObservableOperators]:
        """Coarse and latent operators, scaled so that the coarse root vectors and the emissions of each tag sum to one.

        Without scaling, emissions have too large a sum, because the lexicon adds unseen words.  Roots have too small a
        sum, because trees may begin at emissions.  Rounding changes the sums of all probabilities a little.
        """
        n_tags = self.n_tags
        tag = self.coarse.rules.leaf[:, 0]
        emitted = np.bincount(tag, self.coarse.leaf[:, 0], minlength=n_tags)[tag, None]
        begins = self.coarse.root[n_tags:].sum()
        coarse = replace(ObservableOperators.probabilities_of(self.coarse), root=self.coarse.root / begins)
        if self.latent.probabilities:
            latent = ObservableOperators.probabilities_of(self.latent)
            return coarse, replace(latent, root=self.latent.root / self.latent.root[n_tags:].sum())
        return coarse, replace(self.latent, leaf=self.latent.leaf / emitted, root=self.latent.root / begins)

    def rounded(self) -> SequenceParameters:
        """Round the numbers of the operators, so that a file holds most of them in two bytes."""
        return replace(self, coarse=rounded_operators(self.coarse), latent=rounded_operators(self.latent))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Collect the arrays of a model file."""
        coarse, latent = map(CompactOperators.of, (self.coarse, self.latent))
        return {"prior": self.prior, **arrays_of("coarse", coarse), **arrays_of("latent", latent)}

    def settings(self) -> dict[str, Any]:
        """Collect the settings of a model file."""
        return {"probabilities": self.latent.probabilities, "objective": list(self.objective)}

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], n_terminals: int
    ) -> SequenceParameters:
        """Make parameters from the contents of a model file.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        n_terminals: the number of terminals of the model.

        Raises ValueError if the contents do not fit together.
        """
        prior = array_from("prior", arrays, np.float64, (None,), Above(0.0), AtMost(1.0))
        probabilities = setting_from("probabilities", settings, bool)
        coarse = operators_from("coarse", arrays, n_terminals, probabilities=True).operators
        latent = operators_from("latent", arrays, n_terminals, probabilities=probabilities).operators
        objective = setting_from("objective", settings, tuple[float, ...])
        return SequenceParameters(prior, coarse, latent, objective)
