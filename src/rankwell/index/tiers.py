"""Which segments are merged at a commit: those of about the same size, once there are enough of them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from rankwell.index.manifest import SegmentEntry
from rankwell.index.postings import MOST_POSTINGS

TOGETHER = 8  # a document is copied once for each factor of this in the size of the index
MOST_DEAD = 0.5


def to_merge(entries: Iterable[SegmentEntry]) -> Iterator[list[str]]:
    """Groups of segments, each to become one: full tiers, and a segment that has too many dead documents.

    A tier whose postings might be more than a segment can hold stays as it is; there are never more than tokens.
    """
    tiers: dict[int, list[SegmentEntry]] = defaultdict(list)
    for entry in entries:
        if entry.live:
            tiers[int(math.log(entry.live, TOGETHER))].append(entry)
    for tier in sorted(tiers):
        tokens = sum(sum(entry.tokens.values()) for entry in tiers[tier])
        if len(tiers[tier]) >= TOGETHER and tokens <= MOST_POSTINGS:
            yield [entry.name for entry in tiers[tier]]
        else:
            yield from ([entry.name] for entry in tiers[tier] if entry.live < MOST_DEAD * entry.documents)
