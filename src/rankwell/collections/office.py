"""Texts in zip archives of XML: Word (docx), PowerPoint (pptx), OpenDocument (odt, odp), EPUB."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from rankwell.collections.archives import Archive
from rankwell.collections.contents import Content, Part
from rankwell.collections.html_text import parse_html
from rankwell.collections.safe_xml import text_of
from rankwell.core import FormatError, Phrase

DOCX, PPTX, ODF, EPUB = "word/document.xml", "ppt/presentation.xml", "content.xml", "META-INF/container.xml"
MACROS = ("vbaProject.bin", "vbaData.xml")
HEADING = re.compile(r"(?:heading|title|titre|titolo|título|berschrift|kop|rubrik|otsikko)\s*\d?", re.IGNORECASE)
SLIDE = re.compile(r"ppt/slides/slide(\d+)\.xml")
# Names as expat gives them: with the prefixes that these formats always use.
WORD_BREAKS = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}


def read_docx(archive: Archive) -> Content:
    """A Word file, a part for each heading. Macros are never run; in a file that should have none they are refused."""
    _refuse_macros(archive, ".docx")
    title, facts = _core_facts(archive)
    sections = _sections(_word_paragraphs(archive))
    first = next(sections, None)
    title = title or (first.heading or first.text.partition("\n")[0] if first else "")
    return Content(title, _after(first, sections), "section", facts)


def read_pptx(archive: Archive) -> Content:
    """A presentation, a part for each slide."""
    _refuse_macros(archive, ".pptx")
    title, facts = _core_facts(archive)
    slides = _slides(archive)
    first = next(slides, None)
    return Content(title or (first.heading if first else ""), _after(first, slides), "slide", facts)


def read_odf(archive: Archive) -> Content:
    """A text or a presentation of OpenDocument."""
    title, facts = _core_facts(archive, "meta.xml")
    sections = _sections(
        (paragraph.tag == "text:h", _flat(paragraph)) for paragraph in archive.elements(ODF, "text:h", "text:p")
    )
    first = next(sections, None)
    return Content(title or (first.heading if first else ""), _after(first, sections), "section", facts)


def read_epub(archive: Archive) -> Content:
    """A book, a part for each chapter in reading order."""
    _refuse_encrypted_book(archive)
    root = next((file.get("full-path") for file in archive.elements(EPUB, "rootfile")), None)
    if not root:
        raise archive.problem("one without a list of its chapters")
    package = next(archive.elements(root, "package", "opf:package"), None)
    if package is None:
        raise archive.problem("one without a list of its chapters")
    facts, files = dict[str, str](), dict[str, str]()
    for element in package.iter():
        name = element.tag.rpartition(":")[2]
        if name in ("title", "creator", "language", "date") and element.tag.startswith("dc:"):
            facts.setdefault(name, text_of(element))
        elif name == "item":
            files[element.get("id", "")] = element.get("href", "")
    order = [element.get("idref", "") for element in package.iter() if element.tag.rpartition(":")[2] == "itemref"]
    chapters = [
        posixpath.normpath(posixpath.join(posixpath.dirname(root), unquote(files[of]))) for of in order if of in files
    ]
    title = facts.pop("title", "")
    about = {{"creator": "author"}.get(name, name): text for name, text in facts.items()}
    return Content(title, _chapters(archive, chapters), "chapter", about)


def _chapters(archive: Archive, names: list[str]) -> Iterator[Part]:
    for name in names:
        if name in archive.parts:
            page = parse_html(archive.read(name, 50_000_000).decode("utf-8", "replace"))
            heading = next((section.heading for section in page.sections if section.heading), "")
            yield Part(page.text, heading)


def _refuse_encrypted_book(archive: Archive) -> None:
    """Raise an error for a book whose chapters are encrypted (fonts may be)."""
    if "META-INF/encryption.xml" in archive.parts:
        text = archive.read("META-INF/encryption.xml").decode("utf-8", "replace")
        if re.search(r"URI=\"[^\"]*\.x?html?\"", text):
            raise archive.problem("one that is protected against copying")


def _refuse_macros(archive: Archive, ending: str) -> None:
    macros = [name for name in archive.parts if name.endswith(MACROS)]
    if macros and archive.path.name.lower().endswith(ending):
        found = f"macros ({macros[0]}), which {ending} files cannot have"
        raise FormatError(archive.path, None, expected=f"a file without macros, as {ending} says", found=Phrase(found))


def _core_facts(archive: Archive, name: str = "docProps/core.xml") -> tuple[str, dict[str, str]]:
    """Title, and author and date, of the file's properties."""
    if name not in archive.parts:
        return "", {}
    wanted = ("dc:title", "dc:creator", "dcterms:created", "meta:creation-date")
    values = {element.tag: text_of(element) for element in archive.elements(name, *wanted)}
    created = values.get("dcterms:created") or values.get("meta:creation-date", "")
    facts = {"author": values.get("dc:creator", ""), "created": created[:10]}
    title = values.get("dc:title", "")
    return ("" if title in ("PowerPoint Presentation", "Word Document") else title), facts


