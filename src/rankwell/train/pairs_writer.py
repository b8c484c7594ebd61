"""Writing pairs: any number of them in constant memory, into a folder that is there when it is whole."""

from __future__ import annotations

import hashlib
import math
import os
import random
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from rankwell.core import RankwellError, atomic_write
from rankwell.train.folders import new_folder
from rankwell.train.pairs import (
    FORMAT,
    RECORD,
    SAMPLE,
    TABLE,
    VERSION,
    Pair,
    Pairs,
    digest_of_columns,
    digest_of_row,
    open_pairs,
    pyarrow,
)
from rankwell.train.pairs_sample import Sample

ROW_GROUP = 8192  # rows in memory; a Parquet row group is what a reader has to unpack at once
TYPES = {"query_id": "string", "document_id": "string", "query": "string", "document": "string"}
TYPES |= {"label": "float64", "group": "int64"}


class PairsWriter:
    """A folder of pairs in the making; it takes its place when the block ends well.

    with PairsWriter("pairs", made={"from": "my tickets"}, seed=7) as writer:
        writer.add(Pair("q1", "d1", "sore throat", "Penicillin was given ...", 1.0))

    `made` says how the pairs come about; it is kept in the record. `extra` names further columns with their types in
    Arrow's words ("int64", "string", "float64"), whose values `add` takes by name.
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
        self._digest = hashlib.sha256(digest_of_columns(self._types))
        self._sample = Sample(random.Random(seed or 0))  # noqa: S311 -- a sample to look at, not a secret
        self._stack = ExitStack()
        self._last: str | None = None
        self._groups = 0
        self.count = 0

    def __enter__(self) -> Self:
        arrow, parquet = pyarrow()
        self._temporary = self._stack.enter_context(new_folder(self.folder))
        self._arrow = arrow
        self._schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in self._types.items()])
        try:
            self._file = self._stack.enter_context((self._temporary / TABLE).open("wb"))
            table = parquet.ParquetWriter(self._file, self._schema, compression="zstd")
            self._writer = self._stack.enter_context(table)
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def add(self, pair: Pair, **extra: Any) -> None:
        """One more pair. Pairs of a query that follow each other are a group, unless the pair says its own."""
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
            self._digest.update(digest_of_row(values))
        except orjson.JSONEncodeError as error:  # half a surrogate pair, which is no Unicode
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
        """The folder, once it is written."""
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
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self._digest.hexdigest(),
            "made": self.made,
            "seed": self.seed,
            "counts": self._counts(),
            "columns": list(self._types),
        }
        with atomic_write(self._temporary / RECORD) as file:
            file.write(orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))
        with atomic_write(self._temporary / SAMPLE) as file:
            file.write(self._sample.text(self.count).encode())

    def _counts(self) -> dict[str, int]:
        """Counted from the file, a column at a time, by a library that needs little memory for it."""
        from pyarrow import compute

        _, parquet = pyarrow()
        found = {"pairs": self.count}
        for name, what in (("query_id", "queries"), ("document_id", "documents")):
            column = parquet.read_table(self._temporary / TABLE, columns=[name])[name]
            found[what] = int(compute.count_distinct(column).as_py())
        labels = parquet.read_table(self._temporary / TABLE, columns=["label"])["label"]
        found["positive"] = int(compute.sum(compute.greater(labels, 0)).as_py())
        found["negative"] = self.count - found["positive"]
        return found
