"""Read and write documents, queries, judgments and runs in any format, named by the user or detected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import Format
from rankwell.collections.formats import beir, cord19, delimited, folder, jsonl, msmarco, pubmed, smart, trec, trec_run
from rankwell.collections.reading import Reading, consistent, head, once
from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run, shown

F = TypeVar("F", bound=Format[Any, Any])
GUESS = ColumnChoice()

# In the order in which they are tried: the most specific ones first.
DOCUMENT_FORMATS = (
    *(cord19.CORD19, beir.CORPUS, jsonl.PARQUET, jsonl.JSON_LINES, pubmed.PUBMED_XML, trec.DOCUMENTS),
    *(smart.DOCUMENTS, delimited.CSV, delimited.TSV, delimited.SEMICOLON, msmarco.TOP1000_PASSAGES),
    *(msmarco.DOCUMENTS, msmarco.PASSAGES, folder.FOLDER),
)
QUERY_FORMATS = (
    *(beir.QUERIES, trec.TOPICS, trec.XML_TOPICS, smart.CRANFIELD_QUERIES, smart.QUERIES, delimited.QUERIES),
    msmarco.QUERIES,
)
QRELS_FORMATS = (beir.QRELS, smart.CRANFIELD_QRELS, smart.QRELS, trec.QRELS)
RUN_FORMATS = (msmarco.CANDIDATES, trec_run.RUN, msmarco.RANKED_RUN)


def for_reading(path: Path, name: str | None, formats: Sequence[F], what: str) -> F:
    """The format of an existing file: the named one, else the detected one."""
    return named(name, formats, what) if name else guessed(path, formats, what)


def named(name: str, formats: Sequence[F], what: str) -> F:
    """The format of that name; an error suggests similar names."""
    for known in formats:
        if known.name == name:
            return known
    names = sorted({known.name for known in formats})
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(f"format of {what}", expected=f"one of {', '.join(names)}{hint}", found=name)


def recognised(path: Path, formats: Sequence[F]) -> F | None:
    """The first format that recognises the file; of an empty file, by its ending."""
    if not path.exists():
        raise RankwellError(f"{path}: no such file or folder")
    start = head(path) if path.is_file() else ""
    if path.is_file() and not start.strip():
        return by_suffix(path, formats)
    return next((known for known in formats if known.recognises(path, start)), None)


def guessed(path: Path, formats: Sequence[F], what: str) -> F:
    """The detected format of an existing file; an error names the formats that were tried."""
    known = recognised(path, formats)
    if known is None:
        tried = ", ".join(sorted({known.name for known in formats}))
        hint = "; name it with --format (--from in convert)" if what == "documents" else ""
        raise RankwellError(
            f"{path}: cannot tell the format of these {what}: tried {tried}, found {_first_line(path)}{hint}"
        )
    return known


def _first_line(path: Path) -> str:
    """The first line of the file, for an error."""
    if path.is_dir():
        return "a folder without any of their files" if any(path.iterdir()) else "an empty folder"
    lines = ((number, line) for number, line in enumerate(head(path).splitlines(), 1) if line.strip())
    return next((f"{shown(line)} in line {number}" for number, line in lines), "an empty file")


def for_writing(path: Path, name: str | None, formats: Sequence[F], what: str) -> F:
    """The format for a new file: the named one, else by its ending."""
    if name is not None:
        return named(name, formats, what)
    known = by_suffix(path, formats)
    if known is None:
        endings = ", ".join(f"{suffix} ({known.name})" for known in formats for suffix in known.suffixes[:1])
        problem = f"cannot tell from this name how to write {what}: use one of {endings}, or name the format"
        raise RankwellError(f"{path}: {problem}")
    return known


def by_suffix(path: Path, formats: Sequence[F]) -> F | None:
    """The first format whose files end like this one, gzipped or not."""
    name = path.name.removesuffix(".gz")
    return next((known for known in formats if any(name.endswith(suffix) for suffix in known.suffixes)), None)


def read_documents(
    path: Path | str, format: str | None = None, *, columns: ColumnChoice = GUESS, reading: Reading | None = None
) -> Iterator[Document]:
    """The documents of a file or folder, one at a time, in constant memory.

    The format is detected unless it is named. Ids are not checked for duplicates here (that would need
    memory for all of them): pass the result through `unique` where it matters.
    """
    path = Path(path)
    return for_reading(path, format, DOCUMENT_FORMATS, "documents").read(path, reading or Reading(), columns)


def write_documents(path: Path | str, documents: Iterable[Document], format: str | None = None) -> None:
    """Write documents in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, DOCUMENT_FORMATS, "documents").write(path, documents)


def read_queries(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Queries:
    """Read the queries of a file in the named or detected format."""
    path, reading = Path(path), reading or Reading()
    return Queries(once(for_reading(path, format, QUERY_FORMATS, "queries").read(path, reading), path, reading))


def write_queries(path: Path | str, queries: Queries, format: str | None = None) -> None:
    """Write queries in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, QUERY_FORMATS, "queries").write(path, queries.values())


def read_qrels(
    path: Path | str, format: str | None = None, *, drop_negative: bool = False, reading: Reading | None = None
) -> Judgments:
    """Read the judgments of a file in the named or detected format.

    A negative grade is kept (measures take it as not relevant) unless `drop_negative` says that it means "not judged",
    as the few -1 of TREC-COVID do. The same judgment twice counts once; two different grades are a problem.
    """
    path, reading = Path(path), reading or Reading()
    rows = for_reading(path, format, QRELS_FORMATS, "judgments").read(path, reading)
    return Judgments(consistent((row for row in rows if row.grade >= 0 or not drop_negative), path, reading))


def write_qrels(path: Path | str, judgments: Judgments, format: str | None = None) -> None:
    """Write judgments in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, QRELS_FORMATS, "judgments").write(path, judgments)


def read_run(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Run:
    """Read the run of a file in the named or detected format."""
    path = Path(path)
    return for_reading(path, format, RUN_FORMATS, "runs").read(path, reading or Reading())


def write_run(path: Path | str, run: Run, format: str | None = None) -> None:
    """Write a run in the named format (default: by the file's ending)."""
    path = Path(path)
    for_writing(path, format, RUN_FORMATS, "a run").write(path, run)
