"""A small change of a text that a ranker should not mind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rankwell.core import ParameterError

TITLE, ABSTRACT = "title", "abstract"

Change = Callable[[str, random.Random], str]


@dataclass(frozen=True)
class Perturbation:
    """Changes titles or abstracts with a probability. `family` is the name under which users switch it on."""

    family: str
    part: str
    probability: float
    change: Change

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ParameterError(self.family, expected="a probability from 0 to 1", found=self.probability)

    def __call__(self, text: str, chooser: random.Random) -> str:
        """The text, changed or not."""
        return self.change(text, chooser) if chooser.random() < self.probability else text


def perturbed(text: str, part: str, perturbations: Iterable[Perturbation], chooser: random.Random) -> str:
    """A title or an abstract after all perturbations of such, one after the other."""
    for perturbation in perturbations:
        if perturbation.part == part:
            text = perturbation(text, chooser)
    return text
