"""Fingerprints: short, stable ids of a configuration and its data."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import orjson

WIDEST = 1 << 53  # largest integer that is exact in every JSON parser


def fingerprint(value: Any) -> str:
    """SHA-256 (hex) over the canonical JSON of a value: equal values, and only these, have equal fingerprints."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces; numpy numbers and arrays as plain ones; paths as text."""
    return orjson.dumps(_plain(value), option=orjson.OPT_SORT_KEYS)


def fingerprint_file(path: Path | str) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    """The value in JSON types. What JSON lacks (infinity, a class) becomes a marked object."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return value if math.isfinite(value) and abs(value) <= WIDEST else {"number": str(value)}
    if hasattr(value, "fingerprint"):
        return value.fingerprint()
    if isinstance(value, (Path, Enum)):
        return str(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return _plain_parts(value)


def _plain_parts(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {type(value).__qualname__: {field.name: _plain(getattr(value, field.name)) for field in fields(value)}}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(_plain, value), key=canonical)
    raise TypeError(f"a fingerprint covers plain values, not {type(value).__name__}")
