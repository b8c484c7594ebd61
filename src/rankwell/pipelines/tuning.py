"""Parameter tuning: each setting is run once, and measured fold by fold."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import Judgments, ParameterError, Queries, Run, Stage, fingerprint
from rankwell.core.progress import SILENT, Progress
from rankwell.core.stage import Given, as_run
from rankwell.evaluation import Measure, evaluate, parse_measure
from rankwell.pipelines.grid import Factory, Fold, Grid, ResultFolder, Setting, factory_of, settings_of, split


@dataclass(frozen=True)
class Trial:
    """The value of a setting: over all queries, and on both sides of every fold."""

    setting: Setting
    value: float
    training: tuple[float, ...]
    held_out: tuple[float, ...]
    per_query: dict[str, float]


@dataclass(frozen=True)
class Choice:
    """The setting that a fold's training queries selected, and its value there and on the held-out queries."""

    setting: Setting
    training: float
    held_out: float


@dataclass(frozen=True)
class Tuning:
    """The outcome: `best` is the setting to use; `cross_validated` estimates its value on new queries.

    `best.value` was measured on the queries that selected it and is too high; the cross-validated value was not: it is
    the mean over folds, weighted by their numbers of queries, of the selected setting's value on the held-out queries.
    """

    measure: Measure
    trials: tuple[Trial, ...]
    folds: tuple[Fold, ...]
    choices: tuple[Choice, ...]
    best: Trial
    cross_validated: float
    held_out: dict[str, float]  # every query's value under the setting that was selected without it

    def rows(self) -> list[dict[str, Any]]:
        """One row per setting for a table: the parameters, the value, and how many folds selected it."""
        return [
            {
                **trial.setting,
                str(self.measure): trial.value,
                "folds": sum(choice.setting is trial.setting for choice in self.choices),
            }
            for trial in self.trials
        ]


def tune(
    stage: Stage | Factory,
    grid: Grid,
    queries: Given,
    judgments: Judgments,
    measure: str | Measure = "nDCG@10",
    *,
    folds: int = 5,
    seed: int = 0,
    cache: MutableMapping[str, Any] | Path | str | None = None,
    progress: Progress = SILENT,
) -> Tuning:
    """Try all settings of a grid and select the best, cross-validated over queries.

    `stage`: one whose parameters are changed, or a function that makes one from a setting (for a parameter inside a
    pipeline). `queries` may be a run, where a re-ranker is tuned. Only queries with judgments count. Of equal settings
    the first in the grid wins. `cache`: a folder or mapping that stores the measurements, so that an interrupted
    search can continue.
    """
    measured = parse_measure(measure)
    run, known = _judged(queries, judgments)
    parts = split(known, folds, seed)
    make = factory_of(stage)
    experiment = _Experiment(run, known, measured, parts, ResultFolder.of(cache))
    trials = tuple(experiment.trial(make(**setting), setting) for setting in progress.track(settings_of(grid)))
    best_of = [_best(trials, [trial.training[number] for trial in trials], measured) for number in range(folds)]
    choices = tuple(
        Choice(trial.setting, trial.training[number], trial.held_out[number]) for number, trial in enumerate(best_of)
    )
    return Tuning(
        measure=measured,
        trials=trials,
        folds=parts,
        choices=choices,
        best=_best(trials, [trial.value for trial in trials], measured),
        cross_validated=_mean([choice.held_out for choice in choices], [len(part.held_out) for part in parts]),
        held_out={
            qid: trial.per_query[qid] for part, trial in zip(parts, best_of, strict=True) for qid in part.held_out
        },
    )


@dataclass(frozen=True, eq=False)
class _Experiment:
    """What all trials share."""

    run: Run
    judgments: Judgments
    measure: Measure
    folds: tuple[Fold, ...]
    cache: MutableMapping[str, Any] | None

    def trial(self, stage: Stage, setting: Setting) -> Trial:
        """Run and measure a stage, or read its stored result."""
        if self.cache is None:
            return _trial(setting, self._measured(stage(self.run)))
        key = fingerprint([stage, self.run, _texts(self.run), self.judgments, str(self.measure), self.folds])
        if key not in self.cache:
            self.cache[key] = self._measured(stage(self.run))
        return _trial(setting, self.cache[key])

    def _measured(self, run: Run) -> dict[str, Any]:
        """The run's value over all queries and over each side of each fold."""
        whole = evaluate(self.judgments, run, self.measure)
        per_query = whole.per_query(self.measure)

        def value(qids: tuple[str, ...]) -> float:
            if type(self.measure).aggregate is Measure.aggregate:
                return float(np.mean([per_query[qid] for qid in qids]))
            # A measure that pools its queries must get those of this side only.
            return evaluate(self.judgments.only(qids), run, self.measure).mean(self.measure)

        return {
            "value": whole.mean(self.measure),
            "training": [value(fold.training) for fold in self.folds],
            "held_out": [value(fold.held_out) for fold in self.folds],
            "per_query": per_query,
        }


def _judged(given: Given, judgments: Judgments) -> tuple[Run, Judgments]:
    """The queries with judgments, and the judgments with queries."""
    run = as_run(given)
    known = judgments.only(run.qids)
    if not known:
        raise ParameterError("judgments", expected="judgments for the queries", found=f"none for {run.qids[:3]}")
    if not len(run) and run.queries is not None:
        run = Run.of_queries(run.queries.only(known), run.documents)
    return run, known


def _trial(setting: Setting, found: dict[str, Any]) -> Trial:
    return Trial(setting, found["value"], tuple(found["training"]), tuple(found["held_out"]), found["per_query"])


def _best(trials: tuple[Trial, ...], values: list[float], measure: Measure) -> Trial:
    """The trial with the best value, the first of equal ones; NaN only where all are NaN."""
    sign = 1 if measure.higher_is_better else -1
    worth = [-np.inf if np.isnan(value) else sign * value for value in values]
    return trials[int(np.argmax(worth))]


def _mean(values: list[float], weights: list[int]) -> float:
    return float(np.average(values, weights=weights))


def _texts(run: Run) -> dict[str, dict[str, str]]:
    queries = run.queries or Queries()
    return {qid: dict(query.texts) for qid, query in queries.items()}
