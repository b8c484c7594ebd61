"""Write an index: add and delete documents, and commit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.core import Document, ParameterError, Phrase, RankwellError, check_id, sync_folder
from rankwell.index.blocks import BlockWriter
from rankwell.index.buffer import Buffer, Vocabulary
from rankwell.index.manifest import (
    LOCK,
    NAME,
    SegmentEntry,
    WriterLock,
    analyzer_of,
    read_manifest,
    settled,
    write_manifest,
)
from rankwell.index.merging import MergeJob, to_merge
from rankwell.index.segment import DEAD, Segment
from rankwell.index.segment_writer import SegmentWriter, contents_of, field_statistics
from rankwell.index.sources import NAME as SOURCES

OURS = re.compile(r"\d{8}\.(segment|dead)|\.(manifest|sources\.json)\.[0-9a-f]+\.part")
# A segment is written at this many postings; until then they take about 20 bytes each.
MEMORY_POSTINGS = 24_000_000
LARGEST_JOINED = 5_000_000  # documents
# Ids are looked up one by one while they are fewer than one in this many of a segment's; else all are scanned.
FEW = 100
MOST_FIELDS = 1000  # each has posting lists of its own: a document with 6,000 fields made a segment of 141 MB
LARGEST_DOCUMENT = 100_000_000  # characters in all fields


class IndexWriter:
    """The only writer of an index: add, delete, commit. Readers see nothing before a commit.

    The block's end commits; an exception in it leaves the last commit unchanged. `fields` are the fields to index
    (None: all), `metadata` those to keep as columns for filters; all fields and metadata are stored. The
    settings of an index are fixed when it is created, later writers may omit them.

    >>> with IndexWriter("written", metadata=["year"]) as writer:
    ...     writer.add_all(read_documents("papers.csv"))
    """

    def __init__(
        self,
        path: Path | str,
        analyzer: Analyzer | None = None,
        *,
        fields: Sequence[str] | None = None,
        metadata: Sequence[str] | None = None,
        positions: bool | None = None,
    ) -> None:
        self.path = Path(path)
        if len(fields or ()) > MOST_FIELDS:
            raise ParameterError("fields", expected=f"at most {MOST_FIELDS:,}", found=len(fields or ()))
        _check_folder(self.path)
        self._lock = WriterLock(self.path)
        self._job: MergeJob | None = None
        try:
            there = read_manifest(self.path) if (self.path / NAME).exists() else None
            self._manifest = settled(self.path, there, analyzer, fields, metadata, positions=positions)
            self._committed = there is not None
            self._remove_leftovers()
            self._segments = {entry.name: Segment(self.path, entry) for entry in self._manifest.segments}
            self._fields = set(self._manifest.known_fields)
        except BaseException:
            self._lock.release()
            raise
        self._next = self._manifest.next
        self._changed: set[str] = set()  # segments with documents deleted since the last commit
        self._deleted: set[str] = set()
        self._vocabulary = Vocabulary(analyzer_of(self.path, self._manifest))
        self._file: SegmentWriter | None = None
        self._buffer = self._new_buffer()
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._open:
                self.commit()
        finally:
            self.close()

    def add(self, document: Document) -> None:
        """Add a document, replacing one of the same id."""
        try:
            check_id(document.id)
        except AttributeError as error:
            found = Phrase(f"{type(document).__name__}: Document(id, {{'title': text}}), or Index.build for dicts")
            raise ParameterError("add", expected="a Document", found=found) from error
        self._check(document)
        if self._file is None or self._buffer.postings >= MEMORY_POSTINGS:
            with self._giving_up():
                if self._file is not None:
                    self._spill()
                self._file = SegmentWriter(self.path, self._name("segment"))
        try:  # without `_giving_up`, which would cost a tenth of the rest
            self._file.store.add(document)
            self._buffer.add(document)
        except BaseException as error:
            with self._giving_up():
                raise error  # noqa: TRY201 -- it is raised again where giving up is described

    def _check(self, document: Document) -> None:
        """Refuse a document that is too large, or has too many fields that are new."""
        size = sum(map(len, document.fields.values()))
        if size > LARGEST_DOCUMENT:
            expected = f"at most {LARGEST_DOCUMENT:,} characters (split it into parts)"
            raise ParameterError(f"document {document.id!r}", expected=expected, found=Phrase(f"{size:,}"))
        if self._manifest.fields is not None or self._fields.issuperset(document.fields):
            return
        together = self._fields.union(name for name, text in document.fields.items() if text)
        if len(together) > MOST_FIELDS:
            expected = f"an index with at most {MOST_FIELDS:,} fields (put other values into metadata)"
            raise ParameterError(f"document {document.id!r}", expected=expected, found=Phrase(f"{len(together):,}"))
        self._fields = together

    def add_all(self, documents: Iterable[Document]) -> None:
        """Add documents, each replacing one of the same id."""
        for document in documents:
            self.add(document)

    def delete(self, docno: str) -> None:
        """Delete the document of that id, if there is one."""
        self._buffer.places.pop(docno, None)
        self._deleted.add(docno)

    def __contains__(self, docno: object) -> bool:
        """Whether there is a document of that id, including uncommitted ones."""
        if not isinstance(docno, str) or docno in self._buffer.places:
            return isinstance(docno, str)
        return docno not in self._deleted and any(
            segment.find(docno) is not None for segment in self._segments.values()
        )

    def commit(self, *, largest_merge: int | None = None) -> int:
        """Make all changes durable and visible to new readers. Returns the number of the commit.

        Segments of about the same size are merged first, unless the result would have more than `largest_merge`
        documents: such a merge can run in another thread (`begin_merge`).
        """
        with self._giving_up():
            before = self._manifest
            self._spill()
            if self._committed and not self._changed and set(self._segments) == {s.name for s in before.segments}:
                return before.commit
            self._join_spilled()
            for group in self._mergeable():
                live = sum(self._segments[name].entry.live for name in group)
                if largest_merge is None or live <= largest_merge:
                    self._merge(group)
            self._publish()
        return self._manifest.commit

    def begin_merge(self) -> MergeJob | None:
        """The next due merge after a commit, to be run in another thread and then passed to `end_merge`.

        The writer can be used in the meantime; one job at a time.
        """
        with self._giving_up():
            committed = {entry.name: entry for entry in self._manifest.segments}
            for group in self._mergeable() if self._job is None else ():
                if committed.keys() >= set(group):
                    sources = [Segment(self.path, committed[name]) for name in group]  # deletions do not change these
                    self._job = self._new_job(sources)
                    return self._job
        return None

    def end_merge(self, job: MergeJob) -> int:
        """Commit with the job's result in place of its segments; a failed job, without an entry, is dropped."""
        with self._giving_up():
            if job is not self._job:
                raise RankwellError(f"{self.path}: expected the merge that was begun last, found another one")
            self._job = None
            if job.entry is not None:
                self._spill()
                made = Segment(self.path, job.entry)
                died = job.died_since(self._segments)
                self._segments = {name: kept for name, kept in self._segments.items() if name not in job.sources}
                self._segments[job.name] = made
                self._shadow(died, [job.name])
                self._publish()
        return self._manifest.commit

    def merge(self) -> int:
        """Merge all segments into one, without the deleted documents, and commit."""
        with self._giving_up():
            self._spill()
            entries = [segment.entry for segment in self._segments.values()]
            if len(entries) > 1 or any(entry.live < entry.documents for entry in entries):
                self._merge([entry.name for entry in entries])
            self._publish()
        return self._manifest.commit

    def close(self) -> None:
        """Discard uncommitted changes, and release the lock."""
        if not self._open:
            return
        self._open = False
        self._job = None
        if self._file is not None:
            self._file.abandon()
            self._file = None
        with contextlib.suppress(OSError, RankwellError):
            self._remove_leftovers()
        self._lock.release()

    def _publish(self) -> None:
        """Commit: write deletion marks, sync the folder, replace the manifest; then remove unneeded files."""
        for name in sorted(self._changed & set(self._segments)):
            self._write_dead(self._segments[name])
        self._segments = {name: segment for name, segment in self._segments.items() if segment.entry.live}
        entries = tuple(segment.entry for segment in self._segments.values())
        manifest = replace(self._manifest, commit=self._manifest.commit + 1, next=self._next, segments=entries)
        sync_folder(self.path)
        write_manifest(self.path, manifest)
        self._manifest, self._committed = manifest, True
        self._changed.clear()
        self._remove_leftovers()

    def _spill(self) -> None:
        """Write the buffer as a segment, and mark replaced documents in the older ones."""
        self._buffer.fold()
        self._shadow(self._buffer.places.keys() | self._deleted)
        self._deleted.clear()
        if self._file is not None:
            if self._buffer.places:
                contents = contents_of(self._buffer, self._vocabulary, positions=self._manifest.positions)
                entry = self._file.finish(contents)
                self._segments[entry.name] = Segment(self.path, entry)
            else:
                self._file.abandon()
            self._file = None
        self._buffer = self._new_buffer()

    def _join_spilled(self) -> None:
        """Join the segments of a commit into one, however often memory was full, unless it would be very large."""
        before = {entry.name for entry in self._manifest.segments}
        names = [name for name in self._segments if name not in before]
        if len(names) > 1 and sum(self._segments[name].documents for name in names) <= LARGEST_JOINED:
            self._merge(names)

    def _mergeable(self) -> list[list[str]]:
        """Groups of segments to merge, without those that a job is merging."""
        busy = () if self._job is None else self._job.sources
        return list(to_merge(part.entry for name, part in self._segments.items() if name not in busy))

    def _shadow(self, docnos: Collection[str], names: Collection[str] | None = None) -> None:
        """Mark these documents as dead in all segments so far, or in those named."""
        for name in names or list(self._segments):
            segment = self._segments[name]
            if len(docnos) * FEW < segment.documents:
                looked_up = [segment.docnos.find(docno, descending=True) for docno in docnos]
                numbers = [number for number in looked_up if number is not None]
            else:
                numbers = [number for number, docno in enumerate(segment.docnos.all()) if docno in docnos]
            alive = segment.alive()
            fresh = [number for number in numbers if alive[number]]
            if fresh:
                alive[fresh] = False
                segment.dead = ~alive
                segment.entry = _counted(segment)
                self._changed.add(name)

    def _merge(self, names: Collection[str]) -> None:
        job = self._new_job([self._segments.pop(name) for name in names])
        job.run()
        if job.entry is not None and job.entry.live:
            self._segments[job.name] = Segment(self.path, job.entry)

    def _new_job(self, sources: Sequence[Segment]) -> MergeJob:
        file, manifest = SegmentWriter(self.path, self._name("segment")), self._manifest
        return MergeJob(sources, file, manifest.metadata, positions=manifest.positions)

    def _write_dead(self, segment: Segment) -> None:
        """Write the deletion marks of a segment to a file of this commit."""
        if segment.dead is None or not segment.entry.live:
            return
        name = self._name(DEAD)
        with BlockWriter(self.path / name, DEAD) as file:
            file.add(DEAD, np.packbits(segment.dead))
            size, checksum = file.finish({})
        segment.entry = replace(segment.entry, dead=name, dead_size=size, dead_checksum=checksum)

    def _new_buffer(self) -> Buffer:
        manifest = self._manifest
        return Buffer(self._vocabulary, manifest.fields, manifest.metadata, positions=manifest.positions)

    def _name(self, kind: str) -> str:
        self._next += 1
        return f"{self._next - 1:08d}.{kind}"

    def _remove_leftovers(self) -> None:
        """Remove files of no commit, from a writer that died or gave up, or from before a merge; not those of readers.

        The manifest on the disk decides, not the one in memory: an interruption may have come between the two.
        """
        kept = read_manifest(self.path).files if (self.path / NAME).exists() else set()
        if self._job is not None:
            kept.add(self._job.name)
        for file in self.path.iterdir():
            if OURS.fullmatch(file.name) and file.name not in kept:
                with contextlib.suppress(OSError):  # where a mapped file cannot be removed, the next writer tries again
                    file.unlink()

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        """Close a writer that could not write: its changes are lost, the last commit is unchanged."""
        if not self._open:
            raise RankwellError(f"{self.path}: this writer is closed")
        try:
            yield
        except OSError as error:
            self.close()
            raise RankwellError(f"{self.path}: not written: {error.strerror}; the last commit is intact") from error
        except BaseException:
            self.close()
            raise


def _counted(segment: Segment) -> SegmentEntry:
    """The segment's entry with the statistics of its live documents."""
    alive = segment.alive()
    holders, tokens = field_statistics(segment.spaces, segment.lengths[:, alive])
    return replace(segment.entry, live=int(alive.sum()), holders=holders, tokens=tokens)


def _check_folder(path: Path) -> None:
    """Refuse a folder with other content."""
    try:
        if path.exists() and not path.is_dir():
            raise RankwellError(f"{path}: expected a folder for an index, found a file")
        if not path.is_dir() or (path / NAME).exists():
            return
        ours = (LOCK, SOURCES)  # a first sync that was killed leaves these
        strangers = [file.name for file in path.iterdir() if file.name not in ours and not OURS.fullmatch(file.name)]
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    if strangers:
        raise RankwellError(f"{path}: expected an index or an empty folder, found {strangers[0]!r} in it")
