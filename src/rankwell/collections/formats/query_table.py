"""Queries in a CSV or TSV table with a header: `qid,query,question`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from rankwell.collections.columns import listed
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.lines import head
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.query import Query

IDS = ("qid", "query_id", "query-id", "topic", "number", "_id", "id")
JUDGMENTS = {"corpus-id", "corpus_id", "docno", "doc_id"}  # a table with one of these holds judgments


class QueryTable:
    """A column with the id, and every other column a wording."""

    name = "csv"
    suffixes = (".csv",)

    def recognises(self, path: Path, start: str) -> bool:
        """A header of several columns, one of which is named as ids of queries are."""
        names = header(start, _delimiter(start))
        return path.is_file() and _id_column(names) is not None and not JUDGMENTS & set(names)

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The queries."""
        start = head(path)
        names = header(start, _delimiter(start))
        column = _id_column(names)
        if column is None:
            raise FormatError(
                path, 1, expected=f"a column with the query id ({', '.join(IDS)})", found=Phrase(listed(names))
            )
        for number, row in table_rows(path, reading, _delimiter(start)):
            qid = row.pop(column)
            reading.place.line = number
            if qid.strip():
                yield Query(qid, {name: text for name, text in row.items() if text})
            else:
                reading.problems.add(FormatError(path, number, expected=f"an id in {column!r}", found=Phrase("none")))

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """A column a wording."""
        every = list(queries)
        names = list(dict.fromkeys(name for query in every for name in query.texts)) or ["query"]
        if taken := set(IDS) & {name.lower() for name in names}:
            raise RankwellError(f"{path}: a text named {taken.pop()!r} cannot be told from the query id in a table")
        rows = ([query.id, *(query.texts.get(name, "") for name in names)] for query in every)
        write_table(path, ["qid", *names], rows, ",")


def _delimiter(start: str) -> str:
    """Which of the usual separators makes the most columns of the first line."""
    return max("\t,;", key=lambda delimiter: len(header(start, delimiter)))


def _id_column(names: list[str]) -> str | None:
    return next((name for name in names if name.lower() in IDS), None) if len(names) > 1 else None
