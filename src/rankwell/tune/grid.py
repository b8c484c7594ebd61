"""Grids: the settings that a tuner tries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from rankwell.core import ParameterError, Stage

Setting = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Setting]
"""Values for each parameter (every combination is tried), or the settings themselves."""


Factory = Callable[..., Stage]
"""Makes the stage for a setting, whose parameters it takes by name."""


def settings_of(grid: Grid) -> tuple[Setting, ...]:
    """Every setting of a grid, the last parameter changing fastest."""
    found: tuple[Setting, ...]
    if isinstance(grid, Mapping):
        values = [_values(name, given) for name, given in grid.items()]
        found = tuple(dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*values)) if grid else ()
    else:
        found = tuple(map(dict, grid))
    if not found:
        raise ParameterError("grid", expected="one setting or more", found=grid)
    return found


def weight_grid(names: Sequence[str], steps: int = 4) -> list[dict[str, float]]:
    """All ways to share a weight of 1 among fields in parts of 1 / steps: values for a grid's `weights`.

    A field whose weight is 0 is left out, because it is then not searched at all.
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
    """A factory as it is; a stage as the factory of its copies with other parameters."""
    if not isinstance(given, Stage):
        return given
    known = [field.name for field in fields(given)]  # type: ignore[arg-type]  # stages are dataclasses

    def changed(**setting: Any) -> Stage:
        for name in setting:
            if name not in known:
                raise ParameterError(
                    "grid", expected=f"parameters of {type(given).__name__}: {', '.join(known)}", found=name
                )
        return replace(given, **setting)  # type: ignore[type-var]  # likewise

    return changed


def _values(name: str, given: Sequence[Any]) -> Sequence[Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ParameterError(f"grid, {name}", expected="a list of values", found=given)
    return given
