"""Perturbations of texts that make self-supervised pairs more like searches."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial

from rankwell.analysis import STOPWORDS
from rankwell.core import ParameterError

TITLE, ABSTRACT = "title", "abstract"

Change = Callable[[str, random.Random], str]


@dataclass(frozen=True)
class Perturbation:
    """Changes titles or abstracts with a probability. `family` is the name by which users choose it."""

    family: str
    part: str
    probability: float
    change: Change

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ParameterError(self.family, expected="a probability from 0 to 1", found=self.probability)

    def __call__(self, text: str, chooser: random.Random) -> str:
        """The text, perturbed with the given probability."""
        return self.change(text, chooser) if chooser.random() < self.probability else text


def perturbed(text: str, part: str, perturbations: Iterable[Perturbation], chooser: random.Random) -> str:
    """A title or an abstract after all its perturbations, one after the other."""
    for perturbation in perturbations:
        if perturbation.part == part:
            text = perturbation(text, chooser)
    return text


SHORTEST_TITLE, SHORTEST_ABSTRACT = 2, 20  # words


def piece(text: str, chooser: random.Random, shortest: int = 1) -> str:
    """A random run of consecutive words: length, then start, each drawn uniformly.

    At least `shortest` words and at most all but one; a text of at most `shortest` words stays unchanged.
    """
    words = text.split()
    if len(words) <= shortest:
        return text
    size = chooser.randint(shortest, len(words) - 1)
    start = chooser.randint(0, len(words) - size)
    return " ".join(words[start : start + size])


piece_of_title = partial(piece, shortest=SHORTEST_TITLE)
piece_of_abstract = partial(piece, shortest=SHORTEST_ABSTRACT)


def shuffled(text: str, chooser: random.Random) -> str:
    """The same words in a random order."""
    words = text.split()
    chooser.shuffle(words)
    return " ".join(words)


AROUND = string.punctuation + "\u201c\u201d\u2018\u2019"  # quotation marks


def without_stop_words(
    text: str,
    chooser: random.Random,  # noqa: ARG001 -- signature of all perturbations
    stopwords: Collection[str] = STOPWORDS["s0"],
) -> str:
    """Remove the stop words of the COVID-19 study's list (appendix A.3), unless nothing would remain."""
    kept = [word for word in text.split() if word.strip(AROUND).lower() not in stopwords]
    return " ".join(kept) if kept else text


# In the order of application: first an excerpt, then stop words, then word order.
PERTURBATIONS: tuple[Perturbation, ...] = (
    Perturbation("short", TITLE, 0.2, piece_of_title),
    Perturbation("short", ABSTRACT, 0.3, piece_of_abstract),
    Perturbation("stopwords", TITLE, 0.4, without_stop_words),
    Perturbation("stopwords", ABSTRACT, 0.4, without_stop_words),
    Perturbation("shuffle", TITLE, 0.2, shuffled),
)
"""With the COVID-19 study's probabilities."""

FAMILIES = tuple(dict.fromkeys(perturbation.family for perturbation in PERTURBATIONS))


def parse_perturbations(text: str) -> tuple[Perturbation, ...]:
    """Parse `all`, `none`, or families such as `short,stopwords=0.5`: a number replaces the default probability."""
    if text in ("all", "none"):
        return PERTURBATIONS if text == "all" else ()
    wanted: dict[str, float | None] = {}
    for part in text.split(","):
        family, given, number = part.strip().partition("=")
        if family not in FAMILIES:
            raise ParameterError("perturb", expected=f"all, none, or some of {', '.join(FAMILIES)}", found=family)
        wanted[family] = _probability(family, number) if given else None
    return tuple(
        perturbation if (own := wanted[perturbation.family]) is None else replace(perturbation, probability=own)
        for perturbation in PERTURBATIONS
        if perturbation.family in wanted
    )


def _probability(family: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(family, expected="a probability from 0 to 1", found=text) from error
