"""Parameter grids, folds of queries, and stored results of earlier trials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core import ParameterError, RankwellError, Stage, atomic_write

Setting = Mapping[str, Any]
Grid = Mapping[str, Sequence[Any]] | Sequence[Setting]
"""Values for each parameter (every combination is tried), or the settings themselves."""


Factory = Callable[..., Stage]
"""Makes the stage for a setting, whose parameters it takes by name."""


def settings_of(grid: Grid) -> tuple[Setting, ...]:
    """All settings of a grid, the last parameter changing fastest."""
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
    """A factory unchanged; a stage as a factory of copies with other parameters."""
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


FEWEST = 2


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


class ResultFolder(MutableMapping[str, Any]):
    """Plain values by name, each in a JSON file. NaN is stored as null."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    @classmethod
    def of(cls, given: MutableMapping[str, Any] | Path | str | None) -> MutableMapping[str, Any] | None:
        """A folder's name as a mapping of its results; a mapping or None unchanged."""
        return cls(given) if isinstance(given, (Path, str)) else given

    def __getitem__(self, name: str) -> Any:
        path = self._path(name)
        try:
            return _with_nan(orjson.loads(path.read_bytes()))
        except FileNotFoundError:
            raise KeyError(name) from None
        except orjson.JSONDecodeError as error:
            raise RankwellError(f"{path}: expected a result as JSON, found something else: {error}") from error

    def __setitem__(self, name: str, value: Any) -> None:
        with atomic_write(self._path(name)) as file:
            file.write(orjson.dumps(value))

    def __delitem__(self, name: str) -> None:
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise KeyError(name) from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._path(name).is_file()

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in sorted(self.folder.glob("*.json")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _with_nan(value: Any) -> Any:
    """The value with NaN restored, which JSON lacks."""
    if value is None:
        return math.nan
    if isinstance(value, dict):
        return {name: _with_nan(part) for name, part in value.items()}
    return [_with_nan(part) for part in value] if isinstance(value, list) else value
