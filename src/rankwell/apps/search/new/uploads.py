"""The uploads of one server: each is looked at, its columns may be given other uses, and it is indexed once."""

from __future__ import annotations

import re
import secrets
import shutil
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from rankwell.apps.search.new.reading import Job, Look, look_at, make_index
from rankwell.apps.web.uploads import save_upload
from rankwell.collections.columns import CONTENT
from rankwell.collections.dates import ORDERS
from rankwell.collections.table_reading import ColumnReading, TableReading
from rankwell.core import RankwellError
from rankwell.index import is_index

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST_WAITING = 8  # uploads that wait to be indexed; the oldest is dropped
MOST_AT_ONCE = 2  # files that are read at the same time
MOST_INDEXES = 100
PATIENCE = 10.0  # seconds for a process to end when the server stops
MOST_COLUMNS = 150  # whose use can be chosen
ENCODINGS = ("auto", "utf-8", "utf-16", "cp1252", "latin-1", "cp1250", "cp1251", "shift_jis", "gb18030")

ID, SEARCHED_ID, TITLE, TEXT, BOTH, FILTER, UNUSED = "id", "id-text", "title", "text", "both", "filter", "none"
USES = {
    TEXT: "searchable",
    BOTH: "searchable and a filter",
    TITLE: "title",
    FILTER: "filter",
    ID: "id",
    SEARCHED_ID: "id, and searchable",
    UNUSED: "not used",
}


class BusyError(RankwellError):
    """Other files are being read."""

    status = 503

    def __init__(self) -> None:
        super().__init__("Other files are being read at the moment. Try again in a minute.")


@dataclass
class Progress:
    """How far the indexing of an upload is."""

    index: str
    count: int = 0
    done: bool = False
    trouble: str = ""
    left_out: int = 0
    problems: Sequence[str] = ()


@dataclass
class Upload:
    """A file that somebody has uploaded, and how it is read."""

    id: str
    name: str
    path: Path
    folder: TemporaryDirectory[str]
    look: Look
    encoding: str = "auto"
    dates: str = ""
    index: str = ""  # the name of the index, as it was typed
    guess: list[str] = field(default_factory=list)  # the uses of the columns of the only table
    uses: list[str] = field(default_factory=list)  # the same, as they were chosen
    progress: Progress | None = None

    @property
    def table(self) -> TableReading | None:
        """The table whose columns may be given other uses; None where there is not exactly one."""
        return self.look.tables[0] if len(self.look.tables) == 1 else None


