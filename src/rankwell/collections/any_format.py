"""Read and write documents, queries, judgments and runs in any format, named by the user or detected."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import Format
from rankwell.collections.formats import (
    beir,
    bibliographies,
    cord19,
    databases,
    delimited,
    folder,
    json_scores,
    json_values,
    jsonl,
    msmarco,
    pubmed,
    rwrun,
    smart,
    spreadsheets,
    texts,
    trec,
    trec_run,
)
from rankwell.collections.reading import Reading, consistent, head, once, with_good_ids
from rankwell.core import Document, Judgments, ParameterError, Phrase, Queries, RankwellError, Run, shown

F = TypeVar("F", bound=Format[Any, Any])
GUESS = ColumnChoice()

# In the order in which they are tried: the most specific ones first.
FILE_FORMATS = (
    *(cord19.CORD19, beir.CORPUS, jsonl.PARQUET, databases.SQLITE, spreadsheets.SPREADSHEET),
    *(kind.format for kind in texts.KINDS if kind is not texts.MARKDOWN),
    *(json_values.JSON, jsonl.JSON_LINES, pubmed.PUBMED_XML, bibliographies.ENDNOTE_XML, trec.DOCUMENTS),
    *(smart.DOCUMENTS, *bibliographies.TAGGED_FORMATS, bibliographies.BIBTEX, texts.MBOX, texts.EML),
    *(texts.MARKDOWN.format, delimited.CSV, delimited.TSV, delimited.SEMICOLON, msmarco.TOP1000_PASSAGES),
    *(msmarco.DOCUMENTS, msmarco.PASSAGES, delimited.ANY_TABLE),
)
DOCUMENT_FORMATS = (*FILE_FORMATS, folder.folder_of(FILE_FORMATS))
QUERY_FORMATS = (
    *(beir.QUERIES, trec.TOPICS, trec.XML_TOPICS, smart.CRANFIELD_QUERIES, smart.QUERIES, delimited.QUERIES),
    msmarco.QUERIES,
)
QRELS_FORMATS = (json_scores.QRELS, beir.QRELS, smart.CRANFIELD_QRELS, smart.QRELS, trec.QRELS)
RUN_FORMATS = (rwrun.RUN, json_scores.RUN, msmarco.CANDIDATES, trec_run.RUN, msmarco.RANKED_RUN)


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


def as_path(given: Any, what: str) -> Path:
    """A path; raise for what is none."""
    if not isinstance(given, str | os.PathLike):
        found = type(given).__name__ if hasattr(given, "columns") else f"{type(given).__name__} {given!r}"[:80]
        raise ParameterError(what, expected="a path", found=Phrase(found))
    return Path(given)


def by_suffix(path: Path, formats: Sequence[F]) -> F | None:
    """The first format whose files end like this one, gzipped or not."""
    name = path.name.removesuffix(".gz")
    return next((known for known in formats if any(name.endswith(suffix) for suffix in known.suffixes)), None)


def read_documents(
    path: Path | str, format: str | None = None, *, columns: ColumnChoice = GUESS, reading: Reading | None = None
) -> Iterator[Document]:
    """The documents of a file, folder or database (`sqlite:///x.db?table=T`), one at a time, in constant memory.

    The format is detected unless it is named. Ids are not checked for duplicates here (that would need
    memory for all of them): pass the result through `unique` where it matters.

    >>> [document.id for document in read_documents("papers.csv")]
    ['p1', 'p2', 'p3']
    """
    reading = reading or Reading()
    if databases.is_address(str(path)):
        shown_address = databases.parse_address(str(path)).shown  # without a password
        return with_good_ids(databases.read_address(str(path), reading, columns), shown_address, reading)
    path = as_path(path, "documents")
    documents = for_reading(path, format, DOCUMENT_FORMATS, "documents").read(path, reading, columns)
    return with_good_ids(documents, path, reading)


def write_documents(path: Path | str, documents: Iterable[Document], format: str | None = None) -> None:
    """Write documents in the named format (default: by the file's ending).

    >>> write_documents("papers.jsonl", read_documents("papers.csv"))
    """
    path = as_path(path, "documents")
    for_writing(path, format, DOCUMENT_FORMATS, "documents").write(path, documents)


def read_queries(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Queries:
    """Read the queries of a file in the named or detected format.

    >>> read_queries("queries.tsv").texts()["q3"]
    'fresh air'
    """
    path, reading = as_path(path, "queries"), reading or Reading()
    return Queries(once(for_reading(path, format, QUERY_FORMATS, "queries").read(path, reading), path, reading))


def write_queries(path: Path | str, queries: Queries, format: str | None = None) -> None:
    """Write queries in the named format (default: by the file's ending).

    >>> write_queries("topics.tsv", queries)
    """
    path = as_path(path, "queries")
    for_writing(path, format, QUERY_FORMATS, "queries").write(path, queries.values())


def read_qrels(
    path: Path | str, format: str | None = None, *, drop_negative: bool = False, reading: Reading | None = None
) -> Judgments:
    """Read the judgments of a file in the named or detected format.

    A negative grade is kept (measures take it as not relevant) unless `drop_negative` says that it means "not judged",
    as the few -1 of TREC-COVID do. The same judgment twice counts once; two different grades are a problem.

    >>> read_qrels("qrels.txt")["q2"]["p2"]
    2
    """
    path, reading = as_path(path, "judgments"), reading or Reading()
    rows = for_reading(path, format, QRELS_FORMATS, "judgments").read(path, reading)
    return Judgments(consistent((row for row in rows if row.grade >= 0 or not drop_negative), path, reading))


def write_qrels(path: Path | str, judgments: Judgments, format: str | None = None) -> None:
    """Write judgments in the named format (default: by the file's ending).

    >>> write_qrels("qrels.json", judgments)
    """
    path = as_path(path, "judgments")
    for_writing(path, format, QRELS_FORMATS, "judgments").write(path, judgments)


def read_run(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Run:
    """Read the run of a file in the named or detected format.

    >>> read_run("bm25.trec").top(10)
    """
    path = as_path(path, "run")
    return for_reading(path, format, RUN_FORMATS, "runs").read(path, reading or Reading())


def write_run(path: Path | str, run: Run, format: str | None = None, *, threads: int | None = None) -> None:
    """Write a run in the named format (default: by the file's ending). A large one is written by so many threads.

    The default is a thread for each core.

    >>> write_run("run.trec", run)
    """
    path = as_path(path, "run")
    for_writing(path, format, RUN_FORMATS, "a run").write(path, run, threads)
