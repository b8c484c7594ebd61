"""Tuning: each setting of a grid is run once, and measured fold by fold; results may be kept.

Steps that several settings share (a first stage, the runs that a hybrid fuses, a re-ranker whose share is tried) are
run once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.core import (
    Judgments,
    ParameterError,
    Queries,
    Run,
    Shown,
    Stage,
    fingerprint,
)
from rankwell.core.progress import SILENT, Progress
from rankwell.core.stage import Given, as_run
from rankwell.evaluation import Measure, evaluate, parse_measure
from rankwell.evaluation.given import as_judgments
from rankwell.evaluation.significance import PairedDifference, TTest
from rankwell.models.explanation import Interpolate
from rankwell.pipelines.result_folder import ResultFolder
from rankwell.retrieve.fusion import Fusion, Hybrid

Setting = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Setting]
"""Values for each parameter (every combination is tried), or the settings themselves."""


Factory = Callable[..., Stage]
"""Makes the stage for a setting, whose parameters it takes by name."""


def settings_of(grid: Grid) -> tuple[Setting, ...]:
    """All settings of a grid, the last parameter changing fastest."""
    if isinstance(grid, Mapping):
        values = [_values(name, given) for name, given in grid.items()]
        settings = [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*values)] if grid else []
    else:
        settings = [*map(dict, grid)]
    if not settings:
        raise ParameterError("grid", expected="one setting or more", found=grid)
    return tuple(settings)


def _values(name: str, given: Sequence[Any]) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ParameterError(f"grid, {name}", expected="a list of values", found=given)
    return given


def weight_grid(names: Sequence[str], steps: int = 4) -> list[dict[str, float]]:
    """All ways to divide a weight of 1 among fields in parts of 1 / steps: values for a grid's `weights`.

    A field of weight 0 is left out, because it is then not searched at all.
    """
    if not names or steps < 1:
        raise ParameterError("weights", expected="one field or more, and one step or more", found=(names, steps))
    shares = itertools.product(range(steps, -1, -1), repeat=len(names))
    return [
        {name: share / steps for name, share in zip(names, shared, strict=True) if share}
        for shared in shares
        if sum(shared) == steps
    ]


def factory_of(given: Stage | Factory) -> Factory:
    """A factory unchanged; a stage or pipeline as a factory of copies with other parameters.

    A parameter is found by its name in any of a pipeline's steps and in what they are made of; where several
    have it, the class says which is meant: `BM25.k`.
    """
    if not isinstance(given, Stage):
        return given
    places: dict[str, list[str]] = {}
    for owner, name in _parameters(given):
        places.setdefault(name, []).append(owner)

    def changed(**setting: Any) -> Stage:
        made: Any = given
        for name, value in setting.items():
            owner, _, inner = name.rpartition(".")
            owners = [owner] if owner in places.get(inner, ()) else [] if owner else sorted(set(places.get(name, ())))
            if len(owners) != 1:
                known = ", ".join(f"{owners[0]}.{known}" for known, owners in places.items())
                several = ", ".join(f"{one}.{name}" for one in owners)
                raise ParameterError("grid", expected=f"one of {several or known}", found=name)
            made = _replaced(made, owners[0], inner, value)
        return made  # type: ignore[no-any-return]

    return changed


def _parts(value: Any) -> list[Any]:
    """The stages, and other things with parameters, that a value consists of."""
    return [part for part in _as_tuple(value) if isinstance(part, Stage | Fusion)]


def _parameters(part: Any) -> Iterator[tuple[str, str]]:
    """Class and name of all parameters of a stage and of its parts."""
    for known in fields(part):
        inner = _parts(getattr(part, known.name))
        if not inner:
            yield type(part).__name__, known.name
        for one in inner:
            yield from _parameters(one)


def _replaced(part: Any, owner: str, name: str, value: Any) -> Any:
    """A copy in which every part of that class has another value for a parameter."""
    changes: dict[str, Any] = {name: value} if type(part).__name__ == owner else {}
    for known in fields(part):
        old = getattr(part, known.name)
        if _parts(old):
            new = [_replaced(one, owner, name, value) if _parts(one) else one for one in _as_tuple(old)]
            changes[known.name] = tuple(new) if isinstance(old, tuple) else new[0]
    return replace(part, **changes)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


FEWEST = 2
KEPT = 12  # runs in memory


@dataclass(frozen=True)
class Fold:
    """One split: the queries for selection, and those for testing it."""

    training: tuple[str, ...]
    held_out: tuple[str, ...]


def split(qids: Iterable[str], folds: int = 5, seed: int = 0) -> tuple[Fold, ...]:
    """`folds` random splits of nearly equal size, independent of the order of the queries."""
    known = sorted(set(qids))
    if not FEWEST <= folds <= len(known):
        expected = f"a number from {FEWEST} to the number of queries with judgments ({len(known)})"
        raise ParameterError("folds", expected=expected, found=folds)
    shuffled = np.random.default_rng(seed).permutation(len(known)).tolist()
    # Every n-th rather than n blocks: the sizes differ by at most one.
    parts = [frozenset(known[place] for place in shuffled[start::folds]) for start in range(folds)]
    return tuple(
        Fold(
            training=tuple(qid for qid in known if qid not in part),
            held_out=tuple(qid for qid in known if qid in part),
        )
        for part in parts
    )


@dataclass(frozen=True)
class Trial:
    """The value of a setting: over all queries, and on both sides of every fold."""

    setting: Setting
    value: float
    training: Sequence[float]
    held_out: Sequence[float]
    per_query: dict[str, float]


@dataclass(frozen=True)
class Choice:
    """The setting that a fold's training queries selected, and its value there and on the held-out queries."""

    setting: Setting
    training: float
    held_out: float


