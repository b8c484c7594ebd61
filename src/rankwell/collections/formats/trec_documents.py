"""TREC documents in SGML, as on the TREC disks (Robust04): `<DOC><DOCNO>..</DOCNO><TEXT>..</TEXT></DOC>`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rankwell.collections.columns import TEXTS, ColumnChoice
from rankwell.collections.lines import text_lines
from rankwell.collections.reading import Reading
from rankwell.core.document import NOTHING, Document
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.files import atomic_write

# What the newswire sources of the TREC disks call the same thing.
FIELDS = {
    "headline": "title",
    "hl": "title",
    "head": "title",
    "ti": "title",
    "lp": "text",
    "leadpara": "text",
    **{name: name for name in TEXTS},
}
MARKUP = re.compile(r"</?[A-Za-z][^>]{0,200}>|<!--.*?-->", re.DOTALL)
OPENING = re.compile(r"<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^>]*)?>")
DOCNO = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.DOTALL | re.IGNORECASE)
TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class TrecDocuments:
    """Elements that hold text (TITLE, HEADLINE, TEXT, ABSTRACT, ...) become fields, the others metadata."""

    name = "trec"
    suffixes = (".sgml", ".trec", ".xml")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a `<DOC>` stands near the start."""
        return path.is_file() and "<DOC>" in start[:4096].upper()

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- tags name the fields
        """The documents, one at a time."""
        for number, body in _bodies(path, reading):
            found = DOCNO.search(body)
            if found is None or not found[1].strip():
                reading.problems.add(
                    FormatError(path, number, expected="a <DOCNO> in the document", found=body[:100].strip())
                )
                continue
            yield _document(found[1].strip(), body[: found.start()] + body[found.end() :])

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Fields and metadata as elements; metadata values are written as text."""
        with atomic_write(path) as file:
            for document in documents:
                lines = [f"<DOC>\n<DOCNO>{document.id}</DOCNO>"]
                for name, value in {**document.metadata, **document.fields}.items():
                    lines.append(_element(name, str(value), document.id))
                file.write(("\n".join([*lines, "</DOC>"]) + "\n").encode())


def _bodies(path: Path, reading: Reading) -> Iterator[tuple[int, str]]:
    """What stands between each <DOC> and its </DOC>, with the line where it starts."""
    started, lines = 0, list[str]()
    for number, line in text_lines(path, reading):
        mark = line.strip().upper()
        if mark == "<DOC>":
            if started:
                reading.problems.add(
                    FormatError(path, started, expected="a </DOC> before the next <DOC>", found=Phrase("none"))
                )
            started, lines = number, []
        elif mark == "</DOC>" and started:
            yield started, "\n".join(lines)
            started = 0
        elif started:
            lines.append(line)
    if started:
        reading.problems.add(
            FormatError(path, started, expected="a </DOC> for this <DOC>", found=Phrase("the end of the file"))
        )


def _document(docno: str, body: str) -> Document:
    fields: dict[str, str] = {}
    metadata: dict[str, Any] = {}
    for name, content in _elements(body):
        text = html.unescape(MARKUP.sub(" ", content)).strip()
        if not text:
            continue
        field = FIELDS.get(name)
        target, key = (fields, field) if field else (metadata, name)
        target[key] = f"{target[key]}\n{text}" if key in target else text
    return Document(docno, fields, metadata or NOTHING)


def _elements(body: str) -> Iterator[tuple[str, str]]:
    """The outermost elements; a tag that is never closed is passed over, since the disks have a few."""
    place, unclosed = 0, set[str]()
    while opening := OPENING.search(body, place):
        place, name = opening.end(), opening[1].lower()
        if name in unclosed:
            continue
        closing = re.compile(rf"</{re.escape(name)}>", re.IGNORECASE).search(body, place)
        if closing is None:
            unclosed.add(name)  # looked for once: a hostile document cannot make this quadratic
            continue
        yield name, body[place : closing.start()]
        place = closing.end()


def _element(name: str, value: str, docno: str) -> str:
    if not TAG_NAME.fullmatch(name) or name.lower() in ("doc", "docno"):
        raise RankwellError(f"document {docno!r}: a field named {name!r} cannot be written as a TREC document")
    return f"<{name.upper()}>\n{html.escape(value, quote=False)}\n</{name.upper()}>"
