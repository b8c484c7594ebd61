"""CORD-19: `metadata.csv` with one row a paper (some have several), and the parsed bodies as JSON files beside it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.lines import head, output
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document, FormatError, Phrase, RankwellError

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
BODIES = ("pmc_json_files", "pdf_json_files")  # the publisher's XML is the cleaner parse
YEAR = re.compile(r"\d{4}")


log = logging.getLogger(__name__)


class Cord19:
    """A folder with `metadata.csv`. Rows that share a cord_uid become one document with the fullest fields."""

    name = "cord19"
    suffixes = ()

    def recognises(self, path: Path, start: str) -> bool:
        """Whether it is a folder with the table, or the table itself."""
        if path.is_dir():
            return (path / TABLE).is_file() and "cord_uid" in header(head(path / TABLE), ",")
        return path.name == TABLE and "cord_uid" in header(start, ",")

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- fixed columns
        """Read in two passes over the table: first the repeated ids, then the documents."""
        table = path / TABLE if path.is_dir() else path
        counts = Counter(row.get("cord_uid", "") for _, row in table_rows(table, reading.unseen, ","))
        waiting: dict[str, Document] = {}
        for number, row in table_rows(table, reading, ","):
            reading.place.line = number
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
        """Write the table and the bodies in the same layout."""
        lost = set[str]()

        def cells(document: Document) -> list[str]:
            lost.update(document.metadata.keys() - {*METADATA.values(), "year"})
            return _cells(document, path)

        write_table(path / TABLE, COLUMNS, map(cells, documents), ",")
        if lost:
            log.warning("%s: CORD-19 has no column for %s", path, ", ".join(sorted(lost)))


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
    """The text of the first existing parse; many users have only some of the large files."""
    for column in BODIES:
        for name in filter(None, map(str.strip, (row.get(column) or "").split(";"))):
            file = folder / name
            if Path(name).is_absolute() or ".." in Path(name).parts or not file.is_file():
                continue
            try:
                text = "\n".join(part["text"] for part in orjson.loads(file.read_bytes())["body_text"])
            except (orjson.JSONDecodeError, KeyError, TypeError, OSError) as error:
                reading.problems.add(
                    FormatError(file, None, expected="a parsed paper with body_text", found=Phrase(repr(error)))
                )
                continue
            if text.strip():
                return text
    return ""


def _fuller(one: Document, other: Document) -> Document:
    """The longer text of each field; the first's metadata, completed by the second's."""
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
    values["publish_time"] = values["publish_time"] or str(document.metadata.get("year", ""))
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
        with output(folder / values["pdf_json_files"]) as file:
            paragraphs = [{"text": text} for text in document.fields["body"].split("\n")]
            file.write(orjson.dumps({"paper_id": document.id, "body_text": paragraphs}))
    return [values.get(column, "") for column in COLUMNS]
