"""Changes of texts that make self-supervised pairs more like searches (S0 4.2), each with its probability."""

from __future__ import annotations

from dataclasses import replace

from rankwell.core import ParameterError
from rankwell.train.perturbations.perturbation import ABSTRACT, TITLE, Perturbation, perturbed
from rankwell.train.perturbations.shorten import piece_of_abstract, piece_of_title
from rankwell.train.perturbations.shuffle import shuffled
from rankwell.train.perturbations.stop_words import without_stop_words

__all__ = [
    "ABSTRACT",
    "PERTURBATIONS",
    "TITLE",
    "Perturbation",
    "parse_perturbations",
    "perturbed",
]

# In the order in which they are made: a piece of the text as it was written, then its key words, then their order.
PERTURBATIONS: tuple[Perturbation, ...] = (
    Perturbation("short", TITLE, 0.2, piece_of_title),
    Perturbation("short", ABSTRACT, 0.3, piece_of_abstract),
    Perturbation("stopwords", TITLE, 0.4, without_stop_words),
    Perturbation("stopwords", ABSTRACT, 0.4, without_stop_words),
    Perturbation("shuffle", TITLE, 0.2, shuffled),
)
"""With S0's probabilities."""

FAMILIES = tuple(dict.fromkeys(perturbation.family for perturbation in PERTURBATIONS))


def parse_perturbations(text: str) -> tuple[Perturbation, ...]:
    """`all`, `none`, or families such as `short,stopwords=0.5`: a number takes the place of S0's probability."""
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
