"""Sorted or unsorted lists of short texts in a file: UTF-8, a NUL after each, and where each begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwell.core import RankwellError
from rankwell.core.arrays import TEXT, Strings, strings
from rankwell.index.blocks import BlockFile, BlockWriter
from rankwell.index.layout import Array

MOST_BYTES = 1 << 32
# Texts up to so many bytes are fetched as a table of that width.
NARROW = 64


def add_texts(file: BlockWriter, name: str, texts: Sequence[str]) -> None:
    """Write a list of texts, none of which may hold a NUL."""
    data = "".join([text + "\0" for text in texts]).encode()
    if len(data) >= MOST_BYTES:
        raise RankwellError(f"{file.path}: expected less than 4 GiB of {name} in a segment, found {len(data)} bytes")
    array = np.frombuffer(data, dtype=np.uint8)
    starts = np.zeros(len(texts) + 1, dtype=np.uint32)
    starts[1:] = np.flatnonzero(array == 0) + 1
    file.add(name, array)
    file.add(f"{name}:starts", starts)


class Texts:
    """A list of texts in a mapped file."""

    def __init__(self, file: BlockFile, name: str) -> None:
        self._data, self._starts = file[name], file[f"{name}:starts"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> str:
        return self.encoded(place).decode()

    def encoded(self, place: int) -> bytes:
        """One of them, as UTF-8."""
        if self._starts.whole and self._data.whole:  # all is checked, as after `some`: half the time
            starts = self._starts.unchecked
            return self._data.unchecked[starts.item(place) : starts.item(place + 1) - 1].tobytes()
        start, end = self._starts.part(place, place + 2).tolist()
        return self._data.part(start, end - 1).tobytes()

    def all(self) -> list[str]:
        """Every text, in order."""
        return self._data.all().tobytes().decode().split("\0")[:-1]

    def some(self, places: Array) -> Strings:
        """Those at these places."""
        starts = self._starts.all()
        begin = starts[places].astype(np.int64)
        lengths = starts[places + 1].astype(np.int64) - begin - 1
        width = int(lengths.max(initial=1))
        if width > NARROW:
            return strings([self[place] for place in places.tolist()])
        columns = np.arange(width)
        inside = columns < lengths[:, None]
        data = self._data.all()
        table = np.where(inside, data[np.minimum(begin[:, None] + columns, len(data) - 1)], 0).astype(np.uint8)
        return table.view(f"S{width}").reshape(-1).astype(TEXT)

    def find(self, text: str, *, descending: bool = False) -> int | None:
        """The place of a text in a sorted list, or None."""
        wanted = text.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            found = self.encoded(middle)
            if found == wanted:
                return middle
            if (found < wanted) != descending:
                low = middle + 1
            else:
                high = middle
        return None
