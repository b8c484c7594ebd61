"""Hyperparameter search: each setting is trained with several seeds or folds, and no training is repeated."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rankwell.core import SILENT, ParameterError, Progress, atomic_write, fingerprint
from rankwell.core.parameters import Text, Whole, check_parameters, like, param
from rankwell.evaluation import Measure, evaluate, parse_measure
from rankwell.evaluation.significance import PairedDifference, TTest, correct
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.settings import HELD_OUT, RankerSettings
from rankwell.models.learning.validation import judgments_of_pairs, ranking_of_pairs
from rankwell.pipelines.tuning import Setting
from rankwell.training.families import kind_named

VALUES = "values.json"


class CellKey(NamedTuple):
    """One training of a search: the index of its setting, its seed, and its fold."""

    place: int
    seed: int
    fold: int


@dataclass(frozen=True)
class SearchCell:
    """One training: setting, seed and fold, its folder, and its result."""

    folder: Path
    setting: Setting
    seed: int
    fold: int
    value: float
    per_query: Mapping[str, float]  # empty for a measure that compares documents of different queries


@dataclass(frozen=True)
class Tried:
    """A setting and all its trainings."""

    setting: Setting
    cells: tuple[SearchCell, ...]

    @cached_property
    def by_seed(self) -> tuple[float, ...]:
        """The mean over the folds, for each seed."""
        seeds = dict.fromkeys(cell.seed for cell in self.cells)
        return tuple(statistics.fmean(cell.value for cell in self.cells if cell.seed == seed) for seed in seeds)

    @property
    def value(self) -> float:
        """The mean over seeds and folds."""
        return statistics.fmean(self.by_seed)

    @property
    def spread(self) -> float | None:
        """The standard deviation over seeds; None for one seed."""
        return statistics.stdev(self.by_seed) if len(self.by_seed) > 1 else None

    @cached_property
    def per_query(self) -> dict[str, float]:
        """The mean over seeds, for each query."""
        by_query: dict[str, list[float]] = {}
        for cell in self.cells:
            for qid, value in cell.per_query.items():
                by_query.setdefault(qid, []).append(value)
        return {qid: statistics.fmean(values) for qid, values in by_query.items()}


@dataclass(frozen=True)
class Searched:
    """The outcome. `best` was selected on the queries it was measured on: expect a lower value on new ones.

    `differences` compares every other setting with the best over the same queries (paired t-test), `p` corrected for
    their number (Holm); it is empty for one setting, or for a measure without per-query values.
    """

    measure: Measure
    tried: tuple[Tried, ...]
    best: Tried
    differences: Mapping[int, tuple[PairedDifference, float]]  # by the setting's index in `tried`


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of a search besides the settings to try."""

    model: str | None = param(None, "Model to start from: a folder, a short name or a hub id.", Text())
    measure: str = like(RankerSettings, "measure", help="Measure that the settings are compared by.")
    folds: int | None = param(None, "Cross-validation: hold every query out once, in so many parts.", Whole(2))
    seeds: int = param(1, "Train each setting so many times, with different seeds.", Whole(1))
    seed: int = like(RankerSettings, "seed", help="First random seed.")


