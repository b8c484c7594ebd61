"""The rows of documents that no index holds yet, made by worker processes: each indexes its share for itself."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.clickhouse.address import EMBEDDED, Address
from rankwell.clickhouse.engine import Engine, open_engine
from rankwell.clickhouse.rows import Rows, SegmentRows, document_hashes
from rankwell.clickhouse.tables import Tables
from rankwell.core import Document, RankwellError
from rankwell.index import Index, IndexWriter

Plain = tuple[str, dict[str, str], dict[str, Any]]


class Share(NamedTuple):
    """Documents (id, fields, metadata), which get the numbers from `first` on, and the numbers of their fields."""

    documents: list[Plain]
    spaces: Mapping[str, int]
    first: int


class Outcome(NamedTuple):
    """What a worker hands back: the rows that it could not send itself, and what went wrong, if anything."""

    rows: list[tuple[str, Rows]]
    error: str = ""


@dataclass(frozen=True, eq=False)
class Builder:
    """How documents become rows, and where they go."""

    address: Address
    analyzer: Mapping[str, Any]
    metadata: Sequence[str]
    positions: bool

    def __call__(self, share: Share) -> Outcome:
        """Index a share, and send it. The embedded engine belongs to the process that opened it: it gets the rows."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                analyzer = Analyzer.from_config(self.analyzer)
                with IndexWriter(folder, analyzer, metadata=self.metadata, positions=self.positions) as writer:
                    writer.add_all(Document(*plain) for plain in share.documents)
                return self._sent(Index.open(Path(folder)), share)
        except RankwellError as error:
            return Outcome([], str(error))

    def _sent(self, index: Index, share: Share) -> Outcome:
        hashes, first, kept = document_hashes(index), share.first, []
        for segment, base in index.segments:
            rows = SegmentRows(index, segment, base, share.spaces, hashes)
            for table, columns in rows.all(np.arange(segment.documents), first):
                if self.address.scheme == EMBEDDED:
                    kept.append((table, columns))
                else:
                    self._engine.insert(self._tables.all(table), columns)
            first += segment.documents
        return Outcome(kept)

    @property
    def _tables(self) -> Tables:
        return Tables(self.address.database, self.address.cluster)

    @cached_property
    def _engine(self) -> Engine:
        return open_engine(self.address)


_builder: Builder | None = None


def prepare(builder: Builder) -> None:
    """In a worker, once."""
    global _builder  # noqa: PLW0603 -- what a worker process is for
    _builder = builder


def build(share: Share) -> Outcome:
    """In a worker, for each share."""
    if _builder is None:
        raise RuntimeError("expected a worker that was prepared")
    return _builder(share)
