"""Thumbs up and down: judgments that people give while they search, stored as one line of JSON each.

A line is written and synced before the request is answered. The file is append-only: of several
grades for the same query and document the last one counts, and a grade of null removes the judgment.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from rankwell.core import FormatError, Judgments, ParameterError, Queries, RankwellError, sync_folder

LOWEST, HIGHEST = -10, 100
LONGEST = 10_000  # most characters of a query or an id
ID_DIGITS = 12


class JudgmentsFile:
    """The judgments of one file, which is created if needed.

    judgments = JudgmentsFile("thumbs.jsonl")
    judgments.add("fever in children", "d17", 1)
    judgments.add("fever in children", "d17", None)     # removed
    judgments.qrels(), judgments.queries()

    Wordings that differ in case, blanks or Unicode form are one query. One process at a time adds to a file.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = Lock()
        self._grades: dict[tuple[str, str], int] = {}  # by query id and document id
        self._wordings: dict[str, str] = {}  # by query id, in the first wording
        self._descriptor = self._open()
        try:
            self._size = self._read()
        except BaseException:
            self.close()
            raise

    def add(self, query: str, docno: str, grade: int | None, *, who: str | None = None) -> str:
        """Store a grade, or remove it (None); return the query's id. When this returns, it is on the disk."""
        _check(query, docno, grade)
        qid = query_id(query)
        time = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"time": time, "qid": qid, "query": query, "docno": docno, "grade": grade}
        line = orjson.dumps(record if who is None else {**record, "who": who}) + b"\n"
        with self._lock, self._all_or_nothing():
            _write_all(self._descriptor, line)
            os.fsync(self._descriptor)
            self._size += len(line)
            self._apply(qid, query, docno, grade)
        return qid

    def grade(self, query: str, docno: str) -> int | None:
        """The current grade, or None."""
        return self._grades.get((query_id(query), docno))

    def grades(self, query: str) -> dict[str, int]:
        """The current grades of a query's documents."""
        qid = query_id(query)
        with self._lock:
            return {docno: grade for (other, docno), grade in self._grades.items() if other == qid}

    def __len__(self) -> int:
        return len(self._grades)

    def qrels(self) -> Judgments:
        """The current grades by query id and document id."""
        with self._lock:
            rows = sorted((qid, docno, grade) for (qid, docno), grade in self._grades.items())
        return Judgments(rows)

    def queries(self) -> Queries:
        """The queries with a judgment, in their first wording."""
        with self._lock:
            judged = {qid for qid, _ in self._grades}
            return Queries.of({qid: text for qid, text in sorted(self._wordings.items()) if qid in judged})

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise RankwellError(f"{self.path}: cannot keep judgments here: {error.strerror}") from error
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

    def _apply(self, qid: str, query: str, docno: str, grade: int | None) -> None:
        self._wordings.setdefault(qid, " ".join(query.split()))
        if grade is None:
            self._grades.pop((qid, docno), None)
        else:
            self._grades[qid, docno] = grade

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
            raise RankwellError(f"{self.path}: not kept: {error.strerror}") from error


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


def _parsed(line: bytes, path: Path, number: int) -> tuple[str, str, str, int | None]:
    try:
        record: dict[str, Any] = orjson.loads(line)
        _check(record["query"], record["docno"], record["grade"])
    except (ValueError, KeyError, TypeError) as error:
        expected = 'a judgment: {"query": ..., "docno": ..., "grade": ...}'
        raise FormatError(path, number, expected=expected, found=line) from error
    return query_id(record["query"]), record["query"], record["docno"], record["grade"]


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _lock_file(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
