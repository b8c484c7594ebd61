"""Merge segments: which ones, and how."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankwell.core import Document
from rankwell.index.blocks import COMBINED, MISSING, Array
from rankwell.index.columns import NumberColumn, TextColumn, joined
from rankwell.index.manifest import SegmentEntry
from rankwell.index.postings import MOST_POSTINGS, PostingsBuilder, Triples, ordered, positions_of, ranges, triples_of
from rankwell.index.segment import Segment
from rankwell.index.segment_writer import Contents, SegmentWriter, combined_lengths, spaces_of
from rankwell.index.store import SMALL, StoreWriter, decoded

# Postings sorted at once; they bound the memory of a merge.
CHUNK = 1 << 24


@dataclass(frozen=True, eq=False)
class Source:
    """A segment to merge, with the new numbers of its documents (-1: deleted) and terms."""

    segment: Segment
    ranks: Array
    terms: Array


def merged(segments: Sequence[Segment], store: StoreWriter, metadata: Sequence[str], *, positions: bool) -> Contents:
    """The contents of the new segment; the documents are copied to its store on the way."""
    docnos, ranks = _document_ranks(segments)
    terms, sources = _term_ranks(segments, ranks)
    stored = np.zeros(len(docnos), dtype=np.int64)
    for source in sources:
        _copy_store(source, store, stored)
    fields = tuple(dict.fromkeys(name for segment in segments for name in segment.spaces if name))
    spaces = spaces_of(fields)
    builder = PostingsBuilder(len(docnos), len(terms))
    for name in [COMBINED, *fields] if len(fields) != 1 else fields:
        builder.begin_space()
        for triples, places in _chunks(sources, name, len(terms), positions=positions and name != COMBINED):
            builder.add(triples, places)
    lengths = combined_lengths(_lengths(sources, fields, len(docnos)))
    columns = {name: _column(sources, name, len(docnos)) for name in metadata}
    return Contents(docnos, stored, terms, spaces, lengths, builder, columns, positions)


def _document_ranks(segments: Sequence[Segment]) -> tuple[list[str], list[Array]]:
    docnos = [docno for part in segments for docno in part.docnos.all()]
    alive = np.flatnonzero(np.concatenate([part.alive() for part in segments])).tolist()
    alive.sort(key=docnos.__getitem__, reverse=True)
    ranks = np.full(len(docnos), -1, dtype=np.int64)
    ranks[alive] = np.arange(len(alive))
    ends = np.cumsum([part.documents for part in segments])
    return [docnos[number] for number in alive], np.split(ranks, ends[:-1])


def _term_ranks(segments: Sequence[Segment], ranks: Sequence[Array]) -> tuple[list[str], list[Source]]:
    """The sorted terms of live documents, and the new numbers of each segment's terms."""
    known = [np.array(part.terms.all(), dtype=object) for part in segments]
    living = [_living(part, rank) for part, rank in zip(segments, ranks, strict=True)]
    terms = sorted(set().union(*(texts[alive].tolist() for texts, alive in zip(known, living, strict=True))))
    place = {term: number for number, term in enumerate(terms)}
    # A dead term gets the number of the next one: the order stays, and it has no postings anyway.
    sources = []
    for part, rank, texts, alive in zip(segments, ranks, known, living, strict=True):
        numbers = np.full(len(texts), len(terms), dtype=np.int64)
        numbers[alive] = [place[term] for term in texts[alive].tolist()]
        numbers = np.minimum.accumulate(numbers[::-1])[::-1]
        sources.append(Source(part, rank, numbers))
    return terms, sources


def _living(segment: Segment, ranks: Array) -> Array:
    count = len(segment.terms)
    if segment.dead is None or not count:
        return np.ones(count, dtype=bool)
    alive = np.zeros(count, dtype=bool)
    for first, end in ranges(segment.file["offsets"].part(0, count + 1).astype(np.int64), CHUNK):
        triples = triples_of(segment, first, end)
        alive[triples.terms[ranks[triples.documents] >= 0] + first] = True
    return alive


def _chunks(
    sources: Sequence[Source], field: str, terms: int, *, positions: bool
) -> Iterator[tuple[Triples, Array | None]]:
    counts = np.zeros(terms + 1, dtype=np.int64)
    holding = [source for source in sources if field in source.segment.spaces]
    for source in holding:
        base = source.segment.spaces[field] * len(source.terms)
        own = np.diff(source.segment.file["offsets"].part(base, base + len(source.terms) + 1).astype(np.int64))
        np.add.at(counts, source.terms, own)
    for first, end in ranges(np.concatenate(([0], np.cumsum(counts[:-1]))), CHUNK):
        parts = [_part(source, field, first, end, positions=positions) for source in holding]
        triples = Triples(*(np.concatenate(column) for column in zip(*(part for part, _ in parts), strict=True)))
        if positions:
            yield _ordered_with(triples, np.concatenate([places for _, places in parts if places is not None]))
        else:
            yield ordered(triples), None


