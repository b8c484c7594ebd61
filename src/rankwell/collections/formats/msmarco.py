"""MS MARCO's tables and runs: tab-separated, without header and without quotes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat, QueryFormat, RunFormat
from rankwell.collections.formats.trec import is_whole
from rankwell.collections.reading import Reading, first_lines, output, text_lines
from rankwell.collections.roles import ADDRESS
from rankwell.core import NOTHING, Document, Phrase, Queries, Query, RankwellError, Run, shown

log = logging.getLogger(__name__)

TOP1000 = ("qid", "pid", "query", "passage")
QUERY = ("qid", "text")
RANKED = ("qid", "docno", "rank")
BREAKS = str.maketrans("\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " " * 11)
EXACT = 2**24  # integers up to here are exact in 32-bit floats


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
            reading.report(path, number, expected, line)


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


def _has_addresses(start: str) -> bool:
    """Whether the second column has addresses, or nothing: other tables without a header have words there."""
    cells = [cell for line in first_lines(start, 20) if (cell := line.split("\t")[1:2])]
    return 2 * sum(not cell or ADDRESS.fullmatch(cell) is not None for (cell,) in cells) >= len(cells)


def _documents(name: str, columns: tuple[str, ...]) -> DocumentFormat:
    """A table of documents whose columns are the id and these fields; `url` is metadata."""

    def read(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
        for _number, cells in cells_of(path, reading, columns):
            values = {name: cell for name, cell in zip(columns[1:], cells[1:], strict=True) if cell}
            url = values.pop("url", None)
            yield Document(cells[0], values, {"url": url} if url else NOTHING)

    def write(path: Path, documents: Iterable[Document]) -> None:
        lost = set[str]()

        def cells(document: Document) -> list[str]:
            """The row of a document; fields without a column are joined to the last column."""
            lost.update((document.metadata.keys() | document.fields.keys()) - set(columns))
            others = [name for name in document.fields if name not in columns[:-1]]
            middle = [document.fields.get(name) or str(document.metadata.get(name, "")) for name in columns[1:-1]]
            return [document.id, *middle, document.text(*others) if others else ""]

        write_cells(path, map(cells, documents))
        if lost:
            log.warning("%s: %s has no column for %s", path, name, ", ".join(sorted(lost)))

    def recognises(_: Path, start: str) -> bool:
        return table_starts(start, len(columns), ids=1) and ("url" not in columns or _has_addresses(start))

    return DocumentFormat(name, recognises, read, write, (".tsv",))


PASSAGES = _documents("msmarco-passage", ("pid", "text"))
DOCUMENTS = _documents("msmarco-document", ("docid", "url", "title", "body"))


def _read_queries(path: Path, reading: Reading) -> Iterator[Query]:
    for _, (qid, text) in cells_of(path, reading, QUERY):
        yield Query(qid, {"text": text} if text else {})


def _write_queries(path: Path, queries: Iterable[Query]) -> None:
    write_cells(path, ([query.id, query.text()] for query in queries))


QUERIES = QueryFormat(
    "tsv", lambda _, start: table_starts(start, len(QUERY), ids=1), _read_queries, _write_queries, (".tsv", ".txt")
)


def _is_ranked(_: Path, start: str) -> bool:
    cells = start.partition("\n")[0].rstrip().split("\t")
    return len(cells) == len(RANKED) and cells[2].isdecimal()


def _read_ranked(path: Path, reading: Reading) -> Run:
    """A run with ranks and no scores: the score is the negative rank, the tag is the file's name."""
    return Run.from_rows(reading.progress.track(_ranked_rows(path, reading)), tag=path.stem)


def _ranked_rows(path: Path, reading: Reading) -> Iterator[tuple[str, str, float]]:
    seen = set[tuple[str, str]]()
    for number, (qid, docno, rank) in cells_of(path, reading, RANKED):
        if not docno or not is_whole(rank) or not 0 <= int(rank) < EXACT:
            reading.report(path, number, "a rank in the third column", rank)
        elif (qid, docno) in seen:
            again = Phrase(f"{shown(docno)} a second time")
            reading.report(path, number, f"each document once for query {shown(qid)}", again)
        else:
            seen.add((qid, docno))
            yield qid, docno, -float(rank)


def _write_ranked(path: Path, run: Run, _: int | None) -> None:
    ranked = ((qid, enumerate(ranking, 1)) for qid, ranking in run.rankings())
    write_cells(path, ((qid, docno, str(rank)) for qid, ranking in ranked for rank, (docno, _) in ranking), ids=2)


RANKED_RUN = RunFormat("msmarco", _is_ranked, _read_ranked, _write_ranked, (".tsv",))


def _read_passages(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    """The passages, each of which is repeated in the file for each of its queries."""
    seen = set[str]()
    for _number, (_qid, pid, _query, passage) in cells_of(path, reading, TOP1000):
        if pid not in seen:
            seen.add(pid)
            yield Document(pid, {"text": passage} if passage else {})


def _refuse_passages(path: Path, _: Iterable[Document]) -> None:
    raise RankwellError(
        f"{path}: documents alone cannot be written as msmarco-top1000: write msmarco-passage and a run"
    )


def _is_top1000(_: Path, start: str) -> bool:
    judgments = is_whole(start.partition("\n")[0].rstrip().rpartition("\t")[2])
    return table_starts(start, len(TOP1000), ids=2) and not judgments


def _read_candidates(path: Path, reading: Reading) -> Run:
    """The candidates in their order; the first of a query has the highest score, 0."""
    queries: dict[str, Query] = {}
    places: dict[str, dict[str, float]] = {}
    for _, (qid, pid, query, _passage) in reading.progress.track(cells_of(path, reading, TOP1000)):
        queries.setdefault(qid, Query(qid, {"query": query} if query else {}))
        of_query = places.setdefault(qid, {})
        of_query.setdefault(pid, -float(len(of_query)))
    return Run.from_dict(places, tag="top1000", queries=Queries(queries.values()))


def _write_candidates(path: Path, run: Run, _: int | None) -> None:
    queries, documents = run.queries, run.documents
    if queries is None or documents is None:
        raise RankwellError(f"{path}: msmarco-top1000 holds texts: this run has none, write it as trec or msmarco")
    texts = queries.texts()
    pairs = ((qid, docno) for qid, ranking in run.rankings() for docno, _ in ranking)
    write_cells(path, ((qid, docno, texts[qid], documents[docno].text()) for qid, docno in pairs), ids=2)


# `top1000.*.tsv`: qid, pid, query and passage a line, each query with its candidates in their order.
TOP1000_PASSAGES = DocumentFormat(
    "msmarco-top1000",
    lambda path, start: path.name.startswith("top1000") and start.partition("\n")[0].count("\t") == len(TOP1000) - 1,
    _read_passages,
    _refuse_passages,
)
CANDIDATES = RunFormat("msmarco-top1000", _is_top1000, _read_candidates, _write_candidates)
