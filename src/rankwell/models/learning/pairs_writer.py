"""Write pairs into a folder, in constant memory, with a readable sample."""

from __future__ import annotations

import hashlib
import math
import os
import random
import textwrap
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from rankwell.core import RankwellError, atomic_write
from rankwell.models.learning import pairs
from rankwell.models.learning.folders import new_folder
from rankwell.models.learning.pairs import Pair, Pairs, open_pairs

EACH = 10  # positive pairs, and as many negative ones
LONGEST = 400  # most characters of a text


class PairSample:
    """A uniform random sample of positive and of negative pairs."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._kept: dict[bool, list[Pair]] = {True: [], False: []}
        self._seen = {True: 0, False: 0}

    def look_at(self, pair: Pair) -> None:
        """Perhaps add the pair in place of another (Vitter's reservoir sampling, 1985)."""
        positive = pair.label > 0
        kept = self._kept[positive]
        self._seen[positive] += 1
        if len(kept) < EACH:
            kept.append(pair)
            return
        place = self._chooser.randrange(self._seen[positive])
        if place < EACH:
            kept[place] = pair

    def text(self, count: int) -> str:
        """The sample as readable text."""
        shown = [pair for positive in (True, False) for pair in self._kept[positive]]
        head = f"{len(shown)} of {count:,} pairs, drawn at random.\n"
        return "\n".join([head, *map(_paragraph, shown)])


def _paragraph(pair: Pair) -> str:
    return (
        f"label {pair.label:g}   query {pair.query_id}   document {pair.document_id}\n"
        f"{_wrapped('query:    ', pair.query)}\n{_wrapped('document: ', pair.document)}\n"
    )


def _wrapped(name: str, text: str) -> str:
    cut = text if len(text) <= LONGEST else text[:LONGEST] + " ..."
    return textwrap.fill(" ".join(cut.split()), 110, initial_indent="  " + name, subsequent_indent=" " * 12)


ROW_GROUP = 8192  # rows in memory; a reader has to unpack a Parquet row group at once
TYPES = {"query_id": "string", "document_id": "string", "query": "string", "document": "string"}
TYPES |= {"label": "float64", "group": "int64"}


class PairsWriter:
    """Writes a folder of pairs; it is moved into place when the block ends without an error.

    with PairsWriter("pairs", made={"from": "my tickets"}, seed=7) as writer:
        writer.add(Pair("q1", "d1", "sore throat", "Penicillin was given ...", 1.0))

    `made` describes how the pairs were made, for the record. `extra` names further columns with their Arrow
    types ("int64", "string", "float64"), whose values `add` takes by name.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        made: Mapping[str, Any],
        seed: int | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.made, self.seed = Path(folder), dict(made), seed
        self._types = {**TYPES, **(extra or {})}
        self._columns: dict[str, list[Any]] = {name: [] for name in self._types}
        self._digest = hashlib.sha256(pairs.digest_of_columns(self._types))
        self._sample = PairSample(random.Random(seed or 0))  # noqa: S311 -- a sample for reading, not a secret
        self._stack = ExitStack()
        self._last: str | None = None
        self._groups = 0
        self.count = 0

    def __enter__(self) -> Self:
        arrow, parquet = pairs.pyarrow()
        self._temporary = self._stack.enter_context(new_folder(self.folder))
        self._arrow = arrow
        self._schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in self._types.items()])
        try:
            self._file = self._stack.enter_context((self._temporary / pairs.TABLE).open("wb"))
            table = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
            self._writer = self._stack.enter_context(table)
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def add(self, pair: Pair, **extra: Any) -> None:
        """Add a pair. Consecutive pairs of a query are a group, unless the pair has its own."""
        if not math.isfinite(pair.label):
            raise RankwellError(
                f"pairs: expected a finite label, found {pair.label} for query {pair.query_id!r} and document "
                f"{pair.document_id!r}"
            )
        if pair.group < 0:
            pair = pair._replace(group=self._group(pair.query_id))
        values = (*pair[:4], float(pair.label), pair.group, *(extra[name] for name in list(self._types)[6:]))
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        try:
            self._digest.update(pairs.digest_of_row(values))
        except orjson.JSONEncodeError as error:  # a lone surrogate, which is not valid Unicode
            raise RankwellError(
                f"pairs: expected Unicode text, found other for query {pair.query_id!r} "
                f"and document {pair.document_id!r} ({error})"
            ) from error
        self._sample.look_at(pair)
        self.count += 1
        if len(self._columns["label"]) >= ROW_GROUP:
            self._flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        except BaseException as failure:
            self._stack.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._stack.__exit__(kind, error, trace)

    def open(self) -> Pairs:
        """Open the finished folder."""
        return open_pairs(self.folder)

    def _group(self, query_id: str) -> int:
        if query_id != self._last:
            self._last = query_id
            self._groups += 1
        return self._groups - 1

    def _flush(self) -> None:
        if self._columns["label"]:
            self._writer.write_table(self._arrow.table(self._columns, schema=self._schema))
        for column in self._columns.values():
            column.clear()

    def _finish(self) -> None:
        if not self.count:
            raise RankwellError(f"{self.folder}: expected pairs to write, found none")
        self._flush()
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        record = {
            "format": pairs.FORMAT,
            "version": pairs.VERSION,
            "fingerprint": self._digest.hexdigest(),
            "made": self.made,
            "seed": self.seed,
            "counts": self._counts(),
            "columns": list(self._types),
        }
        with atomic_write(self._temporary / pairs.RECORD) as file:
            file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))
        with atomic_write(self._temporary / pairs.SAMPLE) as file:
            file.write(self._sample.text(self.count).encode())

    def _counts(self) -> dict[str, int]:
        """Count from the file, one column at a time, to save memory."""
        from pyarrow import compute

        _, parquet = pairs.pyarrow()
        counts = {"pairs": self.count}
        for name, what in (("query_id", "queries"), ("document_id", "documents")):
            column = parquet.read_table(self._temporary / pairs.TABLE, columns=[name])[name]
            counts[what] = int(compute.count_distinct(column).as_py())
        labels = parquet.read_table(self._temporary / pairs.TABLE, columns=["label"])["label"]
        counts["positive"] = int(compute.sum(compute.greater(labels, 0)).as_py())
        counts["negative"] = self.count - counts["positive"]
        return counts
