"""The index for its users: one commit, open for reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwell.core import Document, Integers, ParameterError, RankwellError, Strings, strings
from rankwell.index.blocks import COMBINED, MOST_REMEMBERED, Array
from rankwell.index.columns import Column, joined
from rankwell.index.manifest import NAME, Manifest, analyzer_of, read_manifest
from rankwell.index.protocol import Hits, Mask, SearchIndex
from rankwell.index.scoring import QueryTerms, Scoring, TermStatistics
from rankwell.index.search import IndexSearch, holding_phrase
from rankwell.index.segment import Segment
from rankwell.index.writer import IndexWriter


class StoredDocuments(Mapping[str, Document]):
    """Documents by id; iteration goes segment by segment."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments

    def __getitem__(self, docno: str) -> Document:
        for segment in self._segments:
            number = segment.find(docno)
            if number is not None:
                return segment.store[int(segment.stored[number])]
        raise KeyError(docno)

    def __contains__(self, docno: object) -> bool:
        return isinstance(docno, str) and any(segment.find(docno) is not None for segment in self._segments)

    def __iter__(self) -> Iterator[str]:
        for segment in self._segments:
            yield from compress(segment.docnos.all(), segment.alive().tolist())

    def __len__(self) -> int:
        return sum(segment.entry.live for segment in self._segments)

    def __repr__(self) -> str:
        return f"StoredDocuments({len(self)} documents)"


ATTEMPTS = 100
DEFAULT = Scoring()


