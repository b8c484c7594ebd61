"""Which pairs are trained on and which are measured with: by query, by query and document, or (leaking) by pair."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Integers

log = logging.getLogger(__name__)

Columns = Mapping[str, Sequence[Any]]
Mask = npt.NDArray[np.bool_]
FOLD = "fold"


@dataclass(frozen=True, eq=False)
class Sides:
    """The numbers of the pairs on either side, rising. `left_out` counts those that are on neither."""

    training: Integers
    validation: Integers
    left_out: int = 0


@dataclass(frozen=True)
class Splitter:
    """A way to split: the columns it needs, the unit that stays together, and what is then taken from training."""

    columns: tuple[str, ...]
    unit: Callable[[Columns], Sequence[Any]]
    leaks: Callable[[Columns, Mask], Mask] | None = None

    def split(self, columns: Columns, validation: float, seed: int) -> Sides:
        """Two sides; the share counts units (queries)."""
        if not 0 < validation < 1:
            raise ParameterError("validation", expected="a share above 0 and below 1", found=validation)
        numbers, count = _numbered(self.unit(columns))
        _check_units(count, 2)
        size = min(max(round(validation * count), 1), count - 1)
        held_out = np.zeros(count, dtype=bool)
        held_out[np.random.default_rng(seed).permutation(count)[:size]] = True
        return self._sides(columns, held_out[numbers])

    def folds(self, columns: Columns, count: int, seed: int) -> list[Sides]:
        """As many pairs of sides, whose validation sides have no unit in common and together have all."""
        if count < 2:  # noqa: PLR2004 -- one fold has nothing to train on
            raise ParameterError("folds", expected="a number from 2", found=count)
        numbers, units = _numbered(self.unit(columns))
        _check_units(units, count)
        fold_of = np.empty(units, dtype=np.int64)
        fold_of[np.random.default_rng(seed).permutation(units)] = np.arange(units) % count
        return [self._sides(columns, (fold_of == fold)[numbers]) for fold in range(count)]

    def _sides(self, columns: Columns, validation: Mask) -> Sides:
        training = ~validation
        if self.leaks is not None:
            training &= ~self.leaks(columns, validation)
        left_out = int((~training & ~validation).sum())
        if not training.any():
            raise RankwellError(
                f"split: expected pairs to train on, found none: all {left_out:,} have a document of the other side"
            )
        if left_out:
            log.warning("%d training pairs are left out: the validation side has their documents", left_out)
        return Sides(np.flatnonzero(training), np.flatnonzero(validation), left_out)


def _queries(columns: Columns) -> Sequence[Any]:
    """Folds where pairs were made within such, because their queries are documents; else the queries."""
    return columns.get(FOLD, columns["query_id"])


def _single_pairs(columns: Columns) -> Sequence[Any]:
    return range(len(columns["label"]))


def _shared_documents(columns: Columns, validation: Mask) -> Mask:
    """Which pairs have a document that a validation pair has too."""
    numbers, count = _numbered(columns["document_id"])
    there = np.zeros(count, dtype=bool)
    there[numbers[validation]] = True
    return there[numbers]


SPLITTERS: dict[str, Splitter] = {
    "query": Splitter(("query_id", FOLD), _queries),
    "document": Splitter(("query_id", "document_id", FOLD), _queries, _shared_documents),
    "pair": Splitter(("label",), _single_pairs),
}


def splitter(name: str) -> Splitter:
    """A way to split by its name."""
    if name not in SPLITTERS:
        raise ParameterError("split by", expected=" or ".join(SPLITTERS), found=name)
    return SPLITTERS[name]


def _numbered(values: Sequence[Any]) -> tuple[Integers, int]:
    """A number from 0 for each value, the same for equal ones; by their order, so that rows may be shuffled."""
    places = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values], dtype=np.int64), len(places)


def _check_units(found: int, fewest: int) -> None:
    if found < fewest:
        raise RankwellError(f"split: expected at least {fewest} queries (or folds) to share out, found {found}")
