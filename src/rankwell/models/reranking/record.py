"""The record in a model's folder, where it is more than a transformer with a head: its kind and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import FormatError, atomic_write

RECORD = "ranker.json"
FORMAT = "rankwell ranker"


@dataclass(frozen=True)
class RankerRecord:
    """The kind of a ranker (`parade`, `duo`, `dual-interaction`, ...) and its settings in training."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the record into the model's folder."""
        content = {"format": FORMAT, "kind": self.kind, "settings": dict(self.settings)}
        with atomic_write(folder / RECORD) as file:
            file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")


def read_record(folder: Path) -> RankerRecord | None:
    """The record of a folder, or None for a plain transformer or a linear model."""
    file = folder / RECORD
    if not file.is_file():
        return None
    try:
        content = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise FormatError(file, None, expected="JSON", found=str(error)) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT or not isinstance(content.get("kind"), str):
        raise FormatError(file, None, expected=f'"format": "{FORMAT}" and a kind', found=str(content)[:60])
    return RankerRecord(content["kind"], content.get("settings") or {})
