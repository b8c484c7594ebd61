"""The index as its users see it: one commit, open for reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Integers, Strings, strings
from rankwell.index.columns import Column, joined
from rankwell.index.documents import StoredDocuments
from rankwell.index.hits import Hits
from rankwell.index.layout import COMBINED, MOST_REMEMBERED, Array
from rankwell.index.manifest import Manifest, read_manifest
from rankwell.index.phrases import holding_phrase
from rankwell.index.plan import QueryTerms, TermStatistics
from rankwell.index.scoring import Scoring
from rankwell.index.search import Search
from rankwell.index.segment import Segment
from rankwell.index.settings import analyzer_of
from rankwell.index.snippets import Snippet, snippet_of
from rankwell.index.writer import IndexWriter

ATTEMPTS = 100
DEFAULT = Scoring()


class Index:
    """An index as it was at one commit; later commits do not change what an open index says.

    Documents have numbers from 0 to `size` (the deleted ones too), by which masks and columns go; they are valid for
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
        self._search = Search(self._segments, self._bases, self)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open the last commit."""
        folder = Path(path)
        for _ in range(ATTEMPTS):
            manifest = read_manifest(folder)
            try:
                return cls(folder, manifest, [Segment(folder, entry) for entry in manifest.segments])
            except RankwellError as error:
                # A commit between the two may have removed what it replaced.
                gone = isinstance(error.__cause__, FileNotFoundError)
                if not gone or read_manifest(folder).commit == manifest.commit:
                    raise
        raise RankwellError(f"{folder}: commits come faster than they can be read")

    def __len__(self) -> int:
        return sum(segment.entry.live for segment in self._segments)

    def __repr__(self) -> str:
        return f"Index({str(self.path)!r}, commit {self.commit}, {len(self)} documents)"

    def fingerprint(self) -> str:
        """A name for this content."""
        return self._manifest.fingerprint()

    @property
    def segments(self) -> list[tuple[Segment, int]]:
        """The parts that never change, each with the number of its first document: for those who read all of it."""
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
        within: npt.ArrayLike | None = None,
        prune: bool = True,
        threads: int = 1,
    ) -> Hits:
        """The k best documents of each query (or of a single one).

        A query is plain text, or terms with their weights (as `analyzer` gives them; RM3 makes such). `within`
        restricts the documents: a mask over all of them, or their numbers. `prune=False` looks at every posting;
        the result is the same.
        """
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        self.check_fields(scoring.weights or ())
        asked = [queries] if isinstance(queries, (str, Mapping)) else list(queries)
        allowed = None if within is None else self.mask(within)
        return self._search(asked, k, scoring, allowed, prune=prune, threads=threads)

    def check_fields(self, names: Iterable[str]) -> None:
        """Raise where a field is not in the index."""
        for name in names:
            if name not in self.fields:
                known = ", ".join(self.fields) or "none"
                raise ParameterError("field", expected=f"one of those in {self.path} ({known})", found=name)

    def statistics(self, term: str, field: str = COMBINED) -> TermStatistics:
        """In how many live documents a term is, and where its lists are."""
        found = self._statistics.get((term, field))
        if found is None:
            if len(self._statistics) >= MOST_REMEMBERED:
                self._statistics.clear()
            lists = tuple(segment.list_of(term, field) for segment in self._segments)
            pairs = zip(self._segments, lists, strict=True)
            documents = sum(segment.live_count(number) for segment, number in pairs if number is not None)
            found = self._statistics[term, field] = TermStatistics(lists, documents)
        return found

    @cached_property
    def average_lengths(self) -> Mapping[str, float]:
        """For each field (and for all together, "") the average length over the live documents that have it."""
        entries = [segment.entry for segment in self._segments]
        averages = {}
        for name in (COMBINED, *self.fields):
            holders = sum(entry.holders.get(name, 0) for entry in entries)
            tokens = sum(entry.tokens.get(name, 0) for entry in entries)
            averages[name] = tokens / holders if tokens else 1.0
        return averages

    def lengths(self, field: str = COMBINED) -> Array:
        """The length of each document, 0 where it does not have the field."""
        parts = [segment.lengths_of(field) for segment in self._segments]
        return np.concatenate([np.zeros(0, dtype=np.uint32), *parts])

    def postings(self, term: str, field: str = COMBINED) -> tuple[Integers, Integers]:
        """The live documents that hold a term, and how often each does."""
        documents, frequencies = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        places = zip(self._segments, self._bases, self.statistics(term, field).lists, strict=True)
        for segment, base, number in places:
            if number is not None:
                found, counts = segment.documents_of(number), segment.frequencies_of(number)
                alive = slice(None) if segment.dead is None else ~segment.dead[found]
                documents.append(found[alive] + base)
                frequencies.append(counts[alive].astype(np.int64))
        return np.concatenate(documents), np.concatenate(frequencies)

    def holding(self, term: str, field: str = COMBINED) -> npt.NDArray[np.bool_]:
        """A mask of the live documents that hold a term."""
        mask = np.zeros(self.size, dtype=bool)
        mask[self.postings(term, field)[0]] = True
        return mask

    def holding_phrase(self, text: str, field: str = COMBINED) -> npt.NDArray[np.bool_]:
        """A mask of the live documents that hold the words of a text one after the other, in that or in any field."""
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
        """A mask of the documents that are not deleted."""
        mask = np.ones(self.size, dtype=bool)
        for segment, base in zip(self._segments, self._bases, strict=True):
            if segment.dead is not None:
                mask[base : base + segment.documents] = ~segment.dead
        return mask

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The metadata columns, a value for each document."""
        return {name: joined(segment.column(name) for segment in self._segments) for name in self.metadata}

    def docnos(self, documents: Array) -> Strings:
        """The ids of documents by their numbers."""
        if len(self._segments) == 1:
            return self._segments[0].docnos.some(documents)
        found = strings([""] * len(documents))
        of = np.searchsorted(self._bases, documents, side="right") - 1
        for place, (segment, base) in enumerate(zip(self._segments, self._bases, strict=True)):
            if (of == place).any():
                found[of == place] = segment.docnos.some(documents[of == place] - base)
        return found

    def first_ids(self, among: npt.NDArray[np.bool_], count: int) -> Integers:
        """So many of these documents as come first among equal scores: by id, descending."""
        documents = np.flatnonzero(among)
        order = np.argsort(self.docnos(documents), kind="stable")[::-1]
        return documents[order[: max(0, count)]]

    def number(self, docno: str) -> int | None:
        """The number of a document, or None."""
        for segment, base in zip(self._segments, self._bases, strict=True):
            number = segment.find(docno)
            if number is not None:
                return int(base + number)
        return None

    def terms_of(self, docno: str, field: str = COMBINED) -> Counter[str]:
        """A document's terms with how often each comes, from its stored text: what query expansion needs."""
        texts = self.documents[docno].fields
        names = [field] if field else [name for name in self.fields if name in texts]
        return Counter(term for name in names for term in self.analyzer(texts.get(name, "")))

    def snippet(
        self, docno: str, query: str | QueryTerms, characters: int = 200, fields: Sequence[str] | None = None
    ) -> Snippet:
        """A passage of a document with the places of the query's terms in it; of these fields, or of all."""
        terms = set(self.analyzer(query) if isinstance(query, str) else query)
        texts = self.documents[docno].fields
        return snippet_of(
            [texts[name] for name in fields or self.fields if name in texts], terms, self.analyzer, characters
        )

    def info(self) -> dict[str, Any]:
        """What there is to say about the index."""
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

    def verify(self) -> None:
        """Check every byte of every file of this commit; raise for the first that is damaged."""
        for segment in self._segments:
            segment.verify()

    def merge(self) -> Index:
        """Make one segment of all, without the deleted documents, and open the result."""
        with IndexWriter(self.path) as writer:
            writer.merge()
        return Index.open(self.path)

    def mask(self, within: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Documents by mask or by number as a mask; raises where they are not of this index."""
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
