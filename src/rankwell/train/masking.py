"""Masking for masked language models: which tokens are to be guessed, and what stands in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.arrays import Integers

IGNORED = -100  # the label of a token that nobody has to guess, as torch's cross entropy has it
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Replacement:
    """What a chosen token becomes: [MASK], a random one, or (the rest) itself."""

    mask: float
    random: float

    def __post_init__(self) -> None:
        if not (self.mask >= 0 and self.random >= 0 and self.mask + self.random <= 1):
            raise ParameterError("replacement", expected="shares from 0 to 1, together at most 1", found=self)


REPLACEMENTS: Mapping[str, Replacement] = MappingProxyType(
    {
        "bert": Replacement(0.8, 0.1),  # Devlin et al., "BERT", 2019, section 3.1: arXiv 1810.04805
        "all-mask": Replacement(1.0, 0.0),
    }
)


@dataclass(frozen=True)
class Tokens:
    """What masking must know of a vocabulary: its size, the mask's id, and the ids that stay as they are."""

    size: int
    mask: int
    special: frozenset[int]


@dataclass(frozen=True, eq=False)
class Masker:
    """Masks a sequence anew each time it is given another generator.

    Each token that is not special is chosen with `probability`, independently of the others; with `whole_words` each
    word, with all of its tokens. A sequence in which chance chooses nothing has one token chosen, because a batch with
    nothing to guess has no loss. Random tokens are drawn uniformly from the vocabulary (as BERT's code does), or in
    proportion to `frequencies`; never a special one.
    """

    tokens: Tokens
    probability: float = 0.15
    replacement: Replacement = REPLACEMENTS["bert"]
    whole_words: bool = False
    frequencies: npt.NDArray[np.float64] | None = None
    _cumulated: npt.NDArray[np.float64] = field(init=False, repr=False)
    _special: Flags = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise ParameterError("mask probability", expected="a number between 0 and 1", found=self.probability)
        special = np.zeros(self.tokens.size, dtype=np.bool_)
        special[[number for number in self.tokens.special if number < self.tokens.size]] = True
        weights = np.ones(self.tokens.size) if self.frequencies is None else np.array(self.frequencies, dtype=float)
        weights[special] = 0
        object.__setattr__(self, "_special", special)
        object.__setattr__(self, "_cumulated", np.cumsum(weights) / weights.sum())

    def __call__(
        self, ids: Integers, generator: np.random.Generator, starts: Flags | None = None
    ) -> tuple[Integers, Integers]:
        """The sequence as the model sees it, and what it has to guess; `starts` marks the first tokens of words."""
        inputs = ids.astype(np.int64)
        chosen = self._chosen(~self._special[inputs], generator, starts)
        labels = np.where(chosen, inputs, IGNORED)
        places = np.flatnonzero(chosen)
        lots = generator.random(len(places))
        inputs[places[lots < self.replacement.mask]] = self.tokens.mask
        randomised = places[(lots >= self.replacement.mask) & (lots < self.replacement.mask + self.replacement.random)]
        inputs[randomised] = np.searchsorted(self._cumulated, generator.random(len(randomised)), side="right")
        return inputs, labels

    def _chosen(self, possible: Flags, generator: np.random.Generator, starts: Flags | None) -> Flags:
        if not possible.any():
            return possible
        units = np.arange(len(possible))
        if self.whole_words:
            if starts is None:
                raise ParameterError("starts", expected="which tokens begin words, to mask whole ones", found=starts)
            units = np.cumsum(starts | ~possible)  # a special token is a word of its own
        chosen = (generator.random(int(units[-1]) + 1) < self.probability)[units] & possible
        if not chosen.any():
            chosen = (units == generator.choice(units[possible])) & possible
        return chosen
