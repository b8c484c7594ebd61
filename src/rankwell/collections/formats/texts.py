"""Files that are one text: HTML, PDF, Word, PowerPoint, OpenDocument, EPUB, Markdown; and boxes of e-mail."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rankwell.collections.archives import Archive, is_zip, part_names
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.contents import LONGEST_TEXT, Content, documents_of_content, html_content
from rankwell.collections.encodings import AUTO, UTF8
from rankwell.collections.format import DocumentFormat, cannot_be_written
from rankwell.collections.mail import LARGEST, looks_like_eml, looks_like_mbox, message_row, split_mbox
from rankwell.collections.markdown import read_markdown
from rankwell.collections.office import DOCX, EPUB, ODF, PPTX, read_docx, read_epub, read_odf, read_pptx
from rankwell.collections.pdf import read_pdf
from rankwell.collections.reading import CUT, Reading, byte_lines, head_bytes, open_bytes, whole_text
from rankwell.collections.tables import Row, documents_of_table
from rankwell.core import Document, FormatError, ParameterError, Phrase, RankwellError

PAGE = re.compile(r"\s*(?:<\?xml[^>]*>|<!--.*?-->|\s)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the first bytes of Office files before 2007, and of locked ones

Opener = Callable[[Path, Reading, ExitStack], Content]


@dataclass(frozen=True)
class TextKind:
    """A kind of file that is one text: its name, its endings, how its content tells it, and how it is opened."""

    name: str
    title: str
    endings: tuple[str, ...]
    recognises: Callable[[Path, str], bool]
    open: Opener

    def documents(self, path: Path, reading: Reading, _: ColumnChoice, docno: str | None = None) -> Iterator[Document]:
        """The document of a file, or one of each part; what cannot be read is a problem."""
        try:
            with ExitStack() as stack:
                content = self.open(path, reading, stack)
                yield from documents_of_content(path, docno or path.name, content, reading, self.name)
        except FormatError as error:
            reading.problems.add(error)

    @property
    def format(self) -> DocumentFormat:
        """The format of these files."""
        return DocumentFormat(self.name, self.recognises, self.documents, cannot_be_written(self.title))


def _is_html(path: Path, start: str) -> bool:
    """Whether it starts as a page, or is a part of a page by its ending."""
    named = path.name.lower().removesuffix(".gz").endswith((".html", ".htm", ".xhtml"))
    return PAGE.match(start[:4000]) is not None or (named and start.lstrip("\ufeff \t\r\n").startswith("<"))


def _open_html(path: Path, reading: Reading, _: ExitStack) -> Content:
    return html_content(whole_text(path, _with_charset(path, reading), LONGEST_TEXT))


def _with_charset(path: Path, reading: Reading) -> Reading:
    """The settings with the encoding that the page declares, unless it is in UTF-8 or UTF-16."""
    start = head_bytes(path, replace(reading, encoding="latin-1").unseen)
    declared = CHARSET.search(start[:4096])
    if reading.encoding != AUTO or declared is None or b"\x00" in start:
        return reading
    try:
        codecs.getincrementaldecoder(UTF8)().decode(start)
    except UnicodeDecodeError:
        try:
            return replace(reading, encoding=declared[1].decode("ascii"))
        except ParameterError:
            return reading
    return reading


def _open_markdown(path: Path, reading: Reading, _: ExitStack) -> Content:
    return read_markdown(whole_text(path, reading, LONGEST_TEXT))


def _open_pdf(path: Path, reading: Reading, stack: ExitStack) -> Content:
    try:
        file = stack.enter_context(path.open("rb"))
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error
    return read_pdf(path, file, reading)


def _open_archive(
    read: Callable[[Archive], Content], what: str, path: Path, reading: Reading, stack: ExitStack
) -> Content:
    del reading
    with path.open("rb") as file:
        if file.read(len(OLD_OFFICE)) == OLD_OFFICE:
            found = Phrase("one of before 2007, or one that is protected by a password: save it as a new one")
            raise FormatError(path, None, expected=what, found=found)
    return read(stack.enter_context(Archive(path, what)))


def _has_part(name: str, path: Path, start: str) -> bool:
    return is_zip(start) and name in part_names(path)


def _has_odf_text(path: Path, start: str) -> bool:
    return (
        is_zip(start)
        and b"opendocument.spreadsheet" not in start.encode()[:200]
        and {
            ODF,
            "META-INF/manifest.xml",
        }
        <= part_names(path)
    )


def _zipped(name: str, what: str, part: str, read: Callable[[Archive], Content], *endings: str) -> TextKind:
    return TextKind(name, what, endings, partial(_has_part, part), partial(_open_archive, read, what))


HTML = TextKind("html", "HTML", (".html", ".htm", ".xhtml"), _is_html, _open_html)
PDF = TextKind("pdf", "PDF", (".pdf",), lambda _, start: start.lstrip("\ufeff\x00 \r\n").startswith("%PDF-"), _open_pdf)
WORD = _zipped("docx", "a Word file", DOCX, read_docx, ".docx", ".docm", ".dotx")
SLIDES = _zipped("pptx", "a PowerPoint file", PPTX, read_pptx, ".pptx", ".pptm", ".ppsx")
BOOK = _zipped("epub", "an EPUB book", EPUB, read_epub, ".epub")
OPEN_TEXT = TextKind(
    "odt",
    "an OpenDocument text",
    (".odt", ".odp", ".ott"),
    _has_odf_text,
    partial(_open_archive, read_odf, "an OpenDocument text"),
)
MARKDOWN = TextKind(
    "markdown",
    "Markdown",
    (".md", ".markdown"),
    lambda path, _: path.name.lower().endswith((".md", ".markdown")),
    _open_markdown,
)
KINDS = (PDF, WORD, SLIDES, BOOK, OPEN_TEXT, HTML, MARKDOWN)


def _read_mbox(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    return _mail(path, split_mbox(byte_lines(path, _as_bytes(reading))), reading, choice, "mbox")


def _read_eml(path: Path, reading: Reading, choice: ColumnChoice) -> Iterator[Document]:
    def whole() -> Iterator[tuple[int, bytes | None]]:
        try:
            with open_bytes(path, _as_bytes(reading)) as file:
                content = file.read(LARGEST + 1)
        except CUT as error:
            found = Phrase(f"one that is cut short or damaged ({error})")
            reading.report(path, None, "a whole gzip file", found)
            return
        yield 1, None if len(content) > LARGEST else content

    return _mail(path, whole(), reading, choice, "e-mail")


def _as_bytes(reading: Reading) -> Reading:
    """The settings for a file whose parts have encodings of their own."""
    return replace(reading, encoding="latin-1")


def _mail(
    path: Path, messages: Iterator[tuple[int, bytes | None]], reading: Reading, choice: ColumnChoice, name: str
) -> Iterator[Document]:
    def rows() -> Iterator[Row]:
        for number, content in messages:
            if content is None:
                reading.report(path, number, f"a message of at most {LARGEST:,} bytes", Phrase("a larger one"))
                continue
            try:
                row = message_row(content)
            except ValueError as error:
                reading.report(path, number, str(error), content[:80])
                continue
            yield number, row

    return documents_of_table(path, rows(), choice, reading, typed=True, details=[name])


MBOX = DocumentFormat("mbox", lambda _, start: looks_like_mbox(start), _read_mbox, cannot_be_written("mbox"))
EML = DocumentFormat("eml", lambda _, start: looks_like_eml(start), _read_eml, cannot_be_written("e-mail"))
