"""A column of short texts as UTF-8 bytes, which become strings only where somebody asks for strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from rankwell.core.arrays import TEXT, Integers, Strings, strings

Bytes = npt.NDArray[np.uint8]

BLANK = ord(" ")
# Texts up to this many bytes become strings as a table of that width.
NARROW = 64
MOST_BYTES = 1 << 32  # of a buffer whose places fit into 32 bits


class TextColumn(NDArrayOperatorsMixin):
    """Texts in one buffer: row i is the text `data[starts[r] : starts[r + 1] - 1]`, where r is `rows[i]`, or i itself.

    A zero byte follows each text. A run's document ids are such a column where they come from an index (`rows` are
    its document numbers) or from a large file: 9 million lines are ranked, written or evaluated without a string.
    For everything else the column is an array of strings: numpy's functions, operators and methods take it as one.

    >>> TextColumn.of([b"d1", b"d2"])[1:].tolist()
    ['d2']
    """

    dtype = TEXT
    ndim = 1

    def __init__(self, data: Bytes, starts: npt.NDArray[Any], rows: Integers | None = None) -> None:
        self.data, self.starts, self.rows = data, starts, rows
        self.data.flags.writeable = False  # one type for all kernels

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> TextColumn:
        """A column of these texts, none of which has a zero byte."""
        data = np.frombuffer(b"".join([text + b"\0" for text in texts]), dtype=np.uint8)
        return cls(data, np.concatenate(([0], np.flatnonzero(data == 0) + 1)))

    @classmethod
    def joined(cls, columns: Iterable[TextColumn]) -> TextColumn:
        """Columns one after the other; none of them may have `rows`."""
        parts = list(columns)
        ends = np.cumsum([0, *(len(part.data) for part in parts)])
        starts = np.empty(1 + sum(map(len, parts)), dtype=np.uint32 if ends[-1] < MOST_BYTES else np.int64)
        place = 0
        for part, end in zip(parts, ends[:-1].tolist(), strict=True):
            np.add(part.starts[:-1], end, out=starts[place : place + len(part)], casting="unsafe")
            place += len(part)
        starts[-1] = ends[-1]
        return cls(np.concatenate([np.zeros(0, dtype=np.uint8), *(part.data for part in parts)]), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1 if self.rows is None else len(self.rows)

    @property
    def shape(self) -> tuple[int]:
        """The number of texts, as an array has it."""
        return (len(self),)

    def spans(self, begin: int, end: int) -> tuple[Integers, Integers]:
        """The first byte and the number of bytes of the texts from `begin` to `end` (exclusive)."""
        if self.rows is None:
            starts = self.starts[begin : end + 1].astype(np.int64)
            return starts[:-1], np.diff(starts) - 1
        rows = self.rows[begin:end]
        first = self.starts.take(rows).astype(np.int64)
        return first, self.starts.take(rows + 1).astype(np.int64) - first - 1

    @cached_property
    def has_blanks(self) -> bool:
        """Whether a text of the buffer is empty, or has a blank or a control character."""
        return int((self.data <= BLANK).sum()) > len(self.starts) - 1 or bool((np.diff(self.starts) <= 1).any())

    @cached_property
    def strings(self) -> Strings:
        """The texts as an array of strings."""
        begins, lengths = self.spans(0, len(self))
        width = int(lengths.max(initial=1))
        if width > NARROW:
            spans = zip(begins.tolist(), (begins + lengths).tolist(), strict=True)
            return strings([self.data[begin:end].tobytes().decode() for begin, end in spans])
        columns = np.arange(width)
        inside = columns < lengths[:, None]
        places = np.minimum(begins[:, None] + columns, max(len(self.data) - 1, 0))
        table = np.where(inside, self.data[places], 0).astype(np.uint8)
        return table.view(f"S{width}").reshape(-1).astype(TEXT)

    def __getitem__(self, key: Any) -> Any:
        """One text, or the column of some."""
        if "strings" in self.__dict__:
            return self.strings[key]
        if isinstance(key, int | np.integer):
            place = range(len(self))[key]
            return str(self[place : place + 1].strings[0])
        rows = np.arange(len(self)) if self.rows is None else self.rows
        return TextColumn(self.data, self.starts, rows[key])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Strings:
        return self.strings if dtype is None and not copy else self.strings.astype(dtype or TEXT)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [one.strings if isinstance(one, TextColumn) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # numpy asks for its protocols by name
            raise AttributeError(name)
        return getattr(self.strings, name)

    def __repr__(self) -> str:
        return repr(self.strings)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle as an array: the buffer may be a whole index."""
        return np.asarray, (self.strings,)

    def tolist(self) -> list[str]:
        """The texts as Python strings."""
        return cast("list[str]", self.strings.tolist())

    def astype(self, dtype: Any, *, copy: bool = True) -> Any:
        """The column itself as strings, or an array of another type."""
        return self if dtype == TEXT else self.strings.astype(dtype, copy=copy)
