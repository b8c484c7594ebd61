"""What a shell offers when Tab is pressed: models and measures, each with a word on what it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Offers: TypeAlias = list[tuple[str, str]]

# With the cutoffs that papers use; any other can be typed.
CUTOFFS = {"nDCG": (10, 20, 100), "RR": (10, 100), "AP": (1000,), "P": (5, 10, 20), "R": (10, 100, 1000)}
CUTOFFS |= {"Success": (1, 5, 10), "Judged": (10,), "Unjudged": (10,), "DCG": (10,), "MFR": (10,)}


def fetched(incomplete: str) -> Offers:
    """Every model that is here."""
    return _beginning(incomplete, _models(here=True))


def cross_encoders(incomplete: str) -> Offers:
    """The models that re-rank."""
    return _beginning(incomplete, _models("cross-encoder", here=True))


def bi_encoders(incomplete: str) -> Offers:
    """The models that make vectors."""
    return _beginning(incomplete, _models("bi-encoder", here=True))


def to_fetch(incomplete: str) -> Offers:
    """The models with short names that are not here yet."""
    return _beginning(incomplete, _models(here=False))


def studies(incomplete: str) -> Offers:
    """The studies that come with Rankwell."""
    from rankwell.studies import shipped_studies

    return _beginning(incomplete, [(name, file.study.title) for name, file in shipped_studies().items()])


def measures(incomplete: str) -> Offers:
    """The names of measures: with the usual cutoffs, and without where they can do without."""
    from dataclasses import MISSING, fields

    from rankwell.evaluation.measures import MEASURES

    what = {measure.name: (measure.__doc__ or "").split(". ")[0].split("\n")[0].rstrip(".") for measure in MEASURES}
    usual = [(f"{name}@{cutoff}", what[name]) for name, cutoffs in CUTOFFS.items() for cutoff in cutoffs]
    plain = [(of.name, what[of.name]) for of in MEASURES if all(field.default is not MISSING for field in fields(of))]
    return _beginning(incomplete, [*usual, *plain])


def _models(kind: str | None = None, *, here: bool) -> Iterator[tuple[str, str]]:
    """Models by name; those without a short name may be of any kind."""
    from rankwell.models.base.sources import fetched_models, known_models

    known, present = known_models(), []
    with contextlib.suppress(Exception):  # a damaged home is the doctor's business, and no line between two keys
        present = fetched_models()
    for name in present if here else [name for name in known if name not in present]:
        model = known.get(name)
        if kind is None or model is None or model.kind == kind:
            yield name, model.what if model else "fetched or exported by you"


def _beginning(incomplete: str, offers: Iterable[tuple[str, str]]) -> Offers:
    return [offer for offer in offers if offer[0].lower().startswith(incomplete.lower())]
