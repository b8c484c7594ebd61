"""Keep an index in step with a source: add, replace and delete what has changed since the last time, by content.

Documents are compared with those in the index, so that what was changed by other commands is noticed. What came from
the source is kept in `sources.json` (`rankwell.index.sources`), written once before the commit with the documents that
are about to come, and once after it: whenever a sync is killed, the next one knows every document of the source.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rankwell import __version__
from rankwell.analysis import Analyzer, choose_analyzer
from rankwell.collections import ColumnChoice, Reading, open_collection
from rankwell.core import Document, FormatError, Phrase, RankwellError, fingerprint, shown
from rankwell.index.index import Index
from rankwell.index.manifest import is_index, with_metadata_names
from rankwell.index.source_tables import keep_tables, read_tables
from rankwell.index.sources import (
    Contents,
    FileMark,
    FileState,
    SourceState,
    document_fingerprint,
    read_sources,
    write_sources,
)
from rankwell.index.writer import IndexWriter

log = logging.getLogger(__name__)

WHOLE = ""  # the file of documents whose reader does not name one
MOST_HELD = 10_000  # documents of one file that wait until it is read to its end
GUESS = ColumnChoice()


@dataclass
class Changes:
    """What a sync did: numbers of documents, and the files that could not be read, whose documents stay."""

    added: int = 0
    replaced: int = 0
    deleted: int = 0
    unchanged: int = 0
    bad: list[RankwellError] = field(default_factory=list)

    @property
    def any(self) -> bool:
        """Whether anything was changed."""
        return bool(self.added or self.replaced or self.deleted)

    def __str__(self) -> str:
        counts = {"added": self.added, "replaced": self.replaced, "deleted": self.deleted, "unchanged": self.unchanged}
        return ", ".join(f"{count:,} {what}" for what, count in counts.items())


@dataclass(frozen=True)
class SyncOptions:
    """How the source is read, and what an index is made with that is not there yet.

    `go_on` leaves out a file that cannot be read, and its documents stay; else it is an error. `allow_empty` deletes
    all documents of a source that is empty or gone.
    """

    format: str | None = None
    columns: ColumnChoice = GUESS
    analyzer: Analyzer | None = None
    positions: bool | None = None
    go_on: bool = False
    allow_empty: bool = False


USUAL = SyncOptions()


def sync(
    source: Path | str, folder: Path | str, options: SyncOptions = USUAL, reading: Reading | None = None
) -> Changes:
    """Bring an index in step with a source: a file, a folder of files, or a named collection.

    Only documents that came from this source are deleted, and only while their content is what it gave.

    >>> print(sync("notes", "notes-index"))  # doctest: +SKIP
    3 added, 1 replaced, 2 deleted, 1,204 unchanged
    """
    folder, reading = Path(folder), reading or Reading()
    if is_index(folder):
        with IndexWriter(folder) as writer:  # from here on nobody else changes the index
            work = _Sync(source, folder, options, reading, Index.open(folder))
            return _write(work, writer, work.changed())
    work = _Sync(source, folder, options, reading, None)
    names, documents = with_metadata_names(work.changed())
    work.check_empty()
    analyzer = options.analyzer
    if analyzer is None:
        language, documents = choose_analyzer(documents)
        analyzer = language.analyzer
        if language.note:
            log.warning("language: %s", language.note)
    with IndexWriter(folder, analyzer, metadata=names, positions=options.positions) as writer:
        return _write(work, writer, documents)


def _write(work: _Sync, writer: IndexWriter, documents: Iterator[Document]) -> Changes:
    writer.add_all(work.reading.progress.track(documents))
    work.check_empty()
    for docno in work.gone():
        writer.delete(docno)
    if work.changes.any:
        work.announce()
    writer.commit()
    keep_tables(work.folder, work.reading.tables.read)
    work.remember(Index.open(work.folder))
    return work.changes


def check_row_number(document: Document, there: Document, reading: Reading) -> None:
    """Refuse a document whose id is made of its row's number, where that would replace another document."""
    numbered = [table for table in reading.tables.read if table.id and "{row}" in table.id]
    if numbered and there.fields != document.fields:
        where, named = numbered[0].where, "{file}" in (numbered[0].id or "")
        way_out = (
            "another file has the same name: choose another --id"
            if named
            else "each file has a first row, so add the file to the id: --id {file}-{row}"
        )
        raise RankwellError(f"{where}: expected ids that are new, found {document.id!r} of another document: {way_out}")


