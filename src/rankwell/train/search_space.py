"""What a search tries: every combination of some values, or settings drawn at random from values and ranges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args, get_type_hints

import numpy as np

from rankwell.core import ParameterError
from rankwell.tune.grid import Setting, settings_of

TRIES = 100  # draws for each wanted setting, before the space is taken to be exhausted


@dataclass(frozen=True)
class Range:
    """Numbers between two; `log` draws their logarithms evenly, as learning rates want it."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (self.low < self.high and (self.low > 0 or not self.log)):
            expected = "LOW..HIGH, the first lower, above 0 for :log"
            raise ParameterError("range", expected=expected, found=f"{self.low:g}..{self.high:g}")

    def draw(self, rng: np.random.Generator) -> float:
        """One of them, with two digits, because nobody can tell more apart."""
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        return float(f"{value:.2g}")


Space = Mapping[str, Sequence[Any] | Range]


def settings_to_try(space: Space, count: int | None = None, seed: int = 0) -> tuple[Setting, ...]:
    """Every combination; or, with `count`, so many different ones at random (fewer where there are no more)."""
    if count is None:
        return settings_of({name: _listed(name, values) for name, values in space.items()}) if space else ({},)
    if count < 1:
        raise ParameterError("random", expected="a number of settings, at least 1", found=count)
    rng = np.random.default_rng(seed)
    found: dict[str, Setting] = {}
    for _ in range(count * TRIES):
        drawn = {name: _draw(values, rng) for name, values in space.items()}
        found.setdefault(repr(sorted(drawn.items())), drawn)
        if len(found) == count:
            break
    return tuple(found.values())


def parse_space(kind: type[Any], told: Sequence[str]) -> dict[str, Sequence[Any] | Range]:
    """`lr=1e-5,2e-5`, `freeze=none,head`, `lr=1e-6..1e-4:log`: names are settings of `kind`."""
    return {name: _values(kind, name, text) for name, text in map(_named, told)}


def parse_settings(kind: type[Any], told: Sequence[str]) -> dict[str, Any]:
    """`epochs=2`, `loss=ranknet`: one value each."""
    return {name: parse_value(kind, name, text) for name, text in map(_named, told)}


def parse_value(kind: type[Any], name: str, text: str) -> Any:
    """A value of a setting as its type wants it."""
    types = get_type_hints(kind)
    known = sorted(field.name for field in fields(kind))
    if name not in known:
        raise ParameterError("setting", expected=f"one of {', '.join(known)}", found=name)
    wanted = get_args(types[name]) or (types[name],)
    if type(None) in wanted and text == "none":
        return None
    if bool in wanted and text in ("yes", "no"):
        return text == "yes"
    for one in (int, float, str):
        if one in wanted:
            try:
                return one(text)
            except ValueError:
                continue
    expected = "yes or no" if bool in wanted else " or ".join(one.__name__ for one in wanted if one is not type(None))
    raise ParameterError(name, expected=expected, found=text)


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
    return Range(float(low), float(high), log)


def _draw(values: Sequence[Any] | Range, rng: np.random.Generator) -> Any:
    return values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]


def _listed(name: str, values: Sequence[Any] | Range) -> list[Any]:
    if isinstance(values, Range):
        raise ParameterError(
            name, expected="values, or a number of random settings", found=f"{values.low}..{values.high}"
        )
    return list(values)
