"""A folder of results by name, so that a long search over settings can be continued."""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import RankwellError, atomic_write


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
