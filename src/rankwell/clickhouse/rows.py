"""The rows of documents: from the segments of an embedded index, or built by worker processes."""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.analysis import Analyzer
from rankwell.clickhouse.engine import EMBEDDED, Address, Engine, open_engine
from rankwell.clickhouse.manifest import metadata_columns
from rankwell.clickhouse.values import Column, arrays, numbers, optional_texts, packed, repeated_texts, texts
from rankwell.core import Document, Integers, RankwellError
from rankwell.index import Index, IndexWriter, NumberColumn, blocks, postings, store
from rankwell.index.columns import Column as MetadataColumn
from rankwell.index.columns import written
from rankwell.index.segment import Segment

POSTINGS = 1 << 20  # rows sent at once
DOCUMENTS = 1 << 13

Hashes = npt.NDArray[np.uint64]
Rows = dict[str, Column]
Mask = npt.NDArray[np.bool_]


def document_hashes(index: Index) -> Hashes:
    """A hash of each stored document of an index; 0 for deleted ones."""
    hashes = np.zeros(index.size, dtype=np.uint64)
    for segment, base in index.segments:
        # A store may hold more than its segment: documents replaced or deleted before the commit.
        by_place = np.array(
            [document_hash(document) for _, _, block in segment.store.blocks() for document in store.decoded(block)],
            dtype=np.uint64,
        )
        hashes[base : base + segment.documents] = by_place[segment.stored]
    return np.where(index.live, hashes, np.uint64(0))


