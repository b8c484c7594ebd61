"""TREC topics: SGML with tags that are never closed, and XML as in TREC-COVID."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from rankwell.collections.lines import text_lines, whole_text
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.query import Query

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9_-]*)\s*>")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# The words that TREC prints after its tags are labels, not text.
LABELS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
FULL_NAMES = {"desc": "description", "narr": "narrative"}
SHORT_NAMES = {full: short for short, full in FULL_NAMES.items()}
NUMBERS = ("number", "id", "num", "qid")


class TrecTopics:
    """`<top> <num> Number: 301 <title> ... <desc> Description: ... <narr> Narrative: ... </top>`."""

    name = "trec"
    suffixes = (".topics", ".sgml")

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a `<top>` stands near the start."""
        return path.is_file() and "<top>" in start[:4096].lower()

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The topics; `desc` and `narr` are given their full names."""
        for number, body in _tops(path, reading):
            texts = _parts(body)
            qid = texts.pop("num", "").removeprefix("Number:").strip()
            if not qid or len(qid.split()) > 1:
                reading.problems.add(
                    FormatError(path, number, expected="a <num> with the topic's id", found=body.strip()[:100])
                )
                continue
            yield Query(qid, {FULL_NAMES.get(name, name): text for name, text in texts.items() if text})

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """TREC's own look, with its labels."""
        with atomic_write(path) as file:
            for query in queries:
                lines = [f"<top>\n<num> Number: {query.id}"]
                for name, text in query.texts.items():
                    short = _checked(SHORT_NAMES.get(name, name), query.id)
                    lines.append(f"<{short}> {LABELS.get(short, '')}\n{html.escape(text, quote=False)}")
                file.write(("\n".join([*lines, "</top>"]) + "\n\n").encode())


class TrecXmlTopics:
    """`<topics><topic number="1"><query>..</query><question>..</question></topic></topics>`."""

    name = "trec-xml"
    suffixes = (".xml",)

    def recognises(self, path: Path, start: str) -> bool:
        """Whether a topic with a number stands near the start."""
        return (
            path.is_file()
            and re.search(r"<(topics|topic|query)[\s>]", start[:4096]) is not None
            and "<top>" not in start[:4096].lower()
        )

    def read(self, path: Path, reading: Reading) -> Iterator[Query]:
        """The topics; every child element with text is a wording."""
        for position, topic in enumerate(_xml(path, reading), 1):
            qid = next((topic.attrib[name].strip() for name in NUMBERS if topic.attrib.get(name, "").strip()), "")
            if not qid:
                found = Phrase(f"topic {position} without one")
                reading.problems.add(FormatError(path, None, expected="a number for every topic", found=found))
                continue
            texts = {child.tag: text for child in topic if (text := "".join(child.itertext()).strip())}
            if not texts and topic.text and topic.text.strip():
                texts = {"query": topic.text.strip()}
            yield Query(qid, texts)

    def write(self, path: Path, queries: Iterable[Query]) -> None:
        """The layout of TREC-COVID."""
        with atomic_write(path) as file:
            file.write(b"<topics>\n")
            for query in queries:
                file.write(f"  <topic number={quoteattr(query.id)}>\n".encode())
                for name, text in query.texts.items():
                    tag = _checked(name, query.id)
                    file.write(f"    <{tag}>{escape(text, {chr(13): '&#13;'})}</{tag}>\n".encode())
                file.write(b"  </topic>\n")
            file.write(b"</topics>\n")


def _tops(path: Path, reading: Reading) -> Iterator[tuple[int, str]]:
    """What stands between each <top> and </top>, with its line."""
    started, lines = 0, list[str]()
    for number, line in text_lines(path, reading):
        mark = line.strip().lower()
        if mark == "<top>":
            started, lines = number, []
        elif mark == "</top>" and started:
            yield started, "\n".join(lines)
            started = 0
        elif started:
            lines.append(line)
    if started:
        reading.problems.add(
            FormatError(path, started, expected="a </top> for this <top>", found=Phrase("the end of the file"))
        )


def _parts(body: str) -> dict[str, str]:
    """The text after each opening tag, up to the next tag; labels are dropped."""
    texts: dict[str, str] = {}
    marks = list(TAG.finditer(body))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        if mark[1]:
            continue
        name = mark[2].lower()
        text = body[mark.end() : following.start() if following else len(body)].strip()
        texts[name] = html.unescape(text.removeprefix(LABELS.get(name, "")).strip())
    return texts


def _xml(path: Path, reading: Reading) -> list[ElementTree.Element]:
    text = whole_text(path, reading)
    if "<!ENTITY" in text:  # entities can blow a small file up to gigabytes; topics have no use for them
        raise FormatError(path, None, expected="topics without entity declarations", found="<!ENTITY")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 -- entity declarations are refused above
    except ElementTree.ParseError as error:
        raise FormatError(path, error.position[0], expected="well-formed XML", found=Phrase(str(error))) from error
    return [root] if root.tag == "topic" else [child for child in root if child.tag in ("topic", "query", "top")]


def _checked(name: str, qid: str) -> str:
    if not NAME.fullmatch(name) or name.lower() in ("top", "num"):
        raise RankwellError(f"query {qid!r}: a text named {name!r} cannot be written as a TREC topic")
    return name
