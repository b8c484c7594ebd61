"""MS MARCO's tables: tab-separated, without header and without quotes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.lines import first_lines, text_lines
from rankwell.collections.output import output
from rankwell.collections.reading import Reading
from rankwell.core.document import NOTHING, Document
from rankwell.core.errors import FormatError, RankwellError
from rankwell.core.query import Query

log = logging.getLogger(__name__)

TOP1000 = ("qid", "pid", "query", "passage")
BREAKS = str.maketrans("\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " " * 11)


@dataclass(frozen=True)
class MsMarcoDocuments:
    """A table of documents whose columns are the id and these fields; `url` is metadata."""

    name: str
    columns: tuple[str, ...]
    suffixes: tuple[str, ...] = (".tsv",)

    def recognises(self, path: Path, start: str) -> bool:
        """As many columns as there should be in the first lines, and an id without spaces in the first."""
        return path.is_file() and table_starts(start, len(self.columns), ids=1)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """The documents."""
        for _, cells in cells_of(path, reading, self.columns):
            values = {name: cell for name, cell in zip(self.columns[1:], cells[1:], strict=True) if cell}
            url = values.pop("url", None)
            yield Document(cells[0], values, {"url": url} if url else NOTHING)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """The documents; fields that the table has no column for are joined to the last column."""
        lost = set[str]()

        def cells(document: Document) -> list[str]:
            lost.update(document.metadata.keys() - set(self.columns), document.fields.keys() - set(self.columns))
            return self._cells(document)

        write_cells(path, map(cells, documents))
        if lost:
            log.warning("%s: %s has no column for %s", path, self.name, ", ".join(sorted(lost)))

    def _cells(self, document: Document) -> list[str]:
        others = [name for name in document.fields if name not in self.columns[:-1]]
        middle = [document.fields.get(name) or str(document.metadata.get(name, "")) for name in self.columns[1:-1]]
        return [document.id, *middle, document.text(*others) if others else ""]


class MsMarcoQueries:
    """`qid<TAB>text` a line."""

    name = "tsv"
    suffixes = (".tsv", ".txt")

    def recognises(self, path: Path, start: str) -> bool:
        """Two columns in the first lines."""
        return path.is_file() and table_starts(start, len(("qid", "text")), ids=1)

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The queries."""
        for _, (qid, text) in cells_of(path, reading, ("qid", "text")):
            yield Query(qid, {"text": text} if text else {})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """The default wording of every query."""
        write_cells(path, ([query.id, query.text()] for query in queries))


PASSAGES = MsMarcoDocuments("msmarco-passage", ("pid", "text"))
DOCUMENTS = MsMarcoDocuments("msmarco-document", ("docid", "url", "title", "body"))


class MsMarcoTop1000:
    """`top1000.*.tsv`: qid, pid, query and passage a line; a passage stands there once a query that found it."""

    name = "msmarco-top1000"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """Four columns, and the name."""
        return path.name.startswith("top1000") and len(start.partition("\n")[0].split("\t")) == len(TOP1000)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """Every passage once."""
        seen = set[str]()
        for _, (_, pid, _, passage) in cells_of(path, reading, TOP1000):
            if pid not in seen:
                seen.add(pid)
                yield Document(pid, {"text": passage} if passage else {})

    def write(self, path: Path, documents: Iterable[Document]) -> None:  # noqa: ARG002 -- the same shape as the others
        """Refused: candidates need queries as well."""
        raise RankwellError(
            f"{path}: documents alone cannot be written as {self.name}: write msmarco-passage and a run"
        )


def table_starts(start: str, columns: int, ids: int) -> bool:
    """Whether at least half of the first lines have so many columns, of which the first ones hold no spaces."""
    rows = [line.split("\t") for line in first_lines(start, 20)]
    fitting = [row for row in rows if len(row) == columns and not any(" " in cell for cell in row[:ids])]
    return bool(fitting) and 2 * len(fitting) >= len(rows)


def cells_of(path: Path, reading: Reading, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The cells of each numbered line; a line with another number of columns or without an id is a problem."""
    for number, line in text_lines(path, reading):
        cells = line.split("\t")
        if len(cells) == len(columns) and cells[0]:
            yield number, cells
        elif line:
            expected = f"{len(columns)} columns ({', '.join(columns)}) separated by tabs, the first not empty"
            reading.problems.add(FormatError(path, number, expected=expected, found=line))


def write_cells(path: Path, rows: Iterable[Sequence[str]], ids: int = 1) -> None:
    """A line a row. Tabs and line breaks inside a text become spaces, which is said at the end; ids may have none."""
    changed = 0
    with output(path) as file:
        for row in rows:
            cells = [cell.translate(BREAKS) for cell in row]
            if cells[:ids] != list(row[:ids]) or not all(cells[:ids]):
                raise RankwellError(f"{path}: expected ids without tabs and line breaks, found {row[:ids]!r}")
            changed += cells != list(row)
            file.write(("\t".join(cells) + "\n").encode())
    if changed:
        log.warning("%s: tabs and line breaks in %d texts were written as spaces", path, changed)
