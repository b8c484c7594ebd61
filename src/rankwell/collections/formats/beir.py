"""The BEIR layout: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` in a folder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice, Columns, identifier
from rankwell.collections.format import DocumentFormat, QrelsFormat, QueryFormat
from rankwell.collections.formats.jsonl import json_documents, json_items, write_json_rows
from rankwell.collections.formats.trec import is_whole
from rankwell.collections.reading import Reading, output, text_lines
from rankwell.core import Document, Judgment, Judgments, Query, RankwellError

log = logging.getLogger(__name__)

COLUMNS = Columns("_id", {"title": "title", "text": "text"})
HEADER = ["query-id", "corpus-id", "score"]


def corpus_file(folder: Path) -> Path | None:
    """The corpus in a BEIR folder, plain or gzipped."""
    return next((file for file in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if file.is_file()), None)


def queries_file(folder: Path) -> Path:
    """The path of the queries in a BEIR folder."""
    packed = folder / "queries.jsonl.gz"
    return packed if packed.is_file() else folder / "queries.jsonl"


def _is_corpus(path: Path, start: str) -> bool:
    """A folder with a corpus, or JSON lines whose first object has an `_id` and a `text`."""
    if path.is_dir():
        return corpus_file(path) is not None
    first = start.partition("\n")[0]
    return first.startswith("{") and '"_id"' in first and '"text"' in first and "corpus" in path.name


def _read_corpus(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    """The documents; further keys of a line become metadata."""
    file = corpus_file(path) if path.is_dir() else path
    if file is None:
        raise RankwellError(f"{path}: expected a file corpus.jsonl or corpus.jsonl.gz in the folder, found none")
    if choice == ColumnChoice():
        return json_items(file, reading, COLUMNS.document)
    return json_documents(file, reading, choice)


def _write_corpus(path: Path, documents: Iterable[Document]) -> None:
    """A folder with a `corpus.jsonl`; a document's fields other than title are joined as its text."""
    joined = set[str]()

    def row(document: Document) -> dict[str, Any]:
        others = [name for name in document.fields if name != "title"]
        joined.update(others)
        texts = {"title": document.fields.get("title", ""), "text": document.text(*others) if others else ""}
        return {"_id": document.id, **texts, **({"metadata": dict(document.metadata)} if document.metadata else {})}

    file = path if path.name.removesuffix(".gz").endswith(".jsonl") else path / "corpus.jsonl"
    write_json_rows(file, map(row, documents))
    if lost := sorted(joined - {"text"}):
        log.warning("%s: BEIR has title and text only: %s were written into text", file, ", ".join(lost))


def _is_queries(path: Path, start: str) -> bool:
    return queries_file(path).is_file() if path.is_dir() else start.lstrip().startswith("{")


def _read_queries(path: Path, reading: Reading) -> Iterator[Query]:
    return json_items(queries_file(path) if path.is_dir() else path, reading, _query)


def _query(row: dict[str, Any], _: int) -> Query:
    """The query of a line; every other string is a further wording, `metadata` is ignored."""
    id_key = next((key for key in ("_id", "id", "qid", "query_id") if key in row), "_id")
    qid = identifier(row.get(id_key), id_key)
    texts = {key: value for key, value in row.items() if isinstance(value, str) and key != id_key}
    if not texts:
        raise ValueError("a query text")
    default = next((key for key in ("text", "query", "title") if key in texts), next(iter(texts)))
    ordered = {default: texts[default], **texts}
    return Query(qid, {name: text for name, text in ordered.items() if text})


def _query_row(query: Query) -> dict[str, Any]:
    """A line: the default wording is written as `text`, further ones under their names."""
    others = list(query.texts)[1:]
    taken = {"_id", "text"} & set(others)
    if taken:
        raise RankwellError(f"query {query.id!r}: a further text named {taken.pop()!r} cannot be written as BEIR")
    return {"_id": query.id, "text": query.text(), **{name: query.texts[name] for name in others}}


def _write_queries(path: Path, queries: Iterable[Query]) -> None:
    write_json_rows(path / "queries.jsonl" if path.is_dir() else path, map(_query_row, queries))


def _is_qrels(_: Path, start: str) -> bool:
    """Whether the first line is the header, or has three columns of which the last is a grade."""
    cells = start.partition("\n")[0].strip().split("\t")
    return cells[:2] == HEADER[:2] or (len(cells) == len(HEADER) and is_whole(cells[2]))


def _read_qrels(path: Path, reading: Reading) -> Iterator[Judgment]:
    for number, line in text_lines(path, reading):
        parts = line.split("\t")
        if (number == 1 and parts[:2] == HEADER[:2]) or not line.strip():
            continue
        if len(parts) == len(HEADER) and parts[0] and parts[1] and is_whole(parts[2]):
            yield Judgment(parts[0], parts[1], int(parts[2]))
        else:
            expected = "three columns (query-id corpus-id score) separated by tabs, the score a whole number"
            reading.report(path, number, expected, line)


def _write_qrels(path: Path, judgments: Judgments) -> None:
    with output(path) as file:
        file.write("\t".join(HEADER).encode() + b"\n")
        for qid, docno, grade in judgments.rows():
            if not qid or not docno or set("\t\n\r") & {*qid, *docno}:
                raise RankwellError(f"{path}: expected ids without tabs and line breaks, found {qid!r} and {docno!r}")
            file.write(f"{qid}\t{docno}\t{grade}\n".encode())


# Documents are `{"_id": .., "title": .., "text": ..}` a line, queries `{"_id": .., "text": ..}`, judgments a table.
CORPUS = DocumentFormat("beir", _is_corpus, _read_corpus, _write_corpus)
QUERIES = QueryFormat("beir", _is_queries, _read_queries, _write_queries, (".jsonl",))
QRELS = QrelsFormat("beir", _is_qrels, _read_qrels, _write_qrels, (".tsv",))