def document_hash(document: Any) -> int:
    """A hash of a stored document: its id, its fields, its metadata."""
    digest = hashlib.blake2b(orjson.dumps(document, option=orjson.OPT_SORT_KEYS), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@dataclass(frozen=True, eq=False)
class SegmentRows:
    """The rows of some documents of a segment, numbered from `first`."""

    index: Index
    segment: Segment
    base: int
    spaces: Mapping[str, int]  # number of each field
    hashes: Hashes  # of all documents of the index

    @cached_property
    def _packed_terms(self) -> list[bytes]:
        return [packed(term) for term in self.segment.terms.all()]

    def postings(self, own: Integers, first: int) -> Iterator[Rows]:
        """The postings of these documents (by number in the segment), about a million at a time."""
        segment = self.segment
        new = np.full(segment.documents, -1, dtype=np.int64)
        new[own] = first + np.arange(len(own))
        for field, space in segment.spaces.items():
            lengths = segment.lengths_of(field)
            for start, end in postings.stretches(segment, space, POSTINGS):
                terms, documents, frequencies = postings.triples_of(segment, start, end)
                chosen = new[documents] >= 0
                if not chosen.any():
                    continue
                counts = np.bincount(terms[chosen], minlength=end - start)
                kept = np.flatnonzero(counts)
                offset = start - space * len(segment.terms)
                words = [self._packed_terms[offset + place] for place in kept.tolist()]
                rows = {
                    "field": numbers("UInt16", np.full(int(chosen.sum()), self.spaces[field])),
                    "term": repeated_texts(words, counts[kept].tolist()),
                    "document": numbers("UInt32", new[documents[chosen]]),
                    "frequency": numbers("UInt32", frequencies[chosen]),
                    "length": numbers("UInt32", lengths[documents[chosen]]),
                }
                if self.index.positions:
                    rows["positions"] = self._positions(field, (start, end), frequencies, chosen)
                yield rows

    def _positions(self, field: str, lists: tuple[int, int], frequencies: Integers, chosen: Mask) -> Column:
        """The positions of the terms in their field; not needed for all fields together."""
        if not field:
            return arrays("UInt32", np.zeros(int(chosen.sum()), dtype=np.int64), [])
        places = postings.positions_of(self.segment, *lists)[np.repeat(chosen, frequencies)]
        return arrays("UInt32", frequencies[chosen], places)

    def documents(self, own: Integers, first: int) -> Iterator[tuple[Rows, Rows]]:
        """Rows for `documents` and for `stored`, some thousand at a time."""
        columns = self.index.columns
        for start in range(0, len(own), DOCUMENTS):
            part = own[start : start + DOCUMENTS]
            docnos = self.segment.docnos.column()[part].tolist()
            new = numbers("UInt32", first + start + np.arange(len(part)))
            about: Rows = {"document": new, "docno": texts(docnos)}
            about["hash"] = numbers("UInt64", self.hashes[self.base + part])
            about |= self._lengths(part)
            for place, name in enumerate(self.index.metadata):
                about |= _metadata(place, columns[name], self.base + part)
            stored = [self.segment.store[int(place)] for place in self.segment.stored[part]]
            bodies = [orjson.dumps([dict(one.fields), dict(one.metadata)]).decode() for one in stored]
            yield about, {"docno": texts(docnos), "document": new, "body": texts(bodies)}

    def _lengths(self, part: Integers) -> Rows:
        """The fields of each document, and their lengths."""
        names = [name for name in self.segment.spaces if name]
        if not names:
            nothing = np.zeros(len(part), dtype=np.int64)
            return {"fields": arrays("UInt16", nothing, []), "lengths": arrays("UInt32", nothing, [])}
        table = np.stack([self.segment.lengths[self.segment.spaces[name]][part] for name in names], axis=1)
        there = table != blocks.MISSING
        places = np.broadcast_to(np.array([self.spaces[name] for name in names]), table.shape)
        counts = there.sum(axis=1)
        return {"fields": arrays("UInt16", counts, places[there]), "lengths": arrays("UInt32", counts, table[there])}

    def all(self, own: Integers, first: int) -> Iterator[tuple[str, Rows]]:
        """All rows of these documents, each with its table's name."""
        for columns in self.postings(own, first):
            yield "postings", columns
        for about, stored in self.documents(own, first):
            yield "documents", about
            yield "stored", stored


def _metadata(place: int, column: MetadataColumn, documents: Integers) -> Rows:
    """The values as numbers and as text: a later document may turn a column of numbers into one of text."""
    number, text = metadata_columns(place)
    if isinstance(column, NumberColumn):
        values = column.numbers[documents]
        as_text: Sequence[str | None] = [None if math.isnan(value) else written(value) for value in values.tolist()]
        return {number: numbers("Float64", values), text: optional_texts(as_text)}
    codes = column.codes[documents]
    names = column.values.tolist()
    as_text = [names[code] if code >= 0 else None for code in codes.tolist()]
    return {number: numbers("Float64", np.full(len(codes), math.nan)), text: optional_texts(as_text)}


Plain = tuple[str, dict[str, str], dict[str, Any]]


class Share(NamedTuple):
    """Documents (id, fields, metadata), numbered from `first`, and the numbers of their fields."""

    documents: list[Plain]
    spaces: Mapping[str, int]
    first: int


class BuildOutcome(NamedTuple):
    """A worker's result: the rows that it could not send itself, and the error, if any."""

    rows: list[tuple[str, Rows]]
    error: str = ""


@dataclass(frozen=True, eq=False)
class Builder:
    """How documents become rows, and where they are sent."""

    address: Address
    analyzer: Mapping[str, Any]
    metadata: Sequence[str]
    positions: bool

    def __call__(self, share: Share) -> BuildOutcome:
        """Index a share, and send it. The embedded engine belongs to the process that opened it: it gets the rows."""
        try:
            with tempfile.TemporaryDirectory() as folder:
                analyzer = Analyzer.from_config(self.analyzer)
                with IndexWriter(folder, analyzer, metadata=self.metadata, positions=self.positions) as writer:
                    writer.add_all(Document(*plain) for plain in share.documents)
                return self._sent(Index.open(Path(folder)), share)
        except RankwellError as error:
            return BuildOutcome([], str(error))

    def _sent(self, index: Index, share: Share) -> BuildOutcome:
        hashes, first, kept = document_hashes(index), share.first, []
        for segment, base in index.segments:
            rows = SegmentRows(index, segment, base, share.spaces, hashes)
            for table, columns in rows.all(np.arange(segment.documents), first):
                if self.address.scheme == EMBEDDED:
                    kept.append((table, columns))
                else:
                    engine = _engine_at(self.address)
                    engine.insert(engine.all[table], columns)
            first += segment.documents
        return BuildOutcome(kept)


@lru_cache(maxsize=1)
def _engine_at(address: Address) -> Engine:
    """The engine of a worker process, which keeps its connections."""
    return open_engine(address)
