"""The content of a file that is one text (a PDF, a Word file, a page): its title, its parts, what is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankwell.collections.html_text import HtmlPage, parse_html
from rankwell.collections.reading import Reading
from rankwell.core import NOTHING, Document

LONGEST_TEXT = 100_000_000  # characters of a document
LONGEST_TITLE = 300


@dataclass(frozen=True)
class Part:
    """A page, slide, chapter or section: what it is called, and its text."""

    text: str
    heading: str = ""


@dataclass(frozen=True)
class Content:
    """A file's title, its parts in order (read while they are asked for), and further facts, such as its author.

    `unit` is what a part is called: page, slide, chapter, section.
    """

    title: str
    parts: Iterator[Part]
    unit: str = "section"
    facts: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


def documents_of_content(path: Path, docno: str, content: Content, reading: Reading, kind: str) -> Iterator[Document]:
    """The document of a file, or a document for each part if `reading.parts` asks for them.

    A text that is too long, and a file without any text, is a problem.
    """
    title = " ".join(content.title.split())[:LONGEST_TITLE]
    facts = {**{name: value for name, value in content.facts.items() if value not in (None, "")}, "type": kind}
    if reading.parts:
        yield from _parts(path, docno, replace(content, title=title, facts=facts), reading)
        return
    texts, size, count = list[str](), 0, 0
    for part in content.parts:
        count += 1
        lines = [part.heading, part.text] if part.heading != title or texts else [part.text]
        text = "\n".join(line for line in lines if line)
        size += len(text)
        if size > LONGEST_TEXT:
            reading.report(path, None, f"a text of at most {LONGEST_TEXT:,} characters", "more: use --parts")
            return
        texts += [text] * bool(text)
    if content.unit in ("page", "slide") and count:
        facts[f"{content.unit}s"] = count
    fields = {"title": title, "text": "\n\n".join(texts)}
    yield Document(docno, {name: text for name, text in fields.items() if text.strip()}, facts)


def _parts(path: Path, docno: str, content: Content, reading: Reading) -> Iterator[Document]:
    for number, part in enumerate(content.parts, 1):
        if len(part.text) > LONGEST_TEXT:
            reading.report(path, number, f"a {content.unit} of at most {LONGEST_TEXT:,} characters", "more")
        elif part.text.strip() or part.heading:
            own = " ".join(part.heading.split())[:LONGEST_TITLE]
            joined = " - ".join(dict.fromkeys(filter(None, (content.title, own))))
            fields = {"title": joined, "text": part.text}
            metadata = {**content.facts, content.unit: number, "file": docno}
            yield Document(f"{docno}#{number}", {name: text for name, text in fields.items() if text}, metadata)


def html_content(text: str) -> Content:
    """Title and sections of an HTML page."""
    page: HtmlPage = parse_html(text)
    return Content(page.title, (Part(section.text, section.heading) for section in page.sections))
