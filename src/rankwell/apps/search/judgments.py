"""Thumbs up and down: judgments that people give while they search, stored as one line of JSON each.

A line is written and synced before the request is answered. The file is append-only. Grades of several people are
kept side by side: of several grades of one person for the same query and document the last one counts, and a grade
of null removes that person's judgment. Lines of older versions may name nobody; they are one person's, "".
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from rankwell.collections import write_qrels, write_queries
from rankwell.core import (
    FormatError,
    Judgments,
    ParameterError,
    Queries,
    RankwellError,
    check_id,
    make_folder,
    sync_folder,
)
from rankwell.core.errors import NotSavedError
from rankwell.judging.grades import Grades, write_grades
from rankwell.judging.labels import ceiled_median

LOWEST, HIGHEST = -10, 100
FILES = {"qrels": "judgments.qrels", "queries": "judgments.queries.csv", "grades": "judgments.grades.tsv"}
LONGEST = 10_000  # most characters of a query or an id
ID_DIGITS = 12
NOBODY, UNKNOWN = "", "unknown"  # who judged, in lines of older versions: in memory, and among other people


class JudgmentsFile:
    """The judgments of one file, which is created if needed.

    judgments = JudgmentsFile("thumbs.jsonl")
    judgments.add("fever in children", "d17", 1, who="ann")
    judgments.add("fever in children", "d17", None, who="ann")     # removed
    judgments.qrels(), judgments.queries(), judgments.by_person()

    Wordings that differ in case, blanks or Unicode form are one query. One process at a time adds to a file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self._grades: dict[str, dict[tuple[str, str], int]] = {}  # by query id; by document id and person
        self._wordings: dict[str, str] = {}  # by query id, in the first wording
        self._descriptor = self._open()
        try:
            self._size = self._read()
        except BaseException:
            self.close()
            raise

    def add(self, query: str, docno: str, grade: int | None, *, who: str = NOBODY) -> str:
        """Store a person's grade, or remove it (None); return the query's id. It is on the disk then."""
        _check(query, docno, grade)
        check_id(docno)
        qid = query_id(query)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"time": time, "qid": qid, "query": query, "docno": docno, "grade": grade}
        line = orjson.dumps({**record, "who": who} if who else record) + b"\n"
        with self._lock, self._all_or_nothing():
            _write_all(self._descriptor, line)
            os.fsync(self._descriptor)
            self._size += len(line)
            self._apply(qid, query, docno, grade, who)
        return qid

    def grade(self, query: str, docno: str, *, who: str = NOBODY) -> int | None:
        """The current grade that a person gave, or None."""
        return self._grades.get(query_id(query), {}).get((docno, who))

    def grades(self, query: str, *, who: str = NOBODY) -> dict[str, int]:
        """The current grades that a person gave to a query's documents."""
        with self._lock:
            given = self._grades.get(query_id(query), {})
            return {docno: grade for (docno, other), grade in given.items() if other == who}

    def __len__(self) -> int:
        return sum(map(len, self._grades.values()))

    def by_person(self) -> Grades:
        """All current grades, side by side, as `rankwell assess agreement` takes them; nobody's name is `UNKNOWN`."""
        with self._lock:
            rows = sorted(
                (qid, docno, who or UNKNOWN, grade)
                for qid, given in self._grades.items()
                for (docno, who), grade in given.items()
            )
        return Grades.of(rows)

    def qrels(self) -> Judgments:
        """One grade by query id and document id: of several people's the ceiled median, as in an assessment."""
        given: dict[tuple[str, str], list[int]] = {}
        for row in self.by_person().rows():
            if row.grade is not None:
                given.setdefault((row.qid, row.docno), []).append(row.grade)
        return Judgments((qid, docno, ceiled_median(grades)) for (qid, docno), grades in given.items())

    def queries(self) -> Queries:
        """The queries with a judgment, in their first wording."""
        with self._lock:
            return Queries.of({qid: text for qid, text in sorted(self._wordings.items()) if self._grades.get(qid)})

    def content(self, kind: str) -> bytes:
        """The content of a file for `rankwell evaluate` and `assess agreement`; `kind` is in `FILES`."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / FILES[kind]
            if kind == "qrels":
                write_qrels(path, self.qrels(), "trec")
            elif kind == "queries":
                write_queries(path, self.queries(), "csv")
            else:
                write_grades(path, self.by_person())
            return path.read_bytes()

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _open(self) -> int:
        try:
            make_folder(self.path.parent)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            way_out = "name another file with --judgments, or serve without them: --no-judgments"
            raise RankwellError(f"{self.path}: cannot keep judgments here: {error.strerror}: {way_out}") from error
        try:
            _lock_file(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise RankwellError(f"{self.path}: another server adds judgments to this file") from error
        return descriptor

    def _read(self) -> int:
        """Read the file. An unfinished last line (after a crash) is removed: it was never acknowledged."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            if line.strip():
                self._apply(*_parsed(line, self.path, number))
        if whole < len(content):
            os.ftruncate(self._descriptor, whole)
        os.fsync(self._descriptor)
        sync_folder(self.path.parent)
        return whole

    def _apply(self, qid: str, query: str, docno: str, grade: int | None, who: str) -> None:
        self._wordings.setdefault(qid, " ".join(query.split()))
        given = self._grades.setdefault(qid, {})
        if grade is None:
            given.pop((docno, who), None)
        else:
            given[docno, who] = grade

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Remove a partly written line after an error, so that the next line does not follow half a line."""
        if self._descriptor < 0:
            raise RankwellError(f"{self.path}: closed")
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            way_out = "make room there, then judge again; what was kept before is safe"
            raise NotSavedError(f"{self.path}: not kept: {error.strerror}: {way_out}") from error


def judgments_beside(folder: Path) -> Path:
    """The file in which `serve` keeps the thumbs of an index, unless it is told another."""
    whole = folder.resolve()
    return whole.with_name(f"{whole.name}.judgments.jsonl")


def query_id(query: str) -> str:
    """A query's id, made from its text alone: the same on every machine, whatever the case and the white space."""
    folded = " ".join(unicodedata.normalize("NFKC", query).casefold().split())
    return "q" + hashlib.sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:ID_DIGITS]


def _check(query: object, docno: object, grade: object) -> None:
    for name, text in (("query", query), ("id", docno)):
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
            raise ParameterError(name, expected=f"a text of 1 to {LONGEST:,} characters", found=text)
        if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):  # noqa: PLR2004 -- surrogates
            raise ParameterError(name, expected="a text of whole characters", found=text)
    whole = isinstance(grade, int) and not isinstance(grade, bool) and LOWEST <= grade <= HIGHEST
    if grade is not None and not whole:
        expected = f"a whole number from {LOWEST} to {HIGHEST}, or null to take it back"
        raise ParameterError("grade", expected=expected, found=grade)


def _parsed(line: bytes, path: Path, number: int) -> tuple[str, str, str, int | None, str]:
    try:
        record: dict[str, Any] = orjson.loads(line)
        _check(record["query"], record["docno"], record["grade"])
        who = str(record.get("who") or NOBODY)
    except (ValueError, KeyError, TypeError) as error:
        expected = 'a judgment: {"query": ..., "docno": ..., "grade": ...}'
        raise FormatError(path, number, expected=expected, found=line) from error
    return query_id(record["query"]), record["query"], record["docno"], record["grade"], who


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _lock_file(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
