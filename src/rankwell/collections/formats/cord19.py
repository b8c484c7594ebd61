"""CORD-19: `metadata.csv` with one row a paper (some have several), and the parsed bodies as JSON files beside it."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.reading import Reading, head, output
from rankwell.core import NOTHING, Document, Phrase, RankwellError

TABLE = "metadata.csv"
COLUMNS = (
    *("cord_uid", "sha", "source_x", "title", "doi", "pmcid", "pubmed_id", "license", "abstract", "publish_time"),
    *("authors", "journal", "mag_id", "who_covidence_id", "arxiv_id", "pdf_json_files", "pmc_json_files", "url"),
    "s2_id",
)
METADATA = {"source_x": "source", **{name: name for name in ("publish_time", "authors", "journal", "doi", "url")}}
BODIES = ("pmc_json_files", "pdf_json_files")  # the publisher's XML is the cleaner parse
YEAR = re.compile(r"\d{4}")

log = logging.getLogger(__name__)


def _is_cord19(path: Path, start: str) -> bool:
    """Whether it is a folder with the table, or the table itself."""
    if path.is_dir():
        return (path / TABLE).is_file() and "cord_uid" in header(head(path / TABLE), ",")
    return path.name == TABLE and "cord_uid" in header(start, ",")


def _read(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    """Read in two passes over the table: first the repeated ids, then the documents."""
    table = path / TABLE if path.is_dir() else path
    counts = Counter(row.get("cord_uid", "") for _, row in table_rows(table, reading.unseen, ","))
    waiting: dict[str, Document] = {}
    bodies = _Bodies(table.parent, reading)
    for number, row in table_rows(table, reading, ","):
        reading.place.line = number
        uid = row.get("cord_uid", "")
        if not uid:
            reading.report(table, number, "a cord_uid", Phrase("none"))
            continue
        document = _document(uid, row, bodies(row))
        if uid in waiting:
            document = _fuller(waiting.pop(uid), document)
        counts[uid] -= 1
        if counts[uid]:
            waiting[uid] = document
        else:
            yield document
    if bodies.missing:
        log.warning("%s: the parsed bodies of %s papers are not here", table, f"{bodies.missing:,}")


def _write(path: Path, documents: Iterable[Document]) -> None:
    lost = set[str]()

    def cells(document: Document) -> list[str]:
        lost.update(document.metadata.keys() - {*METADATA.values(), "year"})
        return _cells(document, path)

    write_table(path / TABLE, COLUMNS, map(cells, documents), ",")
    if lost:
        log.warning("%s: CORD-19 has no column for %s", path, ", ".join(sorted(lost)))


# A folder with `metadata.csv`. Rows that share a cord_uid become one document with the fullest fields.
CORD19 = DocumentFormat("cord19", _is_cord19, _read, _write)


def _document(uid: str, row: dict[str, Any], body: str) -> Document:
    texts = {"title": row.get("title"), "abstract": row.get("abstract"), "body": body}
    fields = {name: text for name, text in texts.items() if text}
    metadata: dict[str, Any] = {name: row[column] for column, name in METADATA.items() if row.get(column)}
    if year := YEAR.match(row.get("publish_time", "")):
        metadata["year"] = int(year[0])
    return Document(uid, fields, metadata or NOTHING)


@dataclass
class _Bodies:
    """Reads the parsed bodies, and counts the papers whose files are named in the table but not here."""

    folder: Path
    reading: Reading
    missing: int = 0

    def __call__(self, row: dict[str, Any]) -> str:
        """The text of the first existing parse; many users have only some of the large files."""
        names, there = [*_parses(row)], False
        for name in names:
            file = self.folder / name
            if Path(name).is_absolute() or ".." in Path(name).parts or not file.is_file():
                continue
            there = True
            try:
                text = "\n".join(part["text"] for part in orjson.loads(file.read_bytes())["body_text"])
            except (orjson.JSONDecodeError, KeyError, TypeError, OSError) as error:
                self.reading.report(file, None, "a parsed paper with body_text", Phrase(repr(error)))
                continue
            if text.strip():
                return text
        self.missing += bool(names) and not there
        return ""


def _parses(row: dict[str, Any]) -> Iterator[str]:
    """The files of a paper's parses, the publisher's XML first.

    The releases before May 2020 name no files, but their subset: comm_use_subset/pdf_json/SHA.json, in the first ones
    without pdf_json; packed, each subset was in a folder of its own name.
    """
    for column in BODIES:
        yield from _listed(row.get(column))
    if subset := (row.get("full_text_file") or "").strip():
        for folder in (subset, f"{subset}/{subset}"):
            yield from (f"{folder}/pmc_json/{paper}.xml.json" for paper in _listed(row.get("pmcid")))
            for inner in (f"{folder}/pdf_json", folder):
                yield from (f"{inner}/{paper}.json" for paper in _listed(row.get("sha")))


def _listed(cell: str | None) -> Iterator[str]:
    return filter(None, map(str.strip, (cell or "").split(";")))


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
    values |= {"cord_uid": document.id, **{name: document.fields.get(name, "") for name in ("title", "abstract")}}
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
