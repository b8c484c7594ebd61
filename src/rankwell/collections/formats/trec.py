"""TREC's judgments, topics (in SGML, with tags that are never closed, and in XML) and documents in SGML."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from rankwell.collections.column_names import TEXTS
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.format import DocumentFormat, QrelsFormat, QueryFormat
from rankwell.collections.formats.trec_ids import MARK, IdColumns, restored
from rankwell.collections.reading import Reading, first_lines, output, text_lines, whole_text
from rankwell.collections.safe_xml import NOT_IN_XML, elements
from rankwell.core import NOTHING, Document, Judgment, Judgments, Phrase, Query, RankwellError

log = logging.getLogger(__name__)

COLUMNS = 4
WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
NUMBER = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]*)?")


def _is_qrels(_: Path, start: str) -> bool:
    """Whether the first line has four columns and ends in a number; one that is not whole is a mistake to be read."""
    parts = first_row(start)
    return len(parts) == COLUMNS and NUMBER.fullmatch(parts[3]) is not None


def _read_qrels(path: Path, reading: Reading) -> Iterator[Judgment]:
    for number, line in text_lines(path, reading):
        parts = columns(line)
        if not parts or parts[0].startswith("#"):
            continue
        if len(parts) == COLUMNS and is_whole(parts[3]):
            if parts[1].endswith(MARK):
                parts[:3] = [restored(part.encode()).decode(errors="replace") for part in parts[:3]]
            yield Judgment(parts[0], parts[2], int(parts[3]))
        else:
            reading.report(path, number, "4 columns (qid iteration docno grade), the grade a whole number", line)


def _write_qrels(path: Path, judgments: Judgments) -> None:
    ids = IdColumns("0", path, judgments, blanks=any(" " in docno for _, docno, _ in judgments.rows()))
    with output(path) as file:
        for qid, docno, grade in judgments.rows():
            file.write(f"{ids.line(qid, docno)} {grade}\n".encode())


# `qid iteration docno grade` between white space; the iteration is not used (but see `trec_ids`). # starts a comment.
QRELS = QrelsFormat("trec", _is_qrels, _read_qrels, _write_qrels, (".qrels", ".qrel", ".txt"))


def first_row(start: str) -> list[str]:
    """The columns of the first line that is neither empty nor a comment."""
    rows = (columns(line) for line in first_lines(start, 1000))
    return next((row for row in rows if row and not row[0].startswith("#")), [])


def columns(line: str) -> list[str]:
    """The parts between ASCII white space, as in trec_eval: an id may hold another kind of space."""
    return line.split() if line.isascii() else [part.decode() for part in line.encode().split()]


def is_whole(text: str) -> bool:
    """Whether it is a whole number of a sensible size."""
    return WHOLE.fullmatch(text) is not None


def sgml_records(path: Path, tag: str, reading: Reading) -> Iterator[tuple[int, str]]:
    """The content of each `<tag>` with its first line; one that is not closed is a problem."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    marks = re.compile(f"({opening}|{closing})", re.IGNORECASE)
    started, parts = 0, list[str]()
    for number, line in text_lines(path, reading):
        for part in marks.split(line) if "<" in line else [line]:
            mark = part.lower()
            if mark == opening.lower():
                if started:
                    reading.report(path, started, f"a {closing} before the next {opening}", Phrase("none"))
                started, parts = number, []
            elif mark == closing.lower():
                if started:
                    yield started, "".join(parts)
                started = 0
            else:
                parts.append(part)
        parts.append("\n")
    if started:
        reading.report(path, started, f"a {closing} for this {opening}", Phrase("the end of the file"))


TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# The words that TREC prints after its tags are labels, not text.
LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
FULL_NAMES = {"desc": "description", "narr": "narrative"}
SHORT_NAMES = {full: short for short, full in FULL_NAMES.items()}


def _read_topics(path: Path, reading: Reading) -> Iterator[Query]:
    """The topics; `desc` and `narr` are given their full names."""
    for number, body in sgml_records(path, "top", reading):
        texts = _parts(body)
        qid = texts.pop("num", "")
        if not qid or len(qid.split()) > 1:
            reading.report(path, number, "a <num> with the topic's id", body.strip()[:100])
            continue
        reading.place.line = number
        yield Query(qid, {FULL_NAMES.get(name, name): text for name, text in texts.items() if text})


def _parts(body: str) -> dict[str, str]:
    """The text after each opening tag, up to the next tag; labels are dropped."""
    texts: dict[str, str] = {}
    for mark, following in pairwise([*TAG.finditer(body), None]):
        if mark is None or mark[1]:
            continue
        name = mark[2].lower()
        text = body[mark.end() : following.start() if following else len(body)].strip()
        texts[name] = html.unescape(text.removeprefix(LABELS.get(name, "")).strip())
    return texts


def _write_topics(path: Path, queries: Iterable[Query]) -> None:
    with output(path) as file:
        for query in queries:
            if query.id.split() != [query.id]:
                raise RankwellError(f"{path}: expected ids without white space, found {query.id!r}")
            lines = [f"<top>\n<num> Number: {html.escape(query.id, quote=False)}"]
            for name, text in query.texts.items():
                short = _element_name(SHORT_NAMES.get(name, name), query.id)
                if name in FULL_NAMES or short != short.lower():
                    raise RankwellError(f"query {query.id!r}: a text named {name!r} is read back by another name")
                lines.append(f"<{short}> {LABELS.get(short, '')}\n{html.escape(text, quote=False)}")
            file.write(("\n".join([*lines, "</top>"]) + "\n\n").encode())