class Uploads:
    """The uploads that wait or are being indexed; the indexes lie below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._making: list[threading.Thread] = []

    def __getitem__(self, upload: str) -> Upload:
        with self._lock:
            return self._uploads[upload]

    def names(self) -> list[str]:
        """The names of the indexes."""
        if not self.folder.is_dir():
            return []
        return sorted(path.name for path in self.folder.iterdir() if NAME.fullmatch(path.name) and is_index(path))

    def receive(self, name: str, content: BinaryIO) -> Upload:
        """Keep a file and look at it; an error where it cannot be read."""
        folder = TemporaryDirectory(prefix="rankwell-upload-")
        try:
            path = save_upload(Path(folder.name), name, content)
            with self._place():
                look = look_at(path, Job(name))
        except BaseException:
            folder.cleanup()
            raise
        index = re.sub(r"[^A-Za-z0-9]+", "-", name.partition(".")[0]).strip("-")[:40] or "documents"
        upload = Upload(secrets.token_urlsafe(18), name, path, folder, look, index=index)
        upload.guess, upload.uses = uses_of(upload.table), uses_of(upload.table)
        with self._lock:
            waiting = [known for known in self._uploads.values() if known.progress is None or known.progress.done]
            for known in waiting[: max(0, len(waiting) - MOST_WAITING + 1)]:
                self._uploads.pop(known.id).folder.cleanup()
            self._uploads[upload.id] = upload
        return upload

    def look_again(self, upload: Upload) -> bool:
        """Look at the file with what was chosen; False where its columns are other ones now, with guessed uses."""
        before = _columns(upload.look)
        with self._place():
            upload.look = look_at(upload.path, Job(upload.name, encoding=upload.encoding, choice=_dates(upload)))
            upload.guess = uses_of(upload.table)
            if _columns(upload.look) != before:
                upload.uses = list(upload.guess)
                return False
            if upload.uses != upload.guess:
                job = Job(upload.name, encoding=upload.encoding, choice=choice_of(upload))
                upload.look = look_at(upload.path, job)
        return True

    def start(self, upload: Upload) -> None:
        """Begin to index an upload; an error where its name or its columns do not do."""
        name = upload.index
        if not NAME.fullmatch(name):
            raise RankwellError("Name of the index: expected letters, digits and . _ - (up to 64), without spaces.")
        choice = choice_of(upload)
        out = self.folder / name
        with self._lock:
            if upload.progress is not None and not upload.progress.trouble:
                return
            if len(self.names()) >= MOST_INDEXES:
                raise RankwellError(f"There are {MOST_INDEXES} indexes already: remove one of their folders first.")
            making = {known.progress.index for known in self._uploads.values() if known.progress}
            if out.exists() or name in making - {upload.progress.index if upload.progress else ""}:
                raise RankwellError(f"Name of the index: expected a new name, found {name}, which is taken.")
            if not self._places.acquire(blocking=False):
                raise BusyError
            upload.progress = Progress(name)
        job = Job(upload.name, str(out), upload.encoding, choice)
        self._making = [thread for thread in self._making if thread.is_alive()]
        self._making.append(threading.Thread(target=self._make, args=(upload, job, upload.progress), daemon=True))
        self._making[-1].start()

    def close(self) -> None:
        """End what is being read, and remove the uploaded files."""
        self._closed.set()
        for thread in self._making:
            thread.join(PATIENCE)
        with self._lock:
            for upload in self._uploads.values():
                upload.folder.cleanup()
            self._uploads.clear()

    def _make(self, upload: Upload, job: Job, progress: Progress) -> None:
        out = Path(job.out)
        try:
            lines = make_index(upload.path, job)
            for said in lines:
                progress.count = said["count"]
                progress.left_out, progress.problems = said.get("left_out", 0), said.get("problems", ())
                if self._closed.is_set():
                    lines.close()
            progress.done = is_index(out)
        except (RankwellError, OSError, ValueError, KeyError) as error:
            progress.trouble = str(error) if isinstance(error, RankwellError) else "The file could not be indexed."
        finally:
            if not progress.done:
                progress.trouble = progress.trouble or "It was interrupted."
                shutil.rmtree(out, ignore_errors=True)  # half an index, of this upload
            self._places.release()

    def _place(self) -> _Place:
        return _Place(self._places)


class _Place:
    """A place among the files that are read at the same time."""

    def __init__(self, places: threading.BoundedSemaphore) -> None:
        self._places = places

    def __enter__(self) -> None:
        if not self._places.acquire(timeout=5):
            raise BusyError

    def __exit__(self, *_: object) -> None:
        self._places.release()


def uses_of(table: TableReading | None) -> list[str]:
    """The uses that the columns of a table have."""
    return [] if table is None else [_use(column) for column in table.columns]


def _use(column: ColumnReading) -> str:
    if column.id:
        return SEARCHED_ID if column.field else ID
    if column.field == "title":
        return TITLE
    if column.field:
        return BOTH if column.metadata else TEXT
    return FILTER if column.metadata else UNUSED


def choose(upload: Upload, given: Mapping[str, str]) -> None:
    """Take over what a form says: the use of each column, dates, encoding, the name of the index."""
    if given.get("encoding") in ENCODINGS:
        upload.encoding = given["encoding"]
    upload.dates = given.get("dates", "") if given.get("dates") in ORDERS else ""
    upload.index = given.get("name", upload.index).strip()[:100]
    for number in range(min(len(upload.uses), MOST_COLUMNS)):
        use = given.get(f"use-{number}")
        if use in USES:
            upload.uses[number] = use


def choice_of(upload: Upload) -> dict[str, Any]:
    """The choice of columns, for `ColumnChoice`; an error where the uses make no documents."""
    table = upload.table
    if table is None or upload.uses == upload.guess:
        return _dates(upload)
    named = {use: [c.name for c, of in zip(table.columns, upload.uses, strict=True) if of == use] for use in USES}
    ids, titles = [*named[ID], *named[SEARCHED_ID]], named[TITLE]
    for what, columns in {"id": ids, "title": titles}.items():
        if len(columns) > 1:
            raise RankwellError(f"Columns: expected one {what}, found {len(columns)}: {', '.join(columns[:5])}.")
    searched = [c.name for c, of in zip(table.columns, upload.uses, strict=True) if of in (TEXT, BOTH, SEARCHED_ID)]
    fields = dict(zip(("title",), titles, strict=False))
    for name in searched:
        key = name.lower()
        while key in fields:
            key += "_"
        fields[key] = name
    if not fields:
        raise RankwellError("Columns: expected one that is searchable, found none.")
    kept = {*named[BOTH], *named[FILTER]}
    metadata = [column.name for column in table.columns if column.name in kept]
    return {**_dates(upload), "id": ids[0] if ids else CONTENT, "fields": fields, "metadata": metadata}


def _columns(look: Look) -> list[list[str]]:
    return [[column.name for column in table.columns] for table in look.tables]


def _dates(upload: Upload) -> dict[str, Any]:
    return {"dates": upload.dates} if upload.dates else {}
