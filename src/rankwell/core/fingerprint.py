"""Fingerprints: short, stable names for a configuration and the data it was used on."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson


def fingerprint(value: Any) -> str:
    """SHA-256 (hex) over the canonical JSON of a value: equal values give equal names, always."""
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys and no spaces; numpy numbers and arrays as plain ones; paths as text."""
    options = orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, option=options, default=_plain)


def fingerprint_file(path: Path | str) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _plain(value: Any) -> Any:
    """What JSON cannot say itself: objects that know their fingerprint, mappings, sets, paths."""
    if hasattr(value, "fingerprint"):
        return value.fingerprint()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if hasattr(value, "items"):
        return dict(value.items())
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a fingerprint covers plain values, not {type(value).__name__}")