class Index(SearchIndex):
    """An index at one commit; later commits do not change an open index.

    Documents have numbers from 0 to `size` (deleted ones too), used by masks and columns; they are valid for
    this commit only.
    """

    def __init__(self, path: Path, manifest: Manifest, segments: Sequence[Segment]) -> None:
        self.path, self._manifest, self._segments = path, manifest, tuple(segments)
        self.analyzer = analyzer_of(path, manifest)
        self.fields = manifest.known_fields
        self.metadata = manifest.metadata
        self.positions = manifest.positions
        self.commit = manifest.commit
        ends = np.cumsum([0, *(segment.documents for segment in segments)]).tolist()
        self._bases, self.size = tuple(ends[:-1]), ends[-1]
        self._statistics: dict[tuple[str, str], TermStatistics] = {}
        self._search = IndexSearch(self._segments, self._bases, self)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the last commit."""
        folder = Path(path)
        for _ in range(ATTEMPTS):
            manifest = read_manifest(folder)
            try:
                return cls(folder, manifest, [Segment(folder, entry) for entry in manifest.segments])
            except RankwellError as error:
                # A commit between the two may have removed files.
                gone = isinstance(error.__cause__, FileNotFoundError)
                if not gone or read_manifest(folder).commit == manifest.commit:
                    raise
        raise RankwellError(f"{folder}: commits come faster than they can be read")

    def __len__(self) -> int:
        return sum(segment.entry.live for segment in self._segments)

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r}, commit {self.commit}, {len(self)} documents)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the index as its folder, to be opened again in the worker."""
        return _reopen, (self.path.resolve(), self.fingerprint())

    def fingerprint(self) -> str:
        """A fingerprint of the content."""
        return self._manifest.fingerprint()

    @property
    def segments(self) -> list[tuple[Segment, int]]:
        """The immutable segments, each with the number of its first document, for reading everything."""
        return list(zip(self._segments, self._bases, strict=True))

    @cached_property
    def documents(self) -> StoredDocuments:
        """The stored documents by id."""
        return StoredDocuments(self._segments)

    def search(
        self,
        queries: str | QueryTerms | Iterable[str | QueryTerms],
        k: int = 10,
        scoring: Scoring = DEFAULT,
        *,
        within: npt.ArrayLike | Mask | None = None,
        prune: bool = True,
        threads: int = 1,
    ) -> Hits:
        """The k best documents of each query (or of a single one).

        A query is plain text, or terms with their weights (as from `analyzer` or RM3). `within`
        restricts the documents: a mask over all of them, or their numbers. `prune=False` reads every posting;
        the result is the same.
        """
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        self.check_fields(scoring.weights or ())
        asked = [queries] if isinstance(queries, (str, Mapping)) else list(queries)
        allowed = None if within is None else self.mask(within)
        return self._search(asked, k, scoring, allowed, prune=prune, threads=threads)

    def statistics(self, term: str, field: str = COMBINED) -> TermStatistics:
        """The number of live documents with a term, and its posting lists."""
        statistics = self._statistics.get((term, field))
        if statistics is None:
            if len(self._statistics) >= MOST_REMEMBERED:
                self._statistics.clear()
            lists = tuple(segment.list_of(term, field) for segment in self._segments)
            pairs = zip(self._segments, lists, strict=True)
            documents = sum(segment.live_count(number) for segment, number in pairs if number is not None)
            statistics = self._statistics[term, field] = TermStatistics(lists, documents)
        return statistics

    @cached_property
    def average_lengths(self) -> Mapping[str, float]:
        """The average length of each field ("": all together) over the live documents with it."""
        entries = [segment.entry for segment in self._segments]
        averages = {}
        for name in (COMBINED, *self.fields):
            holders = sum(entry.holders.get(name, 0) for entry in entries)
            tokens = sum(entry.tokens.get(name, 0) for entry in entries)
            averages[name] = tokens / holders if tokens else 1.0
        return averages

    def lengths(self, field: str = COMBINED) -> Array:
        """The length of each document, 0 without the field."""
        parts = [segment.lengths_of(field) for segment in self._segments]
        return np.concatenate([np.zeros(0, dtype=np.uint32), *parts])

    def postings(self, term: str, field: str = COMBINED) -> tuple[Integers, Integers]:
        """The live documents with a term, and its frequency in each."""
        documents, frequencies = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        places = zip(self._segments, self._bases, self.statistics(term, field).lists, strict=True)
        for segment, base, number in places:
            if number is not None:
                numbers, counts = segment.documents_of(number), segment.frequencies_of(number)
                alive = slice(None) if segment.dead is None else ~segment.dead[numbers]
                documents.append(numbers[alive] + base)
                frequencies.append(counts[alive].astype(np.int64))
        return np.concatenate(documents), np.concatenate(frequencies)

    def holding(self, term: str, field: str = COMBINED) -> npt.NDArray[np.bool_]:
        """Mask of the live documents with a term."""
        mask = np.zeros(self.size, dtype=bool)
        mask[self.postings(term, field)[0]] = True
        return mask

    def holding_phrase(self, text: str, field: str = COMBINED) -> npt.NDArray[np.bool_]:
        """Mask of the live documents with the words of a text in a row, in that or in any field."""
        if not self.positions:
            raise RankwellError(f"{self.path} keeps no positions: make it with positions to look for phrases")
        fields = (field,) if field else self.fields
        mask = np.zeros(self.size, dtype=bool)
        occurrences = self.analyzer.positions(text)
        for segment, base in zip(self._segments, self._bases, strict=True):
            for name in fields:
                mask[holding_phrase(segment, name, occurrences) + base] = True
        return mask & self.live

    @cached_property
    def live(self) -> npt.NDArray[np.bool_]:
        """Mask of the documents that are not deleted."""
        return np.concatenate([np.ones(0, dtype=bool), *(segment.alive() for segment in self._segments)])

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The metadata columns, with one value per document."""
        return {name: joined(segment.column(name) for segment in self._segments) for name in self.metadata}

    def docnos(self, documents: Array) -> Strings:
        """The ids of documents by their numbers."""
        if len(self._segments) == 1:
            return self._segments[0].docnos.some(documents)
        docnos = strings([""] * len(documents))
        of = np.searchsorted(self._bases, documents, side="right") - 1
        for place, (segment, base) in enumerate(zip(self._segments, self._bases, strict=True)):
            if (of == place).any():
                docnos[of == place] = segment.docnos.some(documents[of == place] - base)
        return docnos

    def first_ids(self, among: Mask, count: int) -> Integers:
        """The first `count` of these documents by the tie rule: by id, descending."""
        documents = np.flatnonzero(self.mask(among))
        order = np.argsort(self.docnos(documents), kind="stable")[::-1]
        return documents[order[: max(0, count)]]

    def number(self, docno: str) -> int | None:
        """The number of a document, or None."""
        for segment, base in zip(self._segments, self._bases, strict=True):
            number = segment.find(docno)
            if number is not None:
                return int(base + number)
        return None

    def info(self) -> dict[str, Any]:
        """Facts about the index, for display."""
        sizes: Counter[str] = Counter()
        for segment in self._segments:
            for name, size in segment.file.sizes().items():
                sizes["store" if name.startswith("store") else "index"] += size
        return {
            "path": str(self.path),
            "commit": self.commit,
            "documents": len(self),
            "deleted": self.size - len(self),
            "segments": len(self._segments),
            "fields": list(self.fields),
            "metadata": list(self.metadata),
            "positions": self.positions,
            "analyzer": self.analyzer.config(),
            "average_lengths": dict(self.average_lengths),
            "terms": max((len(segment.terms) for segment in self._segments), default=0),
            "bytes": {"index": sizes["index"], "store": sizes["store"]},
        }

    def last_commit(self) -> object:
        """A mark that changes with every commit in this folder: the manifest is replaced, never written in place."""
        try:
            status = (self.path / NAME).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def verify(self) -> None:
        """Check every byte of all files of this commit; raise for the first damaged one."""
        for segment in self._segments:
            segment.verify()

    def merge(self) -> Index:
        """Merge all segments into one, without the deleted documents, and open the result."""
        with IndexWriter(self.path) as writer:
            writer.merge()
        return Index.open(self.path)

    def mask(self, within: npt.ArrayLike | Mask) -> npt.NDArray[np.bool_]:
        """A mask from a mask or from document numbers; raises where they do not fit this index."""
        given = np.asarray(within)
        if given.dtype == bool:
            if given.shape != (self.size,):
                expected = f"a mask over {self.size} documents"
                raise ParameterError("within", expected=expected, found=f"one over {given.shape}")
            return given
        if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= self.size):
            raise ParameterError("within", expected=f"numbers of documents below {self.size}", found=within)
        mask = np.zeros(self.size, dtype=bool)
        mask[given.astype(np.int64)] = True
        return mask


def _reopen(path: Path, fingerprint: str) -> Index:
    """Open an unpickled index by its folder; raise where its documents have changed."""
    index = Index.open(path)
    if index.fingerprint() != fingerprint:
        raise RankwellError(
            f"{path}: expected the index that the stage was made with, found another commit: open it anew"
        )
    return index
