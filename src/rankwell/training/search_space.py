"""The search space of a hyperparameter search, and its results as a table and a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import ParameterError
from rankwell.core.parameters import parameters
from rankwell.pipelines.tuning import Setting, settings_of
from rankwell.report import Column, Table
from rankwell.report.pictures import Picture, bars
from rankwell.training.search import Searched, Tried

TRIES = 100  # draws per setting, before the space counts as exhausted


@dataclass(frozen=True)
class Range:
    """A range of numbers, or of integers; `log` draws logarithms uniformly, as usual for learning rates."""

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not (self.low < self.high and (self.low > 0 or not self.log)):
            expected = "LOW..HIGH, the first lower, above 0 for :log"
            raise ParameterError("range", expected=expected, found=f"{self.low:g}..{self.high:g}")

    def draw(self, rng: np.random.Generator) -> float:
        """Draw a number, rounded to two significant digits."""
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        return round(value) if self.whole else float(f"{value:.2g}")


Space = Mapping[str, Sequence[Any] | Range]


def settings_to_try(space: Space, count: int | None = None, seed: int = 0) -> tuple[Setting, ...]:
    """All combinations; or with `count` that many different ones at random (fewer where there are no more)."""
    if count is None:
        return settings_of({name: _listed(name, values) for name, values in space.items()}) if space else ({},)
    if count < 1:
        raise ParameterError("random", expected="a number of settings, at least 1", found=count)
    rng = np.random.default_rng(seed)
    different: dict[str, Setting] = {}
    for _ in range(count * TRIES):
        drawn = {name: _draw(values, rng) for name, values in space.items()}
        different.setdefault(repr(sorted(drawn.items())), drawn)
        if len(different) == count:
            break
    return tuple(different.values())


def parse_space(kind: type[Any], told: Sequence[str]) -> dict[str, Sequence[Any] | Range]:
    """Parse `lr=1e-5,2e-5`, `freeze=none,head`, `lr=1e-6..1e-4:log`: names are settings of `kind`."""
    return {name: _values(kind, name, text) for name, text in map(_named, told)}


def parse_settings(kind: type[Any], told: Sequence[str]) -> dict[str, Any]:
    """Parse `epochs=2`, `loss=ranknet`: one value each."""
    return {name: parse_value(kind, name, text) for name, text in map(_named, told)}


def parse_value(kind: type[Any], name: str, text: str) -> Any:
    """Convert a text to the setting's declared type."""
    known = parameters(kind)
    if name not in known:
        raise ParameterError("setting", expected=f"one of {', '.join(sorted(known))}", found=name)
    return known[name].read(None if text == "none" and known[name].may_be_none else text)


def _named(told: str) -> tuple[str, str]:
    name, equals, text = told.partition("=")
    if not equals or not text:
        raise ParameterError("setting", expected="NAME=VALUE", found=told)
    return name.strip().replace("-", "_"), text.strip()


def _values(kind: type[Any], name: str, text: str) -> Sequence[Any] | Range:
    if ".." not in text:
        return [parse_value(kind, name, one.strip()) for one in text.split(",")]
    bounds, log = text.removesuffix(":log"), text.endswith(":log")
    low, high = (parse_value(kind, name, one) for one in bounds.split("..", 1))
    if not all(isinstance(one, (int, float)) for one in (low, high)):
        raise ParameterError(name, expected="values separated by commas, it has no ranges", found=text)
    return Range(float(low), float(high), log, whole=isinstance(low, int))


def _draw(values: Sequence[Any] | Range, rng: np.random.Generator) -> Any:
    return values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]


def _listed(name: str, values: Sequence[Any] | Range) -> list[Any]:
    if isinstance(values, Range):
        raise ParameterError(
            name, expected="values, or a number of random settings", found=f"{values.low}..{values.high}"
        )
    return list(values)


def search_table(searched: Searched) -> Table:
    """One row per setting, best first: its value, the spread over seeds, the difference to the best and its p."""
    names = list(dict.fromkeys(name for one in searched.tried for name in one.setting))
    seeds, folds = (len({getattr(cell, what) for cell in searched.best.cells}) for what in ("seed", "fold"))
    rows = []
    for place in _order(searched):
        one = searched.tried[place]
        difference, p = searched.differences.get(place, (None, None))
        told = [_told(one.setting.get(name)) for name in names]
        rows.append([*told, one.value, one.spread, None if difference is None else difference.mean, p])
    figures = (str(searched.measure), "between seeds", "to the best", "p")
    columns = [*(Column(name) for name in names), *(Column(name, digits=4) for name in figures)]
    title = (
        f"{len(searched.tried)} settings, {seeds} seeds, {folds} folds, {len(searched.best.per_query)} held-out queries"
    )
    return Table(title, columns, rows)


def search_picture(searched: Searched) -> Picture:
    """A bar chart of the settings, best first."""
    best_first = [searched.tried[place] for place in _order(searched)]
    values = {str(searched.measure): [one.value for one in best_first]}
    return bars([setting_text(one) for one in best_first], values, title="Settings", x=str(searched.measure), digits=3)


def setting_text(one: Tried) -> str:
    """A setting as text: `epochs=3, freeze=head`."""
    return ", ".join(f"{name}={_told(value)}" for name, value in one.setting.items()) or "as it is"


def _order(searched: Searched) -> list[int]:
    sign = -1 if searched.measure.higher_is_better else 1
    return sorted(range(len(searched.tried)), key=lambda place: sign * searched.tried[place].value)


def _told(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
