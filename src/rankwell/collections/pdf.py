"""The text of PDF files, a page at a time, with pypdf (the extra `files`)."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from rankwell.collections.contents import Content, Part
from rankwell.collections.reading import Reading
from rankwell.core import FormatError, MissingExtraError, Phrase

MOST_PAGES = 100_000
SECONDS = 60.0  # that a file may take, and once more for every 120 pages
PAGES_OF_A_MINUTE = 120
LONGEST_PAGE = 5_000_000  # characters
NO_TITLE = re.compile(
    r"\s*(?:untitled|unknown|document\d*|title|microsoft (?:word|powerpoint) - .*|"
    r".*\.(?:docx?|pptx?|tex|dvi|indd|qxd|pdf|rtf))?\s*",
    re.IGNORECASE,
)
DATE = re.compile(r"D?:?(\d{4})(\d\d)(\d\d)")
SCAN = "pages without any text, as a scan has: recognise its text first, for example with ocrmypdf"
LOCKED = "one that is protected by a password: save it without"


def read_pdf(path: Path, file: BinaryIO, reading: Reading, seconds: float | None = None) -> Content:
    """Title and pages of a PDF file; one that is locked, damaged or takes too long raises a FormatError.

    A bad page is reported. The time is checked before each page; a single page is not interrupted.
    """
    pypdf, seconds = _pypdf(), SECONDS if seconds is None else seconds
    try:
        opened = pypdf.PdfReader(file, strict=False)
        locked = opened.is_encrypted and not opened.decrypt("")
        count = 0 if locked else len(opened.pages)
        about = {} if locked else opened.metadata or {}
        title, author, created = (str(about.get(name) or "") for name in ("/Title", "/Author", "/CreationDate"))
    except FormatError:
        raise
    except Exception as error:
        if isinstance(error, (pypdf.errors.FileNotDecryptedError, pypdf.errors.DependencyError)):
            raise _problem(path, LOCKED) from error
        raise _problem(path, f"one that is damaged ({_reason(error)})") from error
    if locked:
        raise _problem(path, LOCKED)
    if count > MOST_PAGES:
        raise _problem(path, f"{count:,} pages")
    pages = _pages(path, opened, reading, seconds * (1 + count / PAGES_OF_A_MINUTE))
    first = next(pages, None)
    if NO_TITLE.fullmatch(title):
        title = next((line for line in (first.text if first else "").splitlines() if re.search(r"\w{2}", line)), "")
    date = DATE.match(created)
    facts = {"author": author.strip(), "created": "-".join(date.groups()) if date else ""}
    return Content(title, _all(first, pages), "page", facts)


def _all(first: Part | None, others: Iterator[Part]) -> Iterator[Part]:
    if first is not None:
        yield first
    yield from others


def _pages(path: Path, opened: Any, reading: Reading, seconds: float) -> Iterator[Part]:
    some, bad, left, count = False, False, seconds, len(opened.pages)
    for number in range(count):
        start = time.monotonic()
        if number and left <= 0:
            limit = f"a PDF file that is read within {seconds:,.1f} s"
            raise FormatError(f"{path}, page {number + 1}", None, expected=limit, found=Phrase("a slower one"))
        try:
            text = opened.pages[number].extract_text()
        except Exception as error:  # noqa: BLE001 -- see above
            bad = True
            reading.report(f"{path}, page {number + 1}", None, "a readable page", Phrase(_reason(error)))
            continue
        finally:
            left -= time.monotonic() - start
        if len(text) > LONGEST_PAGE:
            bad = True
            found = Phrase(f"{len(text):,}")
            reading.report(f"{path}, page {number + 1}", None, f"at most {LONGEST_PAGE:,} characters", found)
            continue
        text = text.encode("utf-8", "replace").decode()  # half characters are in some
        some = some or bool(text.strip())
        yield Part(text.strip())
    if not some and not bad:
        raise _problem(path, f"{count} {SCAN}" if count else "no page")


def _problem(path: Path, found: str) -> FormatError:
    return FormatError(path, None, expected="a PDF file with text", found=Phrase(found))


def _reason(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:100]


def _pypdf() -> Any:
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtraError("A PDF file", extra="files") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what is wrong with a file is said once, by us
    return pypdf
