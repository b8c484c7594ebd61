"""Write a segment: an immutable file with some documents and everything needed to search them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankwell.index.blocks import COMBINED, MISSING, Array, BlockWriter, add_texts
from rankwell.index.buffer import Buffer, Vocabulary
from rankwell.index.columns import Column, column_of, write_column
from rankwell.index.manifest import SegmentEntry
from rankwell.index.postings import PostingsBuilder, Triples, ordered, summed
from rankwell.index.store import StoreWriter

KIND = "segment"


@dataclass(frozen=True, eq=False)
class Contents:
    """The content of a segment besides its store.

    Documents are numbered by id, descending, because that is the tie rule: of two documents with equal scores
    the one with the smaller number comes first. `stored` has their numbers in the store.
    """

    docnos: Sequence[str]
    stored: Array
    terms: Sequence[str]
    spaces: Mapping[str, int]
    lengths: Array  # one row per space
    postings: PostingsBuilder
    columns: Mapping[str, Column]
    positions: bool


class SegmentWriter:
    """A segment file under construction: documents are stored as they come, the rest is written at the end."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._path = folder / name
        self._file = BlockWriter(self._path, KIND)
        self.store = StoreWriter(self._file)

    def finish(self, contents: Contents) -> SegmentEntry:
        """Write the contents and sync the file."""
        self.store.finish()
        with self._file as file:
            add_texts(file, "docnos", contents.docnos)
            file.add("stored", contents.stored.astype(np.uint32, copy=False))
            add_texts(file, "terms", contents.terms)
            file.add("lengths", contents.lengths.astype(np.uint32, copy=False))
            contents.postings.write(file, positions=contents.positions)
            for name, column in contents.columns.items():
                write_column(file, name, column)
            documents = len(contents.docnos)
            holders, tokens = field_statistics(contents.spaces, contents.lengths)
            facts = {"documents": documents, "spaces": contents.spaces, "columns": list(contents.columns)}
            size, checksum = file.finish(facts)
        return SegmentEntry(self.name, size, checksum, documents, documents, holders, tokens)

    def abandon(self) -> None:
        """Remove the unfinished file."""
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file, finished or not."""
        self.store.stop()
        with contextlib.suppress(OSError):  # the disk is full, which caused the call
            self._file.close()


def field_statistics(spaces: Mapping[str, int], lengths: Array) -> tuple[dict[str, int], dict[str, int]]:
    """The number of documents with each field, and the tokens in them; all documents have the combined field."""
    there = lengths != MISSING
    holders = {name: int(there[space].sum()) if name else lengths.shape[1] for name, space in spaces.items()}
    tokens = {name: int(lengths[space].sum(where=there[space], dtype=np.int64)) for name, space in spaces.items()}
    return holders, tokens


def spaces_of(fields: Sequence[str]) -> dict[str, int]:
    """The space of each field. A single field is also the combined one; several are stored beside it."""
    if len(fields) == 1:
        return {COMBINED: 0, fields[0]: 0}
    return {COMBINED: 0, **{name: number for number, name in enumerate(fields, 1)}}


def combined_lengths(lengths: Array) -> Array:
    """The combined lengths of all fields, then those of each; the combined one is never missing."""
    if len(lengths) == 1:
        return lengths
    total = np.where(lengths == MISSING, 0, lengths).sum(axis=0, dtype=np.uint32)
    return np.concatenate((total[None, :], lengths))


def contents_of(buffer: Buffer, vocabulary: Vocabulary, *, positions: bool) -> Contents:
    """A buffer's documents, sorted."""
    docnos = sorted(buffer.places, reverse=True)
    order = np.fromiter(map(buffer.places.__getitem__, docnos), dtype=np.int64, count=len(docnos))
    ranks = np.full(len(buffer.docnos), -1, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    lengths = combined_lengths(buffer.lengths(order))
    used = buffer.terms()
    texts = np.array(list(vocabulary.terms), dtype=object)[used]
    sorting = sorted(range(len(used)), key=texts.tolist().__getitem__)
    term_ranks = np.zeros(len(vocabulary.terms), dtype=np.uint32)
    term_ranks[used[sorting]] = np.arange(len(used), dtype=np.uint32)
    builder = PostingsBuilder(len(docnos), len(used))
    _add_fields(builder, buffer, term_ranks, ranks)
    columns = {name: column_of([values[place] for place in order]) for name, values in buffer.columns.items()}
    terms = texts[sorting].tolist()
    return Contents(docnos, order, terms, spaces_of(list(buffer.fields)), lengths, builder, columns, positions)


def _add_fields(builder: PostingsBuilder, buffer: Buffer, term_ranks: Array, ranks: Array) -> None:
    """Add the combined lists (unless they are those of the only field), then those of each field."""
    fields = [buffer.triples(number, term_ranks, ranks) for number in buffer.fields.values()]
    sorted_fields = [(ordered(triples) if places is None else triples, places) for triples, places in fields]
    if len(fields) != 1:
        builder.begin_space()
        parts = [triples for triples, _ in sorted_fields]
        if parts:
            columns = (np.concatenate(column) for column in zip(*parts, strict=True))
            builder.add(summed(ordered(Triples(*columns))))
    for triples, places in sorted_fields:
        builder.begin_space()
        builder.add(triples, places)