def _element_name(name: str, qid: str) -> str:
    if not NAME.fullmatch(name) or name.lower() in ("top", "num"):
        raise RankwellError(f"query {qid!r}: a text named {name!r} cannot be written as a TREC topic")
    return name


def _has_tag(start: str, tag: str) -> bool:
    """Whether a file starts with markup and has the tag near its start."""
    return start.lstrip().startswith("<") and tag in start[:4096].lower()


# `<top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>`
TOPICS = QueryFormat(
    "trec", lambda _, start: _has_tag(start, "<top>"), _read_topics, _write_topics, (".topics", ".sgml")
)

NUMBERS = ("number", "id", "num", "qid")
XML_TOPIC = re.compile(r"<(topics|topic|query)[\s>]")


def _is_xml_topics(_: Path, start: str) -> bool:
    return _has_tag(start, "<") and XML_TOPIC.search(start[:4096]) is not None and not _has_tag(start, "<top>")


def _read_xml_topics(path: Path, reading: Reading) -> Iterator[Query]:
    """The topics; every child element with text is a wording."""
    text = whole_text(path, reading).encode()
    for line, topic in elements([text], ("topic", "query", "top"), path, what="topics", encoding="utf-8"):
        qid = next((topic.attrib[name].strip() for name in NUMBERS if topic.get(name)), "")
        if not qid:
            reading.report(path, line, "a number for every topic", Phrase("a topic without one"))
            continue
        texts: dict[str, str] = {}
        for child in topic:
            texts[child.tag] = texts.get(child.tag, "") + "".join(child.itertext())
        texts = {name: text.strip() for name, text in texts.items() if text.strip()}
        own = "".join([topic.text or "", *(child.tail or "" for child in topic)]).strip()
        reading.place.line = line
        yield Query(qid, {"query": own} if own and not texts else texts)


def _write_xml_topics(path: Path, queries: Iterable[Query]) -> None:
    """Write the topics in the layout of TREC-COVID."""
    with output(path) as file:
        file.write(b"<topics>\n")
        for query in queries:
            for text in (query.id, *query.texts.values()):
                if odd := NOT_IN_XML.search(text):
                    raise RankwellError(f"{path}: query {query.id!r} has {odd[0]!r}, which XML cannot hold")
            if not query.id or query.id.strip() != query.id:
                raise RankwellError(f"{path}: expected ids without white space around them, found {query.id!r}")
            file.write(f"  <topic number={quoteattr(query.id)}>\n".encode())
            for name, text in query.texts.items():
                tag = _element_name(name, query.id)
                file.write(f"    <{tag}>{escape(text, {chr(13): '&#13;'})}</{tag}>\n".encode())
            file.write(b"  </topic>\n")
        file.write(b"</topics>\n")


# `<topics><topic number="1"><query>..</query><question>..</question></topic></topics>`
XML_TOPICS = QueryFormat("trec-xml", _is_xml_topics, _read_xml_topics, _write_xml_topics, (".xml",))

# Names of elements in the newswire sources of the TREC disks.
FIELDS = {
    **{name: name for name in TEXTS},
    **dict.fromkeys(("headline", "hl", "head", "ti"), "title"),
    **dict.fromkeys(("lp", "leadpara"), "text"),
}
CONTAINERS = ("header", "h3")  # FBIS keeps its title inside of these
# None of these matches beyond the next < or >, so that a malicious document cannot make them slow.
MARKUP = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
OPENING = re.compile(r"<([A-Za-z][A-Za-z0-9_-]*)(?:\s[^<>]*)?>")
CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9_-]*)\s*>")
DOCNO = re.compile(r"<DOCNO>([^<]*)</DOCNO>", re.IGNORECASE)
TAG_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def _read_documents(path: Path, reading: Reading, _: ColumnChoice) -> Iterator[Document]:
    """The documents. Elements that hold text (TITLE, HEADLINE, TEXT, ...) become fields, the others metadata."""
    for number, record in sgml_records(path, "DOC", reading):
        body = _without_comments(record)
        match = DOCNO.search(body)
        docno = html.unescape(match[1]).strip() if match else ""
        if match is None or not docno:
            reading.report(path, number, "a <DOCNO> in the document", body[:100].strip())
            continue
        reading.place.line = number
        yield _document(docno, body[: match.start()] + body[match.end() :])


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
        if text:
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


def _write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write fields and metadata as elements; metadata values as text."""
    others = set[str]()
    with output(path) as file:
        for document in documents:
            if not document.id or document.id.strip() != document.id or "\n" in document.id:
                raise RankwellError(f"{path}: expected ids without white space around them, found {document.id!r}")
            lines = [f"<DOC>\n<DOCNO>{html.escape(document.id, quote=False)}</DOCNO>"]
            for name, value in chain(document.metadata.items(), document.fields.items()):
                if not TAG_NAME.fullmatch(name) or name in ("doc", "docno", *CONTAINERS):
                    raise RankwellError(
                        f"document {document.id!r}: a field named {name!r} cannot be written as a TREC document"
                    )
                if (FIELDS.get(name) == name) != (name in document.fields):
                    others.add(name)
                lines.append(f"<{name.upper()}>\n{html.escape(str(value), quote=False)}\n</{name.upper()}>")
            file.write(("\n".join([*lines, "</DOC>"]) + "\n").encode())
    if others:
        log.warning("%s: in TREC documents %s are read back in another place", path, ", ".join(sorted(others)))


# `<DOC><DOCNO>..</DOCNO><TEXT>..</TEXT></DOC>`, as on the TREC disks (Robust04)
DOCUMENTS = DocumentFormat(
    "trec",
    lambda _, start: _has_tag(start, "<doc>"),
    _read_documents,
    _write_documents,
    (".sgml", ".trec", ".xml"),
)
