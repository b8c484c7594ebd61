"""What was measured while a model was trained: one JSON object a line, in the order of the steps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import FormatError, RankwellError, atomic_write


class MetricsLog:
    """The file `metrics.jsonl` of a run.

    A line has `step` and `epoch`, and either `loss`, `lr` and `seconds` (the mean loss of the steps since the line
    before), or `validation` with what was measured on examples that are not trained on.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, line: Mapping[str, Any]) -> None:
        """Add a line; it is in the file when this returns."""
        try:
            with self.path.open("ab") as file:
                file.write(orjson.dumps(dict(line), option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")
        except OSError as error:
            raise RankwellError(f"{self.path}: not written: {error.strerror}") from error

    def lines(self) -> list[dict[str, Any]]:
        """All lines; the last is left out where a kill cut it in the middle."""
        if not self.path.is_file():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1].splitlines()
        try:
            return [orjson.loads(line) for line in whole]
        except orjson.JSONDecodeError as error:
            raise FormatError(self.path, None, expected="a JSON object on every line", found=str(error)) from error

    def validations(self, measure: str) -> list[tuple[int, float]]:
        """The steps at which a measure was taken, and its values."""
        found = [line for line in self.lines() if measure in line.get("validation", {})]
        return [(int(line["step"]), float(line["validation"][measure])) for line in found]

    def copy_to(self, path: Path) -> None:
        """Write the lines so far to another file, synced."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        with path.open("wb") as file:
            file.write(content)
            os.fsync(file.fileno())

    def restore(self, copy: Path | None) -> None:
        """Go back to what a copy has (nothing without one): later lines belong to steps that are done again."""
        content = copy.read_bytes() if copy is not None and copy.is_file() else b""
        with atomic_write(self.path) as file:
            file.write(content)
