"""The index for its users: one commit, open for reading."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from rankwell.analysis import Analyzer, choose_analyzer, parse_analyzer
from rankwell.collections import ColumnChoice, Reading, documents_of, unique
from rankwell.collections.any_format import GUESS, as_path
from rankwell.collections.given import WHERE
from rankwell.core import Document, Integers, ParameterError, RankwellError, Strings
from rankwell.core.text_column import TextColumn
from rankwell.index.blocks import COMBINED, MOST_REMEMBERED, Array
from rankwell.index.columns import Column, joined
from rankwell.index.manifest import NAME, Manifest, analyzer_of, new_folder, read_manifest, with_metadata_names
from rankwell.index.protocol import Hits, Mask, SearchIndex
from rankwell.index.scoring import QueryTerms, Scoring, TermStatistics
from rankwell.index.search import IndexSearch, holding_phrase
from rankwell.index.searcher import Searcher
from rankwell.index.segment import Segment
from rankwell.index.source_tables import keep_tables, read_tables
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


log = logging.getLogger(__name__)

ATTEMPTS = 100
DEFAULT = Scoring()


class Index(SearchIndex):
    """An index at one commit; later commits do not change an open index. It is closed when nobody uses it any more.

    Documents have numbers from 0 to `size` (deleted ones too), used by masks and columns, valid for this commit only.

    >>> index = Index.build("new", [{"id": "p1", "title": "Masks and droplets", "year": 2020}])
    >>> len(index)
    1
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
        self._search = IndexSearch(self._segments, self._bases)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the last commit."""
        return cls._opened(as_path(path, "index"), ())

    def reopen(self) -> Self:
        """Open the last commit, sharing the segments that have not changed since this one."""
        return self._opened(self.path, self._segments)

    @classmethod
    def _opened(cls, folder: Path, known: Sequence[Segment]) -> Self:
        for _ in range(ATTEMPTS):
            manifest = read_manifest(folder)
            same = {segment.entry.name: segment for segment in known if segment.entry in manifest.segments}
            try:
                return cls(folder, manifest, [same.get(e.name) or Segment(folder, e) for e in manifest.segments])
            except RankwellError as error:  # a commit between the two may have removed files
                gone = isinstance(error.__cause__, FileNotFoundError)
                if not gone or read_manifest(folder).commit == manifest.commit:
                    raise
        raise RankwellError(f"{folder}: commits come faster than they can be read")

    @classmethod
    def build(
        cls,
        path: Path | str,
        documents: Any,
        *,
        analyzer: Analyzer | str | None = None,
        columns: ColumnChoice = GUESS,
        positions: bool = False,
        reading: Reading | None = None,
    ) -> Self:
        """Index documents into a new folder: a path, a data frame, dicts, `Document`s, a dataset, any iterator.

            index = Index.build("papers", [{"id": "p1", "title": "Masks and droplets", "year": 2020}])

        Words are searchable, short values are metadata for filters. `columns` says which are which where the guess is
        not right, `analyzer` how text becomes terms (see `rankwell.analysis.parse_analyzer`; without one the documents'
        language decides); `positions` are for phrases.
        """
        folder = new_folder(path, documents)
        how, given = reading or Reading(), documents
        analysis = parse_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        names, documents = with_metadata_names(unique(documents_of(given, columns, how), how, WHERE))
        first = next(documents, None)
        if first is None:
            what = given if isinstance(given, str | os.PathLike) else type(given).__name__
            raise RankwellError(f"{what}: expected documents, found none")
        documents = chain([first], documents)
        if analysis is None:
            language, documents = choose_analyzer(documents)
            analysis = language.analyzer
            if language.note:
                log.warning("language: %s", language.note)
        with IndexWriter(folder, analysis, metadata=names, positions=positions) as writer:
            writer.add_all(documents)
        keep_tables(folder, how.tables.read)
        return cls.open(folder)

    def add(self, documents: Any, *, columns: ColumnChoice = GUESS, reading: Reading | None = None) -> Self:
        """Add documents (anything that `build` takes), replacing those of the same id, and open the result.

        index = index.add([{"id": "p4", "title": "Vaccines", "year": 2022}])
        """
        how = reading or Reading()
        how.tables.kept = read_tables(self.path)
        how.tables.fields = () if how.tables.kept else self.fields
        with IndexWriter(self.path) as writer:
            writer.add_all(documents_of(documents, columns, how))
        keep_tables(self.path, how.tables.read)
        return self.open(self.path)

    def delete(self, *docnos: str) -> Self:
        """Delete the documents of these ids, and open the result; raises for an unknown id and deletes nothing."""
        unknown = [docno for docno in docnos if docno not in self.documents]
        if unknown:
            raise ParameterError("delete", expected="ids of documents of the index", found=", ".join(map(str, unknown)))
        with IndexWriter(self.path) as writer:
            for docno in docnos:
                writer.delete(docno)
        return self.open(self.path)

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
        _check_k(k)
        self.check_fields(scoring.weights or ())
        asked = [queries] if isinstance(queries, (str, Mapping)) else list(queries)
        allowed = None if within is None else self.mask(within)
        return self._search(self, asked, k, scoring, allowed, prune=prune, threads=threads)

    def searcher(
        self, k: int = 10, scoring: Scoring = DEFAULT, *, within: npt.ArrayLike | Mask | None = None
    ) -> Searcher:
        """A search that is prepared once, for a loop of single queries: a function from a query to its hits.

        Its results are those of `search`. It loads the compiled kernels; for a few queries `search` is faster.

        >>> search = index.searcher(k=10)
        >>> hits = search("masks and droplets")
        """
        _check_k(k)
        self.check_fields(scoring.weights or ())
        allowed = None if within is None else self.mask(within)
        return Searcher(self, k, scoring, allowed, self._search)

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

    @property
    def spellings(self) -> Mapping[str, Callable[[str], Any]]:
        """How the source wrote the numbers and dates of metadata columns, so that filters may be written alike."""
        return {name: read for table in read_tables(self.path) for name, read in table.spellings().items()}

    def docnos(self, documents: Array) -> Strings:
        """The ids of documents by their numbers."""
        ids = self._ids
        return cast("Strings", TextColumn(ids.data, ids.starts, documents))

    @cached_property
    def _ids(self) -> TextColumn:
        """The ids of all documents."""
        columns = [segment.docnos.column() for segment in self._segments]
        return columns[0] if len(columns) == 1 else TextColumn.joined(columns)

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
        """Compare all files of this commit with their checksums; raise for the first damaged one."""
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


def _check_k(k: int) -> None:
    if k < 1:
        raise ParameterError("k", expected="a number of documents, at least 1", found=k)


def _reopen(path: Path, fingerprint: str) -> Index:
    """Open an unpickled index by its folder; raise where its documents have changed."""
    index = Index.open(path)
    if index.fingerprint() != fingerprint:
        raise RankwellError(
            f"{path}: expected the index that the stage was made with, found another commit: open it anew"
        )
    return index
