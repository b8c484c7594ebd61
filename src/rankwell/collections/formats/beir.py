"""The BEIR layout: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` in a folder."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rankwell.collections.columns import ColumnChoice, Columns, identifier
from rankwell.collections.formats.jsonl import json_documents, json_items, write_json_rows
from rankwell.collections.formats.trec_qrels import is_whole
from rankwell.collections.lines import output, text_lines
from rankwell.collections.reading import Reading
from rankwell.core import Document, FormatError, Judgment, Judgments, Query, RankwellError

log = logging.getLogger(__name__)

COLUMNS = Columns("_id", {"title": "title", "text": "text"})
HEADER = ("query-id", "corpus-id", "score")


class BeirCorpus:
    """`corpus.jsonl`, or the folder that holds it: `{"_id": ..., "title": ..., "text": ...}` a line."""

    name = "beir"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """A folder with a corpus, or JSON lines whose first object has an `_id` and a `text`."""
        if path.is_dir():
            return corpus_file(path) is not None
        first = start.partition("\n")[0]
        return first.startswith("{") and '"_id"' in first and '"text"' in first and "corpus" in path.name

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
        """The documents; further keys of a line become metadata."""
        file = corpus_file(path) if path.is_dir() else path
        if file is None:
            raise RankwellError(f"{path}: expected a file corpus.jsonl or corpus.jsonl.gz in the folder, found none")
        if choice == ColumnChoice():
            return json_items(file, reading, COLUMNS.document)
        return json_documents(file, reading, choice)

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """A folder with a `corpus.jsonl`; a document's fields other than title are joined as its text."""
        joined = set[str]()

        def row(document: Document) -> dict[str, Any]:
            joined.update(document.fields)
            return corpus_row(document)

        file = path if path.name.removesuffix(".gz").endswith(".jsonl") else path / "corpus.jsonl"
        write_json_rows(file, map(row, documents))
        if others := sorted(joined - {"title", "text"}):
            log.warning("%s: BEIR has title and text only: %s were written into text", file, ", ".join(others))


class BeirQueries:
    """`queries.jsonl`: `{"_id": ..., "text": ...}` a line."""

    name = "beir"
    suffixes = (".jsonl",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether it is a BEIR folder with queries, or JSON lines."""
        return queries_file(path).is_file() if path.is_dir() else start.lstrip().startswith("{")

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The queries; every other string of a line is a further wording, `metadata` is ignored."""
        file = queries_file(path) if path.is_dir() else path
        return json_items(file, reading, lambda row, _: _query(row))

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """The default wording is written as `text`, further ones under their names."""
        write_json_rows(path / "queries.jsonl" if path.is_dir() else path, map(query_row, queries))


class BeirQrels:
    """`qrels/test.tsv`: a header, then `query-id corpus-id score` separated by tabs."""

    name = "beir"
    suffixes = (".tsv",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the first line is the header, or has three columns of which the last is a grade."""
        cells = start.partition("\n")[0].strip().split("\t")
        return path.is_file() and (cells[:2] == list(HEADER[:2]) or (len(cells) == len(HEADER) and is_whole(cells[2])))

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """Read the judgments."""
        for number, line in text_lines(path, reading):
            parts = line.split("\t")
            if (number == 1 and parts[:2] == list(HEADER[:2])) or not line.strip():
                continue
            if len(parts) == len(HEADER) and parts[0] and parts[1] and is_whole(parts[2]):
                yield Judgment(parts[0], parts[1], int(parts[2]))
            else:
                expected = "three columns (query-id corpus-id score) separated by tabs, the score a whole number"
                reading.problems.add(FormatError(path, number, expected=expected, found=line))

    def write(self, path: Path, judgments: Judgments) -> None:
        """Write a header and rows."""
        with output(path) as file:
            file.write("\t".join(HEADER).encode() + b"\n")
            for qid, docno, grade in judgments.rows():
                if not qid or not docno or set("\t\n\r") & {*qid, *docno}:
                    raise RankwellError(
                        f"{path}: expected ids without tabs and line breaks, found {qid!r} and {docno!r}"
                    )
                file.write(f"{qid}\t{docno}\t{grade}\n".encode())


def corpus_file(folder: Path) -> Path | None:
    """The corpus in a BEIR folder, plain or gzipped."""
    return next((file for file in (folder / "corpus.jsonl", folder / "corpus.jsonl.gz") if file.is_file()), None)


def queries_file(folder: Path) -> Path:
    """The path of the queries in a BEIR folder."""
    packed = folder / "queries.jsonl.gz"
    return packed if packed.is_file() else folder / "queries.jsonl"


def corpus_row(document: Document) -> dict[str, Any]:
    """A document as a BEIR object."""
    others = [name for name in document.fields if name != "title"]
    row: dict[str, Any] = {
        "_id": document.id,
        "title": document.fields.get("title", ""),
        "text": document.text(*others) if others else "",
    }
    if document.metadata:
        row["metadata"] = dict(document.metadata)
    return row


def query_row(query: Query) -> dict[str, Any]:
    """A query as a BEIR object."""
    others = list(query.texts)[1:]
    taken = {"_id", "text"} & set(others)
    if taken:
        raise RankwellError(f"query {query.id!r}: a further text named {taken.pop()!r} cannot be written as BEIR")
    return {"_id": query.id, "text": query.text(), **{name: query.texts[name] for name in others}}


def _query(row: dict[str, Any]) -> Query:
    id_key = next((key for key in ("_id", "id", "qid", "query_id") if key in row), "_id")
    qid = identifier(row.get(id_key), id_key)
    texts = {key: value for key, value in row.items() if isinstance(value, str) and key != id_key}
    if not texts:
        raise ValueError("a query text")
    default = next((key for key in ("text", "query", "title") if key in texts), next(iter(texts)))
    ordered = {default: texts[default], **texts}
    return Query(qid, {name: text for name, text in ordered.items() if text})
