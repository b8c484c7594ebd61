"""Working out the impacts of posting lists."""

# ruff: noqa: PLR0917 -- kernels take plain arrays, see the package

from __future__ import annotations

import numpy as np

from rankwell.index.kernels.postings import large_frequency
from rankwell.index.kernels.types import Arrays, Impacts, Lines, Model, compiled, whole
from rankwell.index.layout import LARGE, WINDOW, Array

FULL = 65535.0  # the impact 1.0
BINS = 1024
BIN_SHIFT = 6


@compiled
def prepare(
    arrays: Arrays, lines: Lines, model: Model, windows: int, impacts: Impacts, ranks: Array, tops: Array, seeds: Array
) -> None:
    """Fill in the impacts of lists; for each the largest, and lower bounds of the impacts at some ranks."""
    docs16, docs32, directory, lengths = arrays.docs16, arrays.docs32, arrays.directory, arrays.lengths
    frequencies, large_at, large = arrays.frequencies, arrays.large_at, arrays.large
    k1, b, averages = model.k1, model.b, model.averages
    bins = np.zeros(BINS, dtype=np.int64)
    for line in range(len(lines.lists)):
        bins[:] = 0
        own = lines.lists[line]
        row, space, first = own.row, own.space, own.documents
        shift = own.start - first
        average, top, window = averages[space], 0, -1
        base, end = 0, first  # the window, and where it ends
        for at in range(first, first + own.size):
            while row >= 0 and at >= end:
                window += 1
                base = window * WINDOW
                end = whole(directory[row * (windows + 1) + window + 1])
            number = base + whole(docs16[at]) if row >= 0 else whole(docs32[at])
            frequency = whole(frequencies[at + shift])
            if frequency == LARGE:
                frequency = large_frequency(large_at, large, at + shift)
            tf = float(frequency)
            part = FULL * tf / (tf + k1 * (1 - b + b * float(lengths[space, number]) / average))
            impact = whole(part)
            if impact < part:
                impact += 1
            impacts.postings[at + shift] = impact
            bins[impact >> BIN_SHIFT] += 1
            top = max(top, impact)
            if row >= 0 and impact > impacts.windows[row * windows + window]:
                impacts.windows[row * windows + window] = impact
        tops[line] = top
        count, place = 0, BINS - 1
        for step in range(len(ranks)):
            while place >= 0 and count + bins[place] < ranks[step]:
                count += bins[place]
                place -= 1
            seeds[line, step] = max(0, (place << BIN_SHIFT) - 1) if place >= 0 else 0
