"""TREC topics in SGML, with tags that are never closed, and in XML, as in TREC-COVID."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from rankwell.collections.lines import output, text_lines, whole_text
from rankwell.collections.reading import Reading
from rankwell.core import FormatError, Phrase, Query, RankwellError


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
                    reading.problems.add(_unclosed(path, started, f"a {closing} before the next {opening}", "none"))
                started, parts = number, []
            elif mark == closing.lower():
                if started:
                    yield started, "".join(parts)
                started = 0
            else:
                parts.append(part)
        parts.append("\n")
    if started:
        reading.problems.add(_unclosed(path, started, f"a {closing} for this {opening}", "the end of the file"))


def _unclosed(path: Path, line: int, expected: str, found: str) -> FormatError:
    return FormatError(path, line, expected=expected, found=Phrase(found))


TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# The words that TREC prints after its tags are labels, not text.
LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
FULL_NAMES = {"desc": "description", "narr": "narrative"}
SHORT_NAMES = {full: short for short, full in FULL_NAMES.items()}


class TrecTopics:
    """`<top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>`."""

    name = "trec"
    suffixes = (".topics", ".sgml")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether the file starts with markup and a `<top>` stands near the start."""
        return path.is_file() and start.lstrip().startswith("<") and "<top>" in start[:4096].lower()

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The topics; `desc` and `narr` are given their full names."""
        for number, body in sgml_records(path, "top", reading):
            texts = _parts(body)
            qid = texts.pop("num", "")
            if not qid or len(qid.split()) > 1:
                reading.problems.add(
                    FormatError(path, number, expected="a <num> with the topic's id", found=body.strip()[:100])
                )
                continue
            reading.place.line = number
            yield Query(qid, {FULL_NAMES.get(name, name): text for name, text in texts.items() if text})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """Write the topics in TREC's layout, with its labels."""
        with output(path) as file:
            for query in queries:
                if query.id.split() != [query.id]:
                    raise RankwellError(f"{path}: expected ids without white space, found {query.id!r}")
                lines = [f"<top>\n<num> Number: {html.escape(query.id, quote=False)}"]
                for name, text in query.texts.items():
                    short = element_name(SHORT_NAMES.get(name, name), query.id)
                    if name in FULL_NAMES or short != short.lower():
                        raise RankwellError(f"query {query.id!r}: a text named {name!r} is read back by another name")
                    lines.append(f"<{short}> {LABELS.get(short, '')}\n{html.escape(text, quote=False)}")
                file.write(("\n".join([*lines, "</top>"]) + "\n\n").encode())


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


def element_name(name: str, qid: str) -> str:
    """The name of a text as an element's name."""
    if not NAME.fullmatch(name) or name.lower() in ("top", "num"):
        raise RankwellError(f"query {qid!r}: a text named {name!r} cannot be written as a TREC topic")
    return name


NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TOPICS = ("topic", "query", "top")
NUMBERS = ("number", "id", "num", "qid")


class TrecXmlTopics:
    """`<topics><topic number="1"><query>..</query><question>..</question></topic></topics>`."""

    name = "trec-xml"
    suffixes = (".xml",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a topic with a number is near the start."""
        return (
            path.is_file()
            and start.lstrip().startswith("<")
            and re.search(r"<(topics|topic|query)[\s>]", start[:4096]) is not None
            and "<top>" not in start[:4096].lower()
        )

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The topics; every child element with text is a wording."""
        for topic in _topics(path, reading):
            qid = next((topic.attributes[name].strip() for name in NUMBERS if topic.attributes.get(name)), "")
            if not qid:
                found = Phrase("a topic without one")
                reading.problems.add(FormatError(path, topic.line, expected="a number for every topic", found=found))
                continue
            texts = {name: text for name, parts in topic.texts.items() if (text := "".join(parts).strip())}
            own = "".join(topic.own).strip()
            reading.place.line = topic.line
            yield Query(qid, {"query": own} if own and not texts else texts)

    def write(self, path: Path, queries: Iterable[Query]) -> None:
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
                    tag = element_name(name, query.id)
                    file.write(f"    <{tag}>{escape(text, {chr(13): '&#13;'})}</{tag}>\n".encode())
                file.write(b"  </topic>\n")
            file.write(b"</topics>\n")


@dataclass
class _Topic:
    """A topic element: where it starts, its attributes, its own text, and that of its child elements."""

    line: int
    attributes: dict[str, str]
    own: list[str] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)


class _Builder:
    """Collects topics while expat parses a document. A topic is the root, or a child of the root."""

    def __init__(self, path: Path) -> None:
        self.topics: list[_Topic] = []
        self._path = path
        self._open: list[str] = []  # names of the open elements
        self.parser = expat.ParserCreate(encoding="utf-8")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self._text, self._refuse

    def _below(self) -> list[str]:
        """The open elements from the topic on; none outside of a topic."""
        below = self._open[0 if self._open[0] == "topic" else 1 :]
        return below if below and below[0] in TOPICS else []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open.append(name)
        if len(self._below()) == 1:
            self.topics.append(_Topic(self.parser.CurrentLineNumber, attributes))

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        match self._below():
            case [_]:
                self.topics[-1].own.append(text)
            case [_, child, *_]:
                self.topics[-1].texts.setdefault(child, []).append(text)

    def _refuse(self, *_: object) -> None:
        """Refuse entities: they can expand a small file to gigabytes."""
        expected = "topics without entity declarations"
        raise FormatError(self._path, self.parser.CurrentLineNumber, expected=expected, found="<!ENTITY")


def _topics(path: Path, reading: Reading) -> list[_Topic]:
    builder = _Builder(path)
    try:
        builder.parser.Parse(whole_text(path, reading), True)
    except expat.ExpatError as error:
        raise FormatError(path, error.lineno, expected="well-formed XML", found=Phrase(str(error))) from error
    return builder.topics