@dataclass(frozen=True)
class Search(SearchOptions):
    """The settings to try (`settings`, each by changed names) and the fixed part (`base`, `model`, the pairs).

    `validation` is the fraction of queries held out, or pairs of other queries; with `folds` every query is held out
    once instead. The `seeds` trainings of a setting differ only in their seed, never in the held-out queries.
    """

    kind: str
    pairs: Pairs
    settings: Sequence[Setting]
    base: Any = None
    validation: Pairs | float = HELD_OUT

    def __post_init__(self) -> None:
        check_parameters(self)
        parse_measure(self.measure)
        if not self.settings:
            raise ParameterError("settings", expected="one setting or more", found="none")

    @property
    def trainings(self) -> int:
        """Number of trainings of a complete search."""
        return len(self.settings) * self.seeds * (self.folds or 1)

    def run(self, out: Path | str, progress: Progress = SILENT) -> Searched:
        """Train what is missing, and compare. An interrupted search continues when it is run again."""
        cells: list[list[SearchCell]] = [[] for _ in self.settings]
        for key in self.cells():
            cells[key.place].append(self.train(out, key))
            progress.advance()
        tried = tuple(Tried(setting, tuple(own)) for setting, own in zip(self.settings, cells, strict=True))
        return compared(parse_measure(self.measure), tried)

    def cells(self) -> list[CellKey]:
        """The keys of all trainings. Invalid settings are found here, before anything runs."""
        for setting in self.settings:
            self._full(setting)
        return [
            CellKey(place, seed, fold)
            for seed in range(self.seed, self.seed + self.seeds)
            for fold in range(len(self._sides))
            for place in range(len(self.settings))
        ]

    def train(self, out: Path | str, key: CellKey) -> SearchCell:
        """Run one training and evaluate it, or read its stored result."""
        folder = Path(out) / "cells" / self.name(key)
        file, setting = folder / VALUES, self.settings[key.place]
        if not file.is_file():
            family, settings, (training, held_out) = kind_named(self.kind), self._settings(key), self._sides[key.fold]
            if not (folder / "result.json").is_file() and not (folder / "model").is_dir():
                family.train(training, folder, self.model, settings, held_out)
            values = self._measured(held_out, family.scores(folder, settings, held_out))
            with atomic_write(file) as written:
                told = {"setting": dict(setting), "seed": key.seed, "fold": key.fold, **values}
                written.write(orjson.dumps(told, option=orjson.OPT_INDENT_2))
        values = orjson.loads(file.read_bytes())
        return SearchCell(folder, setting, key.seed, key.fold, values["value"], values["per_query"])

    def name(self, key: CellKey) -> str:
        """The folder name of a training: equal for equal work in any search; threads and file paths do not count.

        All seeds of a deterministic kind have the same one.
        """
        told = {name: value for name, value in vars(self._settings(key)).items() if name not in ("threads", "onnx")}
        data = [side.fingerprint for side in self._sides[key.fold]]
        return fingerprint([self.kind, self._origin, told, data, self.measure])[:16]

    def _settings(self, key: CellKey) -> Any:
        settings = self._full(self.settings[key.place])
        return replace(settings, seed=key.seed) if hasattr(settings, "seed") else settings

    def _measured(self, pairs: Pairs, scores: Sequence[float]) -> dict[str, Any]:
        measure = parse_measure(self.measure)
        evaluation = evaluate(judgments_of_pairs(pairs), ranking_of_pairs(pairs, scores), measure)
        each = type(measure).aggregate is Measure.aggregate
        return {
            "measure": str(measure),
            "value": evaluation.mean(measure),
            "per_query": evaluation.per_query(measure) if each else {},
        }

    @cached_property
    def _origin(self) -> str:
        return kind_named(self.kind).origin(self.model)

    def _full(self, setting: Setting) -> Any:
        settings = replace(self.base or kind_named(self.kind).settings(), **setting)
        return replace(settings, measure=self.measure) if hasattr(settings, "measure") else settings

    @cached_property
    def _sides(self) -> list[tuple[Pairs, Pairs]]:
        if self.folds is not None:
            return self.pairs.folds(self.folds, self.seed)
        if isinstance(self.validation, Pairs):
            return [(self.pairs, self.validation)]
        return [self.pairs.split(self.validation, self.seed)]


def compared(measure: Measure, tried: tuple[Tried, ...]) -> Searched:
    """The best setting (the first of equal ones), and significance tests against the others."""
    sign = 1 if measure.higher_is_better else -1
    best = max(tried, key=lambda one: -np.inf if np.isnan(one.value) else sign * one.value)
    tested = [(place, one) for place, one in enumerate(tried) if one is not best and one.per_query and best.per_query]
    differences = [_paired(one, best) for _, one in tested]
    corrected = correct([one.p for one in differences], "holm") if differences else ()
    places = (place for place, _ in tested)
    return Searched(measure, tried, best, dict(zip(places, zip(differences, corrected, strict=True), strict=True)))


def _paired(one: Tried, best: Tried) -> PairedDifference:
    qids = sorted(one.per_query.keys() & best.per_query.keys())
    return TTest()([one.per_query[qid] for qid in qids], [best.per_query[qid] for qid in qids])
