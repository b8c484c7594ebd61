"""The process that reads an uploaded file: shows how it would be read, or makes an index of it.

It prints lines of JSON, and has limits (`rankwell.core.limited`): the server goes on whatever is in the file.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections import ColumnChoice, Problems, Reading, open_collection, preview, unique
from rankwell.collections.table_reading import TableReading, cut
from rankwell.core import RankwellError
from rankwell.core.limited import Limits, answer, lines_of
from rankwell.index import Index, IndexWriter, keep_tables, with_metadata_names

MEGABYTE = 1 << 20
TO_LOOK = Limits(seconds=60)
TO_INDEX = Limits(memory=2048 * MEGABYTE, seconds=1800, file=4096 * MEGABYTE)
OFTEN = 500  # documents between two reports
LONGEST = 300  # characters of a text that is shown
MOST_SHOWN = 10  # bad records


@dataclass(frozen=True)
class Job:
    """What to do with a file: show it, or index it into the folder `out`. `name` is what people call the file."""

    name: str
    out: str = ""
    encoding: str = "auto"
    choice: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> ColumnChoice:
        """The chosen columns."""
        metadata = self.choice.get("metadata")
        return ColumnChoice(**{**self.choice, "metadata": None if metadata is None else tuple(metadata)})


@dataclass(frozen=True)
class Look:
    """How a file would be read: its tables, its first document, and the first bad records."""

    format: str
    tables: tuple[TableReading, ...]
    document: dict[str, Any]
    problems: tuple[str, ...]


def look_at(path: Path, job: Job) -> Look:
    """How a file would be read, found out by another process."""
    values = orjson.loads(b"".join(_lines_for(path, job, TO_LOOK)))
    tables = tuple(map(TableReading.from_json, values["tables"]))
    return Look(values["format"], tables, values["document"], tuple(values["problems"]))


def make_index(path: Path, job: Job) -> Generator[dict[str, Any]]:
    """Index a file in another process; gives the number of documents so far, and at the end what was made.

    `close` ends the process.
    """
    with closing(_lines_for(path, job, TO_INDEX)) as lines:
        yield from map(orjson.loads, lines)


def _lines_for(path: Path, job: Job, limits: Limits) -> Generator[bytes]:
    """The lines of the process, with names in errors instead of paths of this machine."""
    try:
        yield from lines_of(__name__, path, orjson.dumps(job).decode(), limits=limits)
    except RankwellError as error:
        told = _named(str(error), path, job)
        raise RankwellError(told.replace(job.out, Path(job.out).name) if job.out else told) from error


def _named(text: str, path: Path, job: Job) -> str:
    return text.replace(str(path), job.name)


def _look(path: Path, job: Job) -> Iterator[bytes]:
    seen = preview(path, columns=job.columns, encoding=job.encoding)
    first = seen.documents[0] if seen.documents else None
    document: dict[str, Any] = {}
    if first is not None:
        document = {
            "id": cut(first.id, LONGEST),
            "fields": {name: cut(text, LONGEST) for name, text in first.fields.items()},
            "metadata": {name: cut(str(value), LONGEST) for name, value in first.metadata.items()},
        }
    tables = [replace(table, where=_named(table.where, path, job)).for_json() for table in seen.tables]
    problems = [_named(problem, path, job) for problem in seen.problems[:MOST_SHOWN]]
    yield orjson.dumps({"format": seen.format, "tables": tables, "document": document, "problems": problems})


def _index(path: Path, job: Job) -> Iterator[bytes]:
    how = Reading(job.encoding, Problems(skip=True))
    documents = unique(open_collection(path).documents(how, job.columns), how, path)
    names, documents = with_metadata_names(documents)
    out, count = Path(job.out), 0
    with IndexWriter(out, metadata=names) as writer:
        for count, document in enumerate(documents, 1):
            writer.add(document)
            if count % OFTEN == 0:
                yield _line({"count": count})
        if not count:
            raise RankwellError(f"{path}: expected documents, found none ({how.problems.count:,} bad records)")
    keep_tables(out, [replace(table, where=_named(table.where, path, job)) for table in how.tables.read])
    problems = [_named(str(problem), path, job) for problem in how.problems.found[:MOST_SHOWN]]
    yield _line({"count": len(Index.open(out)), "left_out": how.problems.count, "problems": problems})


def _line(values: dict[str, Any]) -> bytes:
    return orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE)


def _flushed(lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        sys.stdout.buffer.flush()


def main(path: Path, given: str) -> int:
    """Do the job that is given as JSON."""
    job = Job(**orjson.loads(given))
    work, limits = (_index, TO_INDEX) if job.out else (_look, TO_LOOK)
    return answer(path, lambda unpacked: _flushed(work(unpacked, job)), limits)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
