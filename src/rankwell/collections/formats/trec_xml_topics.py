"""TREC topics in XML, as in TREC-COVID: with a query, a question and a narrative."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from rankwell.collections.formats.trec_topics import element_name
from rankwell.collections.lines import whole_text
from rankwell.collections.output import output
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.query import Query

NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TOPICS = ("topic", "query", "top")
NUMBERS = ("number", "id", "num", "qid")


class TrecXmlTopics:
    """`<topics><topic number="1"><query>..</query><question>..</question></topic></topics>`."""

    name = "trec-xml"
    suffixes = (".xml",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a topic with a number stands near the start."""
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
        """The layout of TREC-COVID."""
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
    """Collects topics while expat goes through a document. A topic is the root, or a child of the root."""

    def __init__(self, path: Path) -> None:
        self.topics: list[_Topic] = []
        self._path = path
        self._open: list[str] = []  # the names of the elements that we are in
        self.parser = expat.ParserCreate(encoding="utf-8")
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._start, self._end
        self.parser.CharacterDataHandler, self.parser.EntityDeclHandler = self._text, self._refuse

    def _below(self) -> list[str]:
        """The open elements from the topic on; none where we are not in a topic."""
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
        """Entities can blow a small file up to gigabytes, and topics have no use for them."""
        expected = "topics without entity declarations"
        raise FormatError(self._path, self.parser.CurrentLineNumber, expected=expected, found="<!ENTITY")


def _topics(path: Path, reading: Reading) -> list[_Topic]:
    builder = _Builder(path)
    try:
        builder.parser.Parse(whole_text(path, reading), True)
    except expat.ExpatError as error:
        raise FormatError(path, error.lineno, expected="well-formed XML", found=Phrase(str(error))) from error
    return builder.topics
