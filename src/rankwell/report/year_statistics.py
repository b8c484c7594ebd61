"""When documents were published, as far as their metadata say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Where a year may stand, the surest place first.
YEAR_KEYS = ("year", "date", "publish_time", "publish_date")

# Four digits that can be a year, alone or at the start of a date without dashes (20200315).
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?=\d{4}(?!\d)|(?!\d))")


@dataclass(frozen=True)
class YearStatistics:
    """Documents by year in ascending order, and how many have none."""

    documents: Mapping[int, int]
    without: int


def year_of(metadata: Mapping[str, Any]) -> int | None:
    """The year in a document's metadata, or None."""
    for key in YEAR_KEYS:
        found = _YEAR.search(str(metadata.get(key, "")))
        if found:
            return int(found[1])
    return None
