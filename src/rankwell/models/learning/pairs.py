"""Labelled pairs of query and document for training, in a folder with a record of how they were made."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.core import FormatError, Integers, MissingExtraError, ParameterError, Phrase, RankwellError, fingerprint

log = logging.getLogger(__name__)

Columns = Mapping[str, Sequence[Any]]
Mask = npt.NDArray[np.bool_]
UNLABELLED = "unlabelled"  # value of the column `kind`; the label of such a pair, 0, has no meaning
FOLD = "fold"
Sides = tuple[Integers, Integers]  # the row numbers of training and of validation, ascending


@dataclass(frozen=True)
class Splitter:
    """A way to split: its columns, the unit that stays together, and the training rows to drop afterwards."""

    columns: tuple[str, ...]
    unit: Callable[[Columns], Sequence[Any]]
    leaks: Callable[[Columns, Mask], Mask] | None = None

    def split(self, columns: Columns, validation: float, seed: int) -> Sides:
        """Split into two sides; the fraction counts units (queries)."""
        if not 0 < validation < 1:
            raise ParameterError("validation", expected="a share above 0 and below 1", found=validation)
        numbers, count = _numbered(self.unit(columns))
        _check_units(count, 2)
        size = min(max(round(validation * count), 1), count - 1)
        held_out = np.zeros(count, dtype=bool)
        held_out[np.random.default_rng(seed).permutation(count)[:size]] = True
        return self._sides(columns, held_out[numbers])

    def folds(self, columns: Columns, count: int, seed: int) -> list[Sides]:
        """`count` splits with disjoint validation sides that together contain all units."""
        if count < 2:  # noqa: PLR2004 -- one fold has no training side
            raise ParameterError("folds", expected="a number from 2", found=count)
        numbers, units = _numbered(self.unit(columns))
        _check_units(units, count)
        fold_of = np.empty(units, dtype=np.int64)
        fold_of[np.random.default_rng(seed).permutation(units)] = np.arange(units) % count
        return [self._sides(columns, (fold_of == fold)[numbers]) for fold in range(count)]

    def _sides(self, columns: Columns, validation: Mask) -> Sides:
        training = ~validation
        if self.leaks is not None:
            training &= ~self.leaks(columns, validation)
        left_out = int((~training & ~validation).sum())
        if not training.any():
            raise RankwellError(
                f"split: expected pairs to train on, found none: all {left_out:,} have a document of the other side"
            )
        if left_out:
            log.warning("%d training pairs are left out: the validation side has their documents", left_out)
        return np.flatnonzero(training), np.flatnonzero(validation)


def _queries(columns: Columns) -> Sequence[Any]:
    """The fold where pairs have one, because their queries are documents; else the query."""
    return columns.get(FOLD, columns["query_id"])


def _single_pairs(columns: Columns) -> Sequence[Any]:
    return range(len(columns["label"]))


def _shared_documents(columns: Columns, validation: Mask) -> Mask:
    """Mask of pairs with a document that a validation pair also has."""
    numbers, count = _numbered(columns["document_id"])
    there = np.zeros(count, dtype=bool)
    there[numbers[validation]] = True
    return there[numbers]


SPLITTERS: dict[str, Splitter] = {
    "query": Splitter(("query_id", FOLD), _queries),
    "document": Splitter(("query_id", "document_id", FOLD), _queries, _shared_documents),
    "pair": Splitter(("label",), _single_pairs),
}


def splitter(name: str) -> Splitter:
    """The splitter of that name."""
    if name not in SPLITTERS:
        raise ParameterError("split by", expected=" or ".join(SPLITTERS), found=name)
    return SPLITTERS[name]


def _numbered(values: Sequence[Any]) -> tuple[Integers, int]:
    """A number from 0 for each distinct value, in sorted order, so that rows may be shuffled."""
    places = {value: number for number, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values], dtype=np.int64), len(places)


def _check_units(count: int, fewest: int) -> None:
    if count < fewest:
        raise RankwellError(f"split: expected at least {fewest} queries (or folds) to share out, found {count}")


FORMAT, VERSION = "rankwell pairs", 1
TABLE, RECORD, SAMPLE = "pairs.parquet", "pairs.json", "sample.txt"
BATCH = 4096


class Pair(NamedTuple):
    """One example. `group` numbers the queries in file order; the pairs of a query are consecutive."""

    query_id: str
    document_id: str
    query: str
    document: str
    label: float
    group: int = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs in a folder, or some of them. Columns are read on demand, so that they need not fit in memory.

    `record` is the content of pairs.json: how the pairs were made, the seed, and counts.
    """

    folder: Path
    record: Mapping[str, Any] = field(repr=False)
    chosen: Integers | None = field(default=None, repr=False)
    part: tuple[Any, ...] = ()

    def __len__(self) -> int:
        return int(self.record["counts"]["pairs"]) if self.chosen is None else len(self.chosen)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names: those of `Pair`, then additional ones."""
        return tuple(self.record["columns"])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the content of all pairs; for a part also over its selection."""
        whole = str(self.record["fingerprint"])
        return whole if self.chosen is None else fingerprint([whole, self.part])

    def rows(self) -> Iterator[Pair]:
        """All pairs in file order, in constant memory."""
        for batch in self.batches(Pair._fields):
            yield from starmap(Pair, zip(*(batch[name].to_pylist() for name in Pair._fields), strict=True))

    def column(self, name: str) -> list[Any]:
        """One column as a list of texts or numbers."""
        return [value for batch in self.batches([name]) for value in batch[name].to_pylist()]

    def texts(self) -> Iterator[tuple[str, str]]:
        """The query and the document of every pair, in constant memory."""
        for batch in self.batches(["query", "document"]):
            yield from zip(batch["query"].to_pylist(), batch["document"].to_pylist(), strict=True)

    def labels(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The labels as an array."""
        return np.array(self.column("label"), dtype=np.float64)

    def table(self, columns: Sequence[str] | None = None) -> Any:
        """A pyarrow table of these columns (default: all), in memory."""
        arrow, parquet = pyarrow()
        batches, schema = list(self.batches(columns)), parquet.read_schema(self.folder / TABLE)
        chosen = schema if columns is None else arrow.schema([schema.field(name) for name in columns])
        return arrow.Table.from_batches(batches, schema=chosen)

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
                    chosen = self._chosen_of(batch.select(names), start)
                    start += len(batch)
                    if len(chosen):
                        yield chosen
        except (arrow.ArrowException, OSError) as error:
            raise _unreadable(self.folder / TABLE, error) from error

    def split(self, validation: float = 0.1, seed: int = 0, by: str = "query") -> tuple[Pairs, Pairs]:
        """Split into training and validation pairs.

        `by="query"`: no query is on both sides. `"document"`: no document either; training pairs with a
        document of the other side are left out. `"pair"` draws single pairs, so that a query is on both sides
        and the measures are too high: only for replicating such studies (the document-ranking study did so).
        Self-supervised pairs have a column `fold`, within which their documents were paired, and are split by
        folds: the sides share neither queries nor documents, and nothing is left out.
        """
        return self._two(splitter(by).split(self._keys(by), validation, seed), ("split", by, validation, seed))

    def folds(self, count: int, seed: int = 0, by: str = "query") -> list[tuple[Pairs, Pairs]]:
        """`count` splits into training and validation pairs; every pair is in one validation side."""
        folds = splitter(by).folds(self._keys(by), count, seed)
        return [self._two(sides, ("fold", by, number, count, seed)) for number, sides in enumerate(folds)]

    def take(self, rows: Iterable[int] | Integers) -> Pairs:
        """The pairs of these rows, in file order."""
        numbers = np.unique(np.fromiter(rows, dtype=np.int64))
        if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(self):
            raise ParameterError("rows", expected=f"numbers from 0 to {len(self) - 1}", found=int(numbers[-1]))
        return self._some(numbers, ("rows", hashlib.sha256(numbers.tobytes()).hexdigest()))

    def limit(self, count: int, seed: int = 0) -> Pairs:
        """At most `count` pairs: whole queries, drawn at random."""
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
        return {name: self.column(name) for name in splitter(by).columns if name in self.columns}

    def _two(self, sides: Sides, how: tuple[Any, ...]) -> tuple[Pairs, Pairs]:
        return self._some(sides[0], (*how, "training")), self._some(sides[1], (*how, "validation"))

    def _some(self, rows: Integers, how: tuple[Any, ...]) -> Pairs:
        return replace(self, chosen=rows if self.chosen is None else self.chosen[rows], part=(*self.part, *how))

    def _chosen_of(self, batch: Any, start: int) -> Any:
        """The selected rows of a batch that begins at row `start` of the file."""
        if self.chosen is None:
            return batch
        first, last = np.searchsorted(self.chosen, [start, start + len(batch)])
        arrow, _ = pyarrow()
        return batch.take(arrow.array(self.chosen[first:last] - start))


def open_pairs(folder: Path | str) -> Pairs:
    """Open a folder that `PairsWriter` or `rankwell train pairs` wrote."""
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
    """Compare the Parquet file's metadata with the record."""
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
    """The beginning of the fingerprint's input."""
    return orjson.dumps([FORMAT, VERSION, *names])


def digest_of_row(values: Sequence[Any]) -> bytes:
    """A row's part of the fingerprint's input: its values, independent of Parquet's encoding."""
    return orjson.dumps(values)


def pyarrow() -> tuple[Any, Any]:
    """Import pyarrow and its Parquet module."""
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
