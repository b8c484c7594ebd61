"""MS MARCO runs: `qid<TAB>docno<TAB>rank`, and the candidates of its re-ranking task (`top1000.*.tsv`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwell.collections.formats.msmarco import TOP1000, cells_of, table_starts, write_cells
from rankwell.collections.formats.trec_qrels import is_whole
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, RankwellError, shown
from rankwell.core.query import Queries, Query
from rankwell.core.run import Run

COLUMNS = ("qid", "docno", "rank")
EXACT = 2**24  # whole numbers up to here have a 32-bit float of their own


class MsMarcoRun:
    """Ranks instead of scores: the score is the rank made negative, so that the order stays."""

    name = "msmarco"
    suffixes = (".tsv",)

    def recognises(self, path: Path, start: str) -> bool:
        """Three columns in the first line, the last one a rank."""
        cells = start.partition("\n")[0].rstrip().split("\t")
        return path.is_file() and len(cells) == len(COLUMNS) and cells[2].isdecimal()

    def read(self, path: Path, reading: Reading) -> Run:
        """The run; its tag is the file's name."""
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
        """Ranks from 1; the scores are lost, which is what this format is."""
        rows = (
            (qid, docno, str(rank)) for qid, ranking in run.rankings() for rank, (docno, _) in enumerate(ranking, 1)
        )
        write_cells(path, rows, ids=2)


class MsMarcoCandidates:
    """`qid pid query passage` a line: each query with its candidates in the order in which they stand."""

    name = "msmarco-top1000"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """Four columns that are separated by tabs, the first two without spaces."""
        judgments = is_whole(start.partition("\n")[0].rstrip().rpartition("\t")[2])
        return path.is_file() and table_starts(start, len(TOP1000), ids=2) and not judgments

    def read(self, path: Path, reading: Reading) -> Run:
        """The candidates; the first of a query has the highest score, 0."""
        queries: dict[str, Query] = {}
        places: dict[str, dict[str, float]] = {}
        for _, (qid, pid, query, _) in reading.progress.track(cells_of(path, reading, TOP1000)):
            queries.setdefault(qid, Query(qid, {"query": query} if query else {}))
            of_query = places.setdefault(qid, {})
            of_query.setdefault(pid, -float(len(of_query)))
        return Run.from_dict(places, tag="top1000", queries=Queries(queries.values()))

    def write(self, path: Path, run: Run) -> None:
        """The candidates with their texts, which the run must carry."""
        queries, documents = run.queries, run.documents
        if queries is None or documents is None:
            raise RankwellError(f"{path}: {self.name} holds texts: this run has none, write it as trec or msmarco")
        texts = queries.texts()
        write_cells(
            path,
            ((qid, docno, texts[qid], documents[docno].text()) for qid, found in run.rankings() for docno, _ in found),
            ids=2,
        )