class _Sync:
    """One sync: what the source gave before, and what it gives now."""

    def __init__(
        self, source: Path | str, folder: Path, options: SyncOptions, reading: Reading, index: Index | None
    ) -> None:
        self.source, self.folder, self.options, self.index = source, folder, options, index
        there = Path(source)
        self.path = there if there.exists() or ":" not in str(source) else None  # None: a named collection
        self.name = str(source if self.path is None else self.path.resolve())
        self.reading = replace(reading, wanted=self._wanted)
        if index is not None:
            reading.tables.kept = read_tables(folder)
            reading.tables.fields = () if reading.tables.kept else index.fields
        how = [options.format, options.columns, reading.encoding, reading.problems.skip, __version__]
        self._how = fingerprint(how)
        self._sources = read_sources(folder)
        self._before = self._sources.get(self.name, SourceState())
        self._claimed = {docno for docno, _ in self._before.claims()}
        others = ((name, state) for name, state in self._sources.items() if name != self.name)
        self._of_others = {docno: name for name, state in others for docno, _ in state.claims()}
        # Where nobody has changed the index since, its documents need not be looked at.
        untouched = index is not None and index.fingerprint() == self._before.commit
        self._known = dict(self._before.claims()) if untouched else {}
        self._now: dict[str, FileState] = {}
        self._seen: Contents = {}
        self._fresh: Contents = {}
        self._file, self._problems = WHOLE, 0  # the file that is being read, and the bad records before it
        self._held: list[Document] = []
        self._held_file = WHOLE
        self.changes = Changes()

    def changed(self) -> Iterator[Document]:
        """The documents that are new or changed.

        Those of one file among many are held until it is read to its end: one that cannot be read then changes nothing.
        """
        if self.path is not None and self.path.is_file() and not self._wanted(self.path):
            return
        documents = self._read()
        while True:
            try:
                document = next(documents, None)
            except RankwellError as error:
                if self._is_nothing():
                    return
                if self._held_file != self._file:
                    yield from self._take()
                self._leave_out(error)
                documents = self._read()
                continue
            if document is None:
                self._end_file()
            if document is None or self._held_file != self._file:
                yield from self._take()
            if document is None:
                return
            self._held.append(document)
            self._held_file = self._file
            if not self._among_many or len(self._held) > MOST_HELD:
                yield from self._take()

    def gone(self) -> list[str]:
        """The documents that the source does not give any more, and that are in the index as it gave them."""
        gone = {
            docno
            for docno, content in self._before.claims()
            if docno not in self._seen and docno not in self._of_others and self._stored(docno) == content
        }
        self.changes.deleted = len(gone)
        return sorted(gone)

    def check_empty(self) -> None:
        """Refuse a source without documents: a disk that is not there looks like this, and all would be deleted."""
        if self._seen or (self.options.allow_empty and self._claimed) or (self.changes.bad and self.index is not None):
            return
        if self.changes.bad:
            raise self.changes.bad[0]
        count = self.reading.problems.count
        bad = f" ({count:,} bad records left out)" if count else ""
        found = "none" if self.path is None or self.path.exists() else "no such file or folder"
        raise RankwellError(f"{self.source}: expected documents, found {found}{bad}{self._way_out}")

    def announce(self) -> None:
        """Keep which documents are about to be written: after a kill they may be in the index or not."""
        pending = {docno: list(contents) for docno, contents in self._before.pending.items()}
        for docno, content in self._fresh.items():
            pending.setdefault(docno, []).append(content)
        self._keep(replace(self._before, commit="", pending=pending))

    def remember(self, index: Index) -> None:
        """Keep what the source has given, after the commit."""
        for name, state in self._sources.items():
            if name != self.name and not Path(name).exists():  # a source that was moved: its documents are ours now
                for file in state.files.values():
                    file.documents = {docno: c for docno, c in file.documents.items() if docno not in self._seen}
        self._keep(SourceState(self._how, index.fingerprint(), self._now))

    def _keep(self, state: SourceState) -> None:
        if state != self._sources.get(self.name):
            self._sources[self.name] = state
            write_sources(self.folder, self._sources)

    @property
    def _way_out(self) -> str:
        if not self._claimed:
            return ""
        count = f"{len(self._claimed):,} document{'s' * (len(self._claimed) != 1)}"
        return f"; nothing was changed: {count} came from here, and --allow-empty deletes them"

    @property
    def _among_many(self) -> bool:
        return self._file != WHOLE and self.path is not None and not self.path.is_file()

    def _read(self) -> Iterator[Document]:
        """Begin to read the source; files that are done are not wanted again."""
        yield from open_collection(self.source, self.options.format).documents(self.reading, self.options.columns)

    def _is_nothing(self) -> bool:
        """Whether nothing is left of a source that had documents."""
        if self.path is None or self._seen or not self._claimed:
            return False
        files = [self.path if self.path.is_file() else self.path / name for name in self._before.files]
        return not any(file.is_file() and file.stat().st_size for file in files)

    def _wanted(self, file: Path) -> bool:
        """Whether a file must be read: it is new, or its content or its documents in the index have changed."""
        self._end_file()
        name = file.name if self.path is None or self.path.is_file() else os.path.relpath(file, self.path)
        if name in self._now or self.folder.resolve() in file.resolve().parents:
            return False
        self._file, self._problems = name, self.reading.problems.count
        before = self._before.files.get(name, FileState())
        mark = FileMark.of(file, before.mark)
        same = before.mark is not None and before.mark.sha256 == mark.sha256 and self._before.options == self._how
        if same and all(self._stored(docno) == content for docno, content in before.documents.items()):
            self._stay(name, FileState(mark, before.documents))
            return False
        self._now[name] = FileState(mark)
        return True

    def _stay(self, name: str, state: FileState) -> None:
        """The documents of a file stay as they are."""
        self._now[name], self._file = state, name
        for docno, content in state.documents.items():
            if self._seen.setdefault(docno, content) != content:
                self._report_again(docno)
        self.changes.unchanged += len(state.documents)
        self._file = WHOLE

    def _end_file(self) -> None:
        """A file that gave nothing but bad records: its documents stay."""
        name, self._file = self._file, WHOLE
        bad = name != WHOLE and self.reading.problems.count > self._problems
        held = self._held if self._held_file == name else []
        if bad and not self._now[name].documents and not any(document.fields for document in held):
            if held:
                self._held, self._held_file = [], WHOLE
            self._stay(name, replace(self._before.files.get(name, FileState()), mark=None))

    def _leave_out(self, error: RankwellError) -> None:
        """Go on without the file that could not be read, where that is asked for and nothing of it was taken."""
        name = self._file
        taken = name in self._now and self._now[name].documents
        if not self.options.go_on or not self._among_many or taken:
            raise error
        self._held, self._held_file = [], WHOLE
        self.changes.bad.append(error)
        self._stay(name, replace(self._before.files.get(name, FileState()), mark=None))

    def _take(self) -> Iterator[Document]:
        """Those of the held documents that must be written."""
        if not self._held:
            return
        state = self._now.setdefault(self._held_file, FileState())
        held, self._held = self._held, []
        for document in held:
            content, docno = document_fingerprint(document), document.id
            if self._seen.get(docno, content) != content:
                self._report_again(docno)
                continue
            again = docno in self._seen
            self._seen[docno] = state.documents[docno] = content
            if not again and self._is_new(document, content):
                self._fresh[docno] = content
                yield document

    def _is_new(self, document: Document, content: str) -> bool:
        before = self._stored(document.id)
        if before == content:
            self.changes.unchanged += 1
            return False
        if before is None:
            self.changes.added += 1
            return True
        self._check_may_replace(document)
        self.changes.replaced += 1
        return True

    def _check_may_replace(self, document: Document) -> None:
        owner = self._of_others.get(document.id)
        if owner is not None and Path(owner).exists():
            raise RankwellError(
                f"{self.source}: expected ids of its own, found {shown(document.id)}, which is another document of "
                f"{owner}: choose other ids (--id), or another --out"
            )
        if document.id not in self._claimed and self.index is not None:
            check_row_number(document, self.index.documents[document.id], self.reading)

    def _stored(self, docno: str) -> str | None:
        """The fingerprint of the document in the index; None without one."""
        if docno in self._known:
            return self._known[docno]
        if self.index is None or docno not in self.index.documents:
            return None
        return document_fingerprint(self.index.documents[docno])

    def _report_again(self, docno: str) -> None:
        again = Phrase(f"{shown(docno)} again with another content")
        if self.options.go_on:
            problem = FormatError(self.source, None, expected="an id that was not there before", found=again)
            self.changes.bad.append(problem)
        else:
            self.reading.report(Path(self.source), None, "an id that was not there before", again)