def _word_paragraphs(archive: Archive) -> Iterator[tuple[bool, str]]:
    """Paragraphs in order, those of tables, notes and text boxes included; whether each is a heading."""
    styles = _heading_styles(archive)
    notes = [name for name in ("word/footnotes.xml", "word/endnotes.xml") if name in archive.parts]
    for name in (DOCX, *notes):
        for paragraph in archive.elements(name, "w:p"):
            style = _inner(paragraph, "w:pPr", "w:pStyle")
            yield style is not None and style.get("w:val", "") in styles, _word_text(paragraph)


def _heading_styles(archive: Archive) -> frozenset[str]:
    """The styles of headings: in any language, by the name or by the outline level."""
    styles = {"Title", *(f"Heading{level}" for level in range(1, 10))}
    if "word/styles.xml" in archive.parts:
        for style in archive.elements("word/styles.xml", "w:style"):
            name, level = _inner(style, "w:name"), _inner(style, "w:pPr", "w:outlineLvl")
            if level is not None or (name is not None and HEADING.fullmatch(name.get("w:val", ""))):
                styles.add(style.get("w:styleId", ""))
    return frozenset(styles)


def _word_text(paragraph: Element) -> str:
    for both in list(paragraph.iter("mc:AlternateContent")):  # the same text twice, for older programs
        for older in [part for part in both if part.tag == "mc:Fallback"]:
            both.remove(older)
    parts = list[str]()
    for element in paragraph.iter():
        if element.tag in ("w:t", "m:t"):
            parts.append(element.text or "")
        elif element.tag in WORD_BREAKS:
            parts.append(WORD_BREAKS[element.tag])
        elif element.tag == "w:p" and parts:  # a text box within the paragraph
            parts.append("\n")
    return "".join(parts).strip()


def _slides(archive: Archive) -> Iterator[Part]:
    numbers = sorted((int(match[1]), name) for name in archive.parts if (match := SLIDE.fullmatch(name)))
    for number, name in numbers:
        heading, texts = "", list[str]()
        for shape in archive.elements(name, "p:sp", "p:graphicFrame"):
            text = "\n".join(filter(None, map(_drawn, shape.iter("a:p"))))
            placeholder = _inner(shape, "p:nvSpPr", "p:nvPr", "p:ph")
            if not heading and placeholder is not None and placeholder.get("type", "").endswith(("title", "Title")):
                heading = text
            elif text:
                texts.append(text)
        notes = f"ppt/notesSlides/notesSlide{number}.xml"
        if notes in archive.parts:
            texts += filter(None, (_drawn(paragraph) for paragraph in archive.elements(notes, "a:p")))
        yield Part("\n".join(texts), " ".join(heading.split()))


def _inner(element: Element, *names: str) -> Element | None:
    """The first element at that path; a path as text would take prefixes for namespaces."""
    for name in names:
        found = next((part for part in element if part.tag == name), None)
        if found is None:
            return None
        element = found
    return element


def _drawn(paragraph: Element) -> str:
    """The text of a paragraph of a drawing; its fields (a slide's number) are left out."""
    return "".join(run.text or "" for part in paragraph if part.tag == "a:r" for run in part.iter("a:t")).strip()


def _flat(element: Element) -> str:
    """Text of OpenDocument: spaces, tabs and line breaks are elements."""
    parts = [element.text or ""]
    for inner in element:
        parts.append({"text:s": " " * _count(inner), "text:tab": "\t", "text:line-break": "\n"}.get(inner.tag, ""))
        parts += [_flat(inner), inner.tail or ""]
    return "".join(parts)


def _count(element: Element) -> int:
    given = element.get("text:c", "1")
    return min(int(given), 100) if given.isdecimal() else 1


def _sections(paragraphs: Iterator[tuple[bool, str]]) -> Iterator[Part]:
    """A part for each heading, with the paragraphs below it."""
    heading, texts = "", list[str]()
    for is_heading, text in paragraphs:
        if is_heading and text.strip():
            if heading or texts:
                yield Part("\n".join(texts), heading)
            heading, texts = " ".join(text.split()), []
        elif text.strip():
            texts.append(text)
    if heading or texts:
        yield Part("\n".join(texts), heading)


def _after(first: Part | None, others: Iterator[Part]) -> Iterator[Part]:
    if first is not None:
        yield first
    yield from others
