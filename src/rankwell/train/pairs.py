"""Pairs of query and document with a label: what models are trained on, in a folder that says how it was made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rankwell.core import FormatError, MissingExtraError, ParameterError, RankwellError, fingerprint
from rankwell.core.arrays import Integers
from rankwell.core.errors import Phrase
from rankwell.train.splits import Sides, Splitter, splitter

FORMAT, VERSION = "rankwell pairs", 1
TABLE, RECORD, SAMPLE = "pairs.parquet", "pairs.json", "sample.txt"
BATCH = 4096


class Pair(NamedTuple):
    """One example. `group` numbers the queries in the order of the file; the pairs of a query stand together."""

    query_id: str
    document_id: str
    query: str
    document: str
    label: float
    group: int = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs in a folder, or some of them. Only what is asked for is read, so that there may be more than fit in memory.

    `record` is the content of pairs.json: how they were made, the seed, and what was counted.
    """

    folder: Path
    record: Mapping[str, Any] = field(repr=False)
    chosen: Integers | None = field(default=None, repr=False)
    part: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return int(self.record["counts"]["pairs"]) if self.chosen is None else len(self.chosen)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns: those of `Pair`, then what else the folder has."""
        return tuple(self.record["columns"])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the content of all pairs; for a part of them over that and how the part was chosen."""
        whole = str(self.record["fingerprint"])
        return whole if self.chosen is None else fingerprint([whole, self.part])

    def rows(self) -> Iterator[Pair]:
        """Every pair in the order of the file, in constant memory."""
        for batch in self.batches(Pair._fields):
            yield from starmap(Pair, zip(*(batch[name].to_pylist() for name in Pair._fields), strict=True))

    def column(self, name: str) -> list[Any]:
        """One column as a list: texts, or numbers."""
        return [value for batch in self.batches([name]) for value in batch[name].to_pylist()]

    def labels(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The labels as numbers."""
        return np.array(self.column("label"), dtype=np.float64)

    def table(self, columns: Sequence[str] | None = None) -> Any:
        """A pyarrow table of these columns (all of them by default), in memory."""
        arrow, _ = pyarrow()
        batches = list(self.batches(columns))
        if not batches:
            return self._schema(columns).empty_table()
        return arrow.Table.from_batches(batches)

    def batches(self, columns: Sequence[str] | None = None, size: int = BATCH) -> Iterator[Any]:
        """Pyarrow record batches of these columns."""
        names = list(self.columns if columns is None else columns)
        unknown = [name for name in names if name not in self.columns]
        if unknown:
            raise ParameterError("column", expected=f"one of {', '.join(self.columns)}", found=unknown[0])
        arrow, parquet = pyarrow()
        start = 0
        try:
            with parquet.ParquetFile(self.folder / TABLE) as file:
                for batch in file.iter_batches(size, columns=names):
                    found = self._chosen_of(batch.select(names), start)
                    start += len(batch)
                    if len(found):
                        yield found
        except (arrow.ArrowException, OSError) as error:
            raise _unreadable(self.folder / TABLE, error) from error

    def split(self, validation: float = 0.1, seed: int = 0, by: str = "query") -> tuple[Pairs, Pairs]:
        """Pairs to train on and pairs to measure with.

        `by="query"`: no query is on both sides. `"document"`: no document either; training pairs whose document the
        other side has are left out. `"pair"` draws single pairs, as S4 did, so that a query is on both sides and the
        measure is too good: only for repeating such studies. Self-supervised pairs have a column `fold` within which
        their documents were paired, and are split by folds: that shares neither, and leaves nothing out.
        """
        return self._two(splitter(by).split(self._keys(by), validation, seed), ("split", by, validation, seed))

    def folds(self, count: int, seed: int = 0, by: str = "query") -> list[tuple[Pairs, Pairs]]:
        """`count` times pairs to train on and the others, so that every pair is among the others once."""
        found = splitter(by).folds(self._keys(by), count, seed)
        return [self._two(sides, ("fold", by, number, count, seed)) for number, sides in enumerate(found)]

    def take(self, rows: Iterable[int] | Integers) -> Pairs:
        """The pairs with these numbers, in the order of the file."""
        numbers = np.unique(np.fromiter(rows, dtype=np.int64))
        if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(self):
            raise ParameterError("rows", expected=f"numbers from 0 to {len(self) - 1}", found=int(numbers[-1]))
        return self._some(numbers, ("rows", hashlib.sha256(numbers.tobytes()).hexdigest()))

    def limit(self, count: int, seed: int = 0) -> Pairs:
        """At most so many pairs: whole queries, drawn at random, until there are enough."""
        groups = np.array(self.column("group"), dtype=np.int64)
        order, sizes = np.unique(groups, return_counts=True)
        shuffled = np.random.default_rng(seed).permutation(len(order))
        enough = shuffled[np.cumsum(sizes[shuffled]) <= count]
        return self._some(np.flatnonzero(np.isin(groups, order[enough])), ("limit", count, seed))

    def verify(self) -> None:
        """Read everything and compare it with the fingerprint."""
        digest = hashlib.sha256(digest_of_columns(self.columns))
        whole = replace(self, chosen=None)
        for batch in whole.batches():
            rows = zip(*(batch[name].to_pylist() for name in self.columns), strict=True)
            for row in rows:
                digest.update(digest_of_row(row))
        if digest.hexdigest() != self.record["fingerprint"]:
            expected = f"pairs with the fingerprint {self.record['fingerprint']}"
            raise FormatError(self.folder / TABLE, None, expected=expected, found=Phrase(digest.hexdigest()))

    def _keys(self, by: str) -> dict[str, list[Any]]:
        """What a splitter looks at."""
        wanted: Splitter = splitter(by)
        return {name: self.column(name) for name in wanted.columns if name in self.columns}

    def _two(self, sides: Sides, how: tuple[Any, ...]) -> tuple[Pairs, Pairs]:
        return self._some(sides.training, (*how, "training")), self._some(sides.validation, (*how, "validation"))

    def _some(self, rows: Integers, how: tuple[Any, ...]) -> Pairs:
        return replace(self, chosen=rows if self.chosen is None else self.chosen[rows], part=(*self.part, *how))

    def _chosen_of(self, batch: Any, start: int) -> Any:
        """The rows of a batch, which begins at row `start` of the file, that belong to this part."""
        if self.chosen is None:
            return batch
        first, last = np.searchsorted(self.chosen, [start, start + len(batch)])
        arrow, _ = pyarrow()
        return batch.take(arrow.array(self.chosen[first:last] - start))

    def _schema(self, columns: Sequence[str] | None) -> Any:
        arrow, parquet = pyarrow()
        schema = parquet.read_schema(self.folder / TABLE)
        return schema if columns is None else arrow.schema([schema.field(name) for name in columns])


def open_pairs(folder: Path | str) -> Pairs:
    """The pairs of a folder that `PairsWriter` or `rankwell train pairs` wrote."""
    folder = Path(folder)
    file = folder / RECORD
    if not file.is_file():
        raise RankwellError(f"{folder}: expected a folder of pairs with a file {RECORD}, found {_found_in(folder)}")
    try:
        record = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise FormatError(file, None, expected="JSON", found=str(error)) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != VERSION:
        raise FormatError(file, None, expected=f'"format": "{FORMAT}", "version": {VERSION}', found=Phrase("others"))
    pairs = Pairs(folder, record)
    _check_table(pairs)
    return pairs


def _check_table(pairs: Pairs) -> None:
    """Compare what the Parquet file says of itself with the record."""
    arrow, parquet = pyarrow()
    path = pairs.folder / TABLE
    try:
        told = parquet.read_metadata(path)
        names = tuple(parquet.read_schema(path).names)
    except (arrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from error
    if (told.num_rows, names) != (len(pairs), pairs.columns):
        expected = f"{len(pairs):,} rows of {', '.join(pairs.columns)}, as {RECORD} says"
        raise FormatError(path, None, expected=expected, found=Phrase(f"{told.num_rows:,} of {', '.join(names)}"))


def digest_of_columns(names: Iterable[str]) -> bytes:
    """What the fingerprint begins with."""
    return orjson.dumps([FORMAT, VERSION, *names])


def digest_of_row(values: Sequence[Any]) -> bytes:
    """What a row adds to the fingerprint: its values, so that it does not depend on how Parquet packs them."""
    return orjson.dumps(values)


def pyarrow() -> tuple[Any, Any]:
    """The library and its Parquet part."""
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("training data", extra="parquet") from error
    return arrow, parquet


def _unreadable(path: Path, error: Exception) -> FormatError:
    reason = Phrase(f"one that cannot be read ({str(error).partition(chr(10))[0]})")
    return FormatError(path, None, expected="a Parquet file", found=reason)


def _found_in(folder: Path) -> str:
    if not folder.is_dir():
        return "a file" if folder.exists() else "nothing"
    inside = sorted(entry.name for entry in folder.iterdir() if (entry / RECORD).is_file())
    return f"{' and '.join(inside)} in it: name one of these" if inside else "none"
