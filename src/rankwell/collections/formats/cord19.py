"""CORD-19: `metadata.csv` with one row a paper (some have several), and the parsed bodies as JSON files beside it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.lines import head
from rankwell.collections.reading import Reading
from rankwell.core.document import NOTHING, Document
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.files import atomic_write

TABLE = "metadata.csv"
COLUMNS = (
    *("cord_uid", "sha", "source_x", "title", "doi", "pmcid", "pubmed_id", "license", "abstract", "publish_time"),
    *(
        "authors",
        "journal",
        "mag_id",
        "who_covidence_id",
        "arxiv_id",
        "pdf_json_files",
        "pmc_json_files",
        "url",
        "s2_id",
    ),
)
METADATA = {"source_x": "source", **{name: name for name in ("publish_time", "authors", "journal", "doi", "url")}}
BODIES = ("pmc_json_files", "pdf_json_files")  # the parse of the publisher's XML is the cleaner one
YEAR = re.compile(r"\d{4}")


class Cord19:
    """A folder with `metadata.csv`. Rows that share a cord_uid become one document with the fullest fields."""

    name = "cord19"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """The folder, or the table itself."""
        if path.is_dir():
            return (path / TABLE).is_file() and "cord_uid" in header(head(path / TABLE), ",")
        return path.name == TABLE and "cord_uid" in header(start, ",")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """Two passes over the table: which ids stand there more than once, then the documents."""
        table = path / TABLE if path.is_dir() else path
        counts = Counter(row.get("cord_uid", "") for _, row in table_rows(table, Reading(reading.encoding), ","))
        waiting: dict[str, Document] = {}
        for number, row in table_rows(table, reading, ","):
            uid = row.get("cord_uid", "")
            if not uid:
                reading.problems.add(FormatError(table, number, expected="a cord_uid", found=Phrase("none")))
                continue
            document = _document(uid, row, table.parent, reading)
            if uid in waiting:
                document = _fuller(waiting[uid], document)
            counts[uid] -= 1
            if counts[uid]:
                waiting[uid] = document
            else:
                waiting.pop(uid, None)
                yield document

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """The same layout: table and bodies."""
        write_table(path / TABLE, COLUMNS, (_cells(document, path) for document in documents), ",")


def _document(uid: str, row: dict[str, Any], folder: Path, reading: Reading) -> Document:
    fields = {name: row[name] for name in ("title", "abstract") if row.get(name)}
    body = _body(row, folder, reading)
    if body:
        fields["body"] = body
    metadata: dict[str, Any] = {name: row[column] for column, name in METADATA.items() if row.get(column)}
    if year := YEAR.match(row.get("publish_time", "")):
        metadata["year"] = int(year[0])
    return Document(uid, fields, metadata or NOTHING)


def _body(row: dict[str, Any], folder: Path, reading: Reading) -> str:
    """The text of the first parse that is there; the files are large and people often have only some of them."""
    for column in BODIES:
        for name in filter(None, map(str.strip, (row.get(column) or "").split(";"))):
            file = folder / name
            if ".." in Path(name).parts or not file.is_file():
                continue
            try:
                paragraphs = orjson.loads(file.read_bytes())["body_text"]
                text = "\n".join(part["text"] for part in paragraphs if part["text"])
            except (orjson.JSONDecodeError, KeyError, TypeError) as error:
                reading.problems.add(
                    FormatError(file, None, expected="a parsed paper with body_text", found=Phrase(repr(error)))
                )
                continue
            if text:
                return text
    return ""


def _fuller(one: Document, other: Document) -> Document:
    """Field by field the longer text; metadata of the first, filled up from the second."""
    names = [name for name in ("title", "abstract", "body") if name in one.fields or name in other.fields]
    fields = {name: max(one.fields.get(name, ""), other.fields.get(name, ""), key=len) for name in names}
    return Document(one.id, fields, {**other.metadata, **one.metadata})


def _cells(document: Document, folder: Path) -> list[str]:
    unknown = set(document.fields) - {"title", "abstract", "body"}
    if unknown:
        raise RankwellError(
            f"document {document.id!r}: CORD-19 holds title, abstract and body, not {', '.join(sorted(unknown))}"
        )
    values = {column: str(document.metadata.get(name, "")) for column, name in METADATA.items()}
    values |= {
        "cord_uid": document.id,
        "title": document.fields.get("title", ""),
        "abstract": document.fields.get("abstract", ""),
    }
    if "body" in document.fields:
        if not re.fullmatch(r"[\w-]+", document.id):
            raise RankwellError(
                f"document {document.id!r}: expected an id of letters and digits, since it names a file"
            )
        values["pdf_json_files"] = f"document_parses/pdf_json/{document.id}.json"
        with atomic_write(folder / values["pdf_json_files"]) as file:
            paragraphs = [{"text": text} for text in document.fields["body"].split("\n")]
            file.write(orjson.dumps({"paper_id": document.id, "body_text": paragraphs}))
    return [values.get(column, "") for column in COLUMNS]