def _part(source: Source, field: str, first: int, end: int, *, positions: bool) -> tuple[Triples, Array | None]:
    """A segment's postings of some of the new terms, in new numbers, without dead documents."""
    segment = source.segment
    low, high = np.searchsorted(source.terms, [first, end]).tolist()
    base = segment.spaces[field] * len(source.terms)
    terms, documents, frequencies = triples_of(segment, base + low, base + high)
    new = source.ranks[documents]
    alive = new >= 0
    places = None
    if positions:
        places = positions_of(segment, base + low, base + high)[np.repeat(alive, frequencies)]
    numbers = source.terms[low:high].astype(np.uint32)
    return Triples(numbers[terms[alive]], new[alive].astype(np.uint32), frequencies[alive]), places


def _ordered_with(triples: Triples, positions: Array) -> tuple[Triples, Array]:
    terms, documents, frequencies = triples
    order = np.lexsort((documents, terms))
    starts = np.cumsum(frequencies, dtype=np.int64) - frequencies
    counts = frequencies[order].astype(np.int64)
    shift = np.repeat(starts[order] - (np.cumsum(counts) - counts), counts)
    return Triples(terms[order], documents[order], frequencies[order]), positions[shift + np.arange(len(shift))]


def _lengths(sources: Sequence[Source], fields: Sequence[str], documents: int) -> Array:
    table = np.full((len(fields), documents), MISSING, dtype=np.uint32)
    for source in sources:
        alive = source.ranks >= 0
        for row, name in enumerate(fields):
            if name in source.segment.spaces:
                lengths = source.segment.lengths[source.segment.spaces[name]]
                table[row, source.ranks[alive]] = lengths[alive]
    return table


def _column(sources: Sequence[Source], name: str, documents: int) -> NumberColumn | TextColumn:
    column = joined(source.segment.column(name) for source in sources)
    ranks = np.concatenate([source.ranks for source in sources])
    old = np.zeros(documents, dtype=np.int64)
    old[ranks[ranks >= 0]] = np.flatnonzero(ranks >= 0)
    if isinstance(column, NumberColumn):
        return NumberColumn(column.numbers[old])
    return TextColumn(column.codes[old], column.values)


def _copy_store(source: Source, store: StoreWriter, stored: Array) -> None:
    """Copy whole blocks where all documents live and the block is large enough, else single documents."""
    numbers = source.segment.stored.astype(np.int64)
    rank_of = np.full(int(numbers.max(initial=-1)) + 1, -1, dtype=np.int64)
    rank_of[numbers] = source.ranks
    for first, end, block in source.segment.store.blocks():
        ranks = np.full(end - first, -1, dtype=np.int64)
        known = rank_of[first:end]
        ranks[: len(known)] = known
        alive = ranks >= 0
        if alive.all() and len(block) >= SMALL:
            stored[ranks] = np.arange(store.count, store.count + end - first)
            store.copy(block, end - first)
            continue
        if alive.any():
            for rank, (docno, fields, metadata) in zip(ranks.tolist(), decoded(block), strict=True):
                if rank >= 0:
                    stored[rank] = store.count
                    store.add(Document(docno, fields, metadata))


class MergeJob:
    """Segments at a commit, and the file that they are merged into.

    `run` may take long and writes only that file. It never removes it: the writer does, when it knows that the
    name is still this job's.
    """

    def __init__(
        self, sources: Sequence[Segment], file: SegmentWriter, metadata: Sequence[str], *, positions: bool
    ) -> None:
        self.sources = {segment.entry.name: segment for segment in sources}
        self.name = file.name
        self.entry: SegmentEntry | None = None  # the entry of the new segment
        self._file, self._metadata, self._positions = file, metadata, positions

    @property
    def documents(self) -> int:
        """Number of documents to merge."""
        return sum(segment.entry.live for segment in self.sources.values())

    def run(self) -> None:
        """Merge the segments into one."""
        try:
            segments = list(self.sources.values())
            contents = merged(segments, self._file.store, self._metadata, positions=self._positions)
            self.entry = self._file.finish(contents)
        finally:
            self._file.close()

    def died_since(self, now: Mapping[str, Segment]) -> set[str]:
        """The documents that were alive when the job began and are dead in the current segments."""
        died: set[str] = set()
        for name, before in self.sources.items():
            alive = before.alive()
            if name in now:  # in a removed segment all are dead
                alive &= ~now[name].alive()
            died.update(before.docnos[number] for number in np.flatnonzero(alive).tolist())
        return died


TOGETHER = 8  # a document is copied once for each factor of this in the size of the index
MOST_DEAD = 0.5


def to_merge(entries: Iterable[SegmentEntry]) -> Iterator[list[str]]:
    """Groups of segments to merge: full tiers, and segments with too many dead documents.

    A tier that may have more postings than a segment can hold is left out; the number of tokens is the upper bound.
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
