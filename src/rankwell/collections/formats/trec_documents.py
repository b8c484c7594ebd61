"""TREC documents in SGML, as on the TREC disks (Robust04): `<DOC><DOCNO>..</DOCNO><TEXT>..</TEXT></DOC>`."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rankwell.collections.columns import TEXTS, ColumnChoice
from rankwell.collections.formats.trec_topics import sgml_records
from rankwell.collections.lines import output
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document, FormatError, RankwellError

log = logging.getLogger(__name__)

# Names of elements in the newswire sources of the TREC disks.
FIELDS = {
    **{name: name for name in TEXTS},
    "headline": "title",
    "hl": "title",
    "head": "title",
    "ti": "title",
    "lp": "text",
    "leadpara": "text",
}
CONTAINERS = ("header", "h3")  # FBIS keeps its title inside of these
# None of these matches beyond the next < or >, so that a malicious document cannot make them slow.
MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
OPENING = re.compile(r"<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?>")
CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9_-]*)\s*>")
DOCNO = re.compile(r"<DOCNO>([^<]*)</DOCNO>", re.IGNORECASE)
TAG_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class TrecDocuments:
    """Elements that hold text (TITLE, HEADLINE, TEXT, ABSTRACT, ...) become fields, the others metadata."""

    name = "trec"
    suffixes = (".sgml", ".trec", ".xml")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with markup and a `<DOC>` stands near the start."""
        return path.is_file() and start.lstrip().startswith("<") and "<DOC>" in start[:4096].upper()

    def read(self, path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:  # noqa: ARG002 -- tags name the fields
        """Read the documents one at a time."""
        for number, body in sgml_records(path, "DOC", reading):
            body = _without_comments(body)  # noqa: PLW2901 -- comments are no part of it
            found = DOCNO.search(body)
            docno = html.unescape(found[1]).strip() if found else ""
            if found is None or not docno:
                reading.problems.add(
                    FormatError(path, number, expected="a <DOCNO> in the document", found=body[:100].strip())
                )
                continue
            reading.place.line = number
            yield _document(docno, body[: found.start()] + body[found.end() :])

    def write(self, path: Path, documents: Iterable[Document]) -> None:
        """Write fields and metadata as elements; metadata values as text."""
        others = set[str]()
        with output(path) as file:
            for document in documents:
                if not document.id or document.id.strip() != document.id or "\n" in document.id:
                    raise RankwellError(f"{path}: expected ids without white space around them, found {document.id!r}")
                lines = [f"<DOC>\n<DOCNO>{html.escape(document.id, quote=False)}</DOCNO>"]
                for name, value in chain(document.metadata.items(), document.fields.items()):
                    if (FIELDS.get(name) == name) != (name in document.fields):
                        others.add(name)
                    lines.append(_element(name, str(value), document.id))
                file.write(("\n".join([*lines, "</DOC>"]) + "\n").encode())
        if others:
            log.warning("%s: in TREC documents %s are read back in another place", path, ", ".join(sorted(others)))


def _without_comments(body: str) -> str:
    kept, place = [], 0
    while (start := body.find("<!--", place)) >= 0 and (end := body.find("-->", start)) >= 0:
        kept.append(body[place:start])
        place = end + len("-->")
    return "".join([*kept, body[place:]])


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
    """The outermost elements; a tag that is never closed is ignored, since the disks have a few."""
    closings: dict[str, list[re.Match[str]]] = {}
    for closing in CLOSING.finditer(body):
        closings.setdefault(closing[1].lower(), []).append(closing)
    for waiting in closings.values():
        waiting.reverse()
    place = 0
    while opening := OPENING.search(body, place):
        place, name = opening.end(), opening[1].lower()
        waiting = closings.get(name, [])
        while waiting and waiting[-1].start() < place:
            waiting.pop()
        if not waiting or name in CONTAINERS:
            continue
        closing = waiting.pop()
        yield name, body[place : closing.start()]
        place = closing.end()


def _element(name: str, value: str, docno: str) -> str:
    if not TAG_NAME.fullmatch(name) or name in ("doc", "docno", *CONTAINERS):
        raise RankwellError(f"document {docno!r}: a field named {name!r} cannot be written as a TREC document")
    return f"<{name.upper()}>\n{html.escape(value, quote=False)}\n</{name.upper()}>"