@dataclass(frozen=True, repr=False)
class Tuning(Shown):
    """The outcome: `best` is the setting to use; `cross_validated` estimates its value on new queries.

    `best.value` was measured on the queries that selected it and is too high; the cross-validated value was not: it is
    the mean over folds, weighted by their numbers of queries, of the selected setting's value on the held-out queries.

    >>> tune(BM25(index), {"b": [0.4, 0.75]}, queries, judgments, folds=2).best.setting
    """

    measure: Measure
    trials: tuple[Trial, ...]
    folds: tuple[Fold, ...]
    choices: tuple[Choice, ...]
    best: Trial
    cross_validated: float
    held_out: dict[str, float]  # every query's value under the setting that was selected without it
    untuned: Trial | None = None

    def __repr__(self) -> str:
        best = ", ".join(f"{name}={value}" for name, value in self.best.setting.items())
        return f"Tuning({self.measure}, {len(self.trials)} settings, best {best}, expect {self.cross_validated:.4f})"

    def difference(self) -> PairedDifference:
        """The held-out queries under the settings selected without them, minus the same queries untuned."""
        if self.untuned is None:
            raise ParameterError("untuned", expected="a setting to compare with, given to tune()", found=None)
        values = [[per_query[qid] for qid in self.held_out] for per_query in (self.held_out, self.untuned.per_query)]
        return TTest()(np.array(values[0]), np.array(values[1]), higher_is_better=self.measure.higher_is_better)

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
    untuned: Setting | None = None,
    cache: MutableMapping[str, Any] | Path | str | None = None,
    progress: Progress = SILENT,
) -> Tuning:
    """Try all settings of a grid and select the best, cross-validated over queries.

    `stage`: one whose parameters are changed, or a function that makes one from a setting (for a parameter inside a
    pipeline). `queries` may be a run, where a re-ranker is tuned. Only queries with judgments count. Of equal settings
    the first in the grid wins. `untuned`: a setting to compare with, `{}` for the stage as it is. `cache`: a folder or
    mapping that stores the measurements, so that an interrupted search can continue.

    >>> tune(BM25(index), {"k1": [0.9, 1.2], "b": [0.4, 0.75]}, queries, judgments, folds=2).best.setting
    """
    measured, judgments = parse_measure(measure), as_judgments(judgments)
    run, known = _judged(queries, judgments)
    parts = split(known, folds, seed)
    make = factory_of(stage)
    experiment = _Experiment(run, known, measured, parts, ResultFolder.of(cache))
    trials = tuple(experiment.trial(make(**setting), setting) for setting in progress.track(settings_of(grid)))
    plain = None if untuned is None else experiment.trial(make(**untuned), untuned)
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
        cross_validated=float(
            np.average([choice.held_out for choice in choices], weights=[len(part.held_out) for part in parts])
        ),
        held_out={
            qid: trial.per_query[qid] for part, trial in zip(parts, best_of, strict=True) for qid in part.held_out
        },
        untuned=plain,
    )


class _SharedRuns:
    """Runs a stage; what other settings have computed already is taken from there."""

    def __init__(self) -> None:
        self.runs: dict[tuple[str, ...], Run] = {}

    def __call__(self, stage: Stage, run: Run) -> Run:
        stage.check()
        done: tuple[str, ...] = ()
        for step in stage.stages:
            run = self._apply(step, run, done)
            done = (*done, step.fingerprint())
        return run

    def _apply(self, step: Stage, run: Run, done: tuple[str, ...]) -> Run:
        if isinstance(step, Hybrid):
            return step.fusion(*(self._kept(ranker, run, done) for ranker in step.rankers))
        if isinstance(step, Interpolate):
            first = run.top(step.depth(run))
            return step.mixed(run, self._kept(step.reranker, first, (*done, str(step.depth(run)))))
        return self._kept(step, run, done)

    def _kept(self, step: Stage, run: Run, done: tuple[str, ...]) -> Run:
        key = (*done, step.fingerprint())
        if key not in self.runs:
            self.runs[key] = step.apply(run)
            for old in list(self.runs)[:-KEPT]:
                del self.runs[old]
        return self.runs[key]


@dataclass(frozen=True, eq=False)
class _Experiment:
    """What all trials share."""

    run: Run
    judgments: Judgments
    measure: Measure
    folds: tuple[Fold, ...]
    cache: MutableMapping[str, Any] | None
    shared: _SharedRuns = field(default_factory=_SharedRuns)

    def trial(self, stage: Stage, setting: Setting) -> Trial:
        """Run and measure a stage, or read its stored result."""
        if self.cache is None:
            return Trial(setting, **self._measured(self.shared(stage, self.run)))
        texts = {qid: dict(query.texts) for qid, query in (self.run.queries or Queries()).items()}
        key = fingerprint([stage, self.run, texts, self.judgments, str(self.measure), self.folds])
        if key not in self.cache:
            self.cache[key] = self._measured(self.shared(stage, self.run))
        kept = self.cache[key]
        return Trial(setting, **{name: kept[name] for name in ("value", "training", "held_out", "per_query")})

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


def _best(trials: tuple[Trial, ...], values: list[float], measure: Measure) -> Trial:
    """The trial with the best value, the first of equal ones; NaN only where all are NaN."""
    sign = 1 if measure.higher_is_better else -1
    worth = [-np.inf if np.isnan(value) else sign * value for value in values]
    return trials[int(np.argmax(worth))]
