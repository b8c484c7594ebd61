"""MS MARCO's tables and runs: tab-separated, without header and without quotes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats.trec_qrels import is_whole
from rankwell.collections.lines import first_lines, output, text_lines
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document, FormatError, Phrase, Queries, Query, RankwellError, Run, shown

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
        """Whether the first lines have the expected number of columns, and an id without spaces."""
        return path.is_file() and table_starts(start, len(self.columns), ids=1)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """Read the documents."""
        for _, cells in cells_of(path, reading, self.columns):
            values = {name: cell for name, cell in zip(self.columns[1:], cells[1:], strict=True) if cell}
            url = values.pop("url", None)
            yield Document(cells[0], values, {"url": url} if url else NOTHING)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write the documents; fields without a column are joined to the last column."""
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
        """Whether the first lines have two columns."""
        return path.is_file() and table_starts(start, len(("qid", "text")), ids=1)

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """Read the queries."""
        for _, (qid, text) in cells_of(path, reading, ("qid", "text")):
            yield Query(qid, {"text": text} if text else {})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write the default wording of every query."""
        write_cells(path, ([query.id, query.text()] for query in queries))


PASSAGES = MsMarcoDocuments("msmarco-passage", ("pid", "text"))
DOCUMENTS = MsMarcoDocuments("msmarco-document", ("docid", "url", "title", "body"))


class MsMarcoTop1000:
    """`top1000.*.tsv`: qid, pid, query and passage a line; a passage is repeated for each of its queries."""

    name = "msmarco-top1000"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file's name and its four columns fit."""
        return path.name.startswith("top1000") and len(start.partition("\n")[0].split("\t")) == len(TOP1000)

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """Read every passage once."""
        seen = set[str]()
        for _, (_, pid, _, passage) in cells_of(path, reading, TOP1000):
            if pid not in seen:
                seen.add(pid)
                yield Document(pid, {"text": passage} if passage else {})

    def write(self, path: Path, documents: Iterable[Document]) -> None:  # noqa: ARG002 -- the same shape as the others
        """Raise an error, because candidates need queries as well."""
        raise RankwellError(
            f"{path}: documents alone cannot be written as {self.name}: write msmarco-passage and a run"
        )


def table_starts(start: str, columns: int, ids: int) -> bool:
    """Whether at least half of the first lines have that many columns, the first `ids` of them without spaces."""
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
    """Write a line for each row. Tabs and line breaks in texts become spaces, with a warning; ids may have none."""
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


COLUMNS = ("qid", "docno", "rank")
EXACT = 2**24  # integers up to here are exact in 32-bit floats


class MsMarcoRun:
    """A run with ranks and no scores: the score is the negative rank."""

    name = "msmarco"
    suffixes = (".tsv",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line has three columns, the last one a rank."""
        cells = start.partition("\n")[0].rstrip().split("\t")
        return path.is_file() and len(cells) == len(COLUMNS) and cells[2].isdecimal()

    def read(self, path: Path, reading: Reading) -> Run:
        """Read the run; its tag is the file's name."""
        return Run.from_rows(reading.progress.track(self._rows(path, reading)), tag=path.stem)

    def _rows(self, path: Path, reading: Reading) -> Iterator[tuple[str, str, float]]:
        seen = set[tuple[str, str]]()
        for number, (qid, docno, rank) in cells_of(path, reading, COLUMNS):
            if not docno or not is_whole(rank) or not 0 <= int(rank) < EXACT:
                reading.problems.add(FormatError(path, number, expected="a rank in the third column", found=rank))
            elif (qid, docno) in seen:
                expected = f"each document once for query {shown(qid)}"
                found = Phrase(f"{shown(docno)} a second time")
                reading.problems.add(FormatError(path, number, expected=expected, found=found))
            else:
                seen.add((qid, docno))
                yield qid, docno, -float(rank)

    def write(self, path: Path, run: Run) -> None:
        """Write ranks from 1; the format has no scores."""
        rows = (
            (qid, docno, str(rank)) for qid, ranking in run.rankings() for rank, (docno, _) in enumerate(ranking, 1)
        )
        write_cells(path, rows, ids=2)


class MsMarcoCandidates:
    """`qid pid query passage` a line: each query with its candidates in their order."""

    name = "msmarco-top1000"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """Whether there are four tab-separated columns, the first two without spaces."""
        judgments = is_whole(start.partition("\n")[0].rstrip().rpartition("\t")[2])
        return path.is_file() and table_starts(start, len(TOP1000), ids=2) and not judgments

    def read(self, path: Path, reading: Reading) -> Run:
        """Read the candidates; the first of a query has the highest score, 0."""
        queries: dict[str, Query] = {}
        places: dict[str, dict[str, float]] = {}
        for _, (qid, pid, query, _) in reading.progress.track(cells_of(path, reading, TOP1000)):
            queries.setdefault(qid, Query(qid, {"query": query} if query else {}))
            of_query = places.setdefault(qid, {})
            of_query.setdefault(pid, -float(len(of_query)))
        return Run.from_dict(places, tag="top1000", queries=Queries(queries.values()))

    def write(self, path: Path, run: Run) -> None:
        """Write the candidates with their texts, which the run must have."""
        queries, documents = run.queries, run.documents
        if queries is None or documents is None:
            raise RankwellError(f"{path}: {self.name} holds texts: this run has none, write it as trec or msmarco")
        texts = queries.texts()
        write_cells(
            path,
            ((qid, docno, texts[qid], documents[docno].text()) for qid, found in run.rankings() for docno, _ in found),
            ids=2,
        )
