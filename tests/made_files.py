"""Makes the files of the zoo that are not plain text, with the libraries that people use for them."""

from __future__ import annotations

import datetime
import gzip
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl

from rankwell.collections import write_documents
from rankwell.core import Document

Rows = Sequence[Sequence[object]]


def write_book(path: Path, sheets: dict[str, Rows]) -> None:
    """An Excel file with these sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)


def write_database(path: Path, *statements: str) -> None:
    """A SQLite file after these statements."""
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def write_zip(path: Path, parts: dict[str, str | bytes]) -> None:
    """An archive of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def docx_parts(*paragraphs: str) -> dict[str, str | bytes]:
    """The parts of a Word file; a paragraph that starts with `# ` is a heading."""

    def paragraph(text: str) -> str:
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if text.startswith("# ") else ""
        return f"<w:p>{style}<w:r><w:t>{text.removeprefix('# ')}</w:t></w:r></w:p>"

    body = "".join(map(paragraph, paragraphs))
    start = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    return {"[Content_Types].xml": "<Types/>", "word/document.xml": f"{start}{body}</w:body></w:document>"}


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF file with a line of text on each page; an empty page has a picture's frame only."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "0 0 612 792 re S"
        packed = zlib.compress(drawn.encode("latin-1"))
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids))
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(content)
    size = len(objects) + 1
    return (
        content
        + b"xref\n0 %d\n0000000000 65535 f \n%btrailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (
            *(size, table, size),
            start,
        )
    )


def _one_sheet(path: Path) -> None:
    rows = [
        ["Case", "Subject", "Details", "Opened", "Cost"],
        ["C-1", "Door", "The door does not close at night", datetime.date(2020, 5, 3), 12.5],
        ["C-2", "Roof", "The roof leaks when it rains", datetime.date(2020, 6, 4), 300],
        ["C-3", "Lamp", "The lamp in the hall is broken", datetime.date(2020, 7, 5), 7],
    ]
    write_book(path, {"Cases": rows})


def _months(path: Path) -> None:
    head = ["id", "title", "remarks"]
    january = [head, [1, "Door", "does not close"], [2, "Roof", "leaks when it rains"]]
    february = [head, [1, "Lamp", "is broken"], [2, "Bell", "rings all night long"]]
    write_book(path, {"January": january, "February": february})


def _report(path: Path) -> None:
    rows = [
        ["Sales report"],
        ["made on", "2020-05-01"],
        [],
        ["code", "product", "remarks", "amount"],
        ["S1", "Lamp", "Sold to a school in the north", 3],
        ["S2", "Chair", "Sold to a town hall in the south", 12],
    ]
    write_book(path, {"Sheet1": rows})


ARTICLES = (
    "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT, stars REAL)",
    "INSERT INTO articles VALUES (7, 'Masks', 'Masks stop droplets', 4.5), (8, 'Soap', 'Soap destroys it', 3)",
)
PEOPLE = ("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO people VALUES (1, 'Ann Lee')")
LINKS = ("CREATE TABLE links (article INTEGER, person INTEGER)", "INSERT INTO links VALUES (7, 1)")


def _book(path: Path) -> None:
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>A book of rain</dc:title><dc:creator>Ann Lee</dc:creator></metadata><manifest>"
        '<item id="b" href="two.xhtml"/><item id="a" href="one%20a.xhtml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": container,
        "OEBPS/book.opf": package,
        "OEBPS/one a.xhtml": "<html><body><h1>One</h1><p>It rained all day.</p></body></html>",
        "OEBPS/two.xhtml": "<html><body><h1>Two</h1><p>The sun came back.</p></body></html>",
    }
    write_zip(path, parts)


def _paper(path: Path) -> None:
    parts = docx_parts("# Masks and droplets", "Masks stop large droplets.", "# Results")
    document = str(parts["word/document.xml"])
    table = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body>"
    write_zip(path, {**parts, "word/document.xml": document.replace("</w:body>", table)})


def _folder(path: Path) -> None:
    (path / "notes").mkdir(parents=True)
    (path / "notes" / "rain.txt").write_text("It rains.")
    (path / "page.html").write_text("<html><title>A page</title><p>Soap destroys the envelope.</p></html>")
    (path / "table.csv").write_text("id,title,text\n1,Masks,Masks stop large droplets.\n2,Soap,Soap helps.\n")
    (path / "picture.png").write_bytes(b"\x89PNG")


DOCUMENTS = [
    Document("1", {"title": "Masks", "text": "Masks stop droplets of many sizes"}, {"year": 2020}),
    Document("2", {"title": "Soap", "text": "Soap destroys the envelope of it"}, {"year": 2021}),
]
PAGES = ["Masks stop large droplets", "Soap destroys the envelope"]


def _letter(path: Path) -> None:
    """A text of OpenDocument."""
    names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    names += ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    body = "<text:h>Masks</text:h><text:p>Masks stop large droplets.</text:p>"
    content = f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body>"
    content += "</office:document-content>"
    write_zip(
        path,
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "content.xml": content,
            "meta.xml": f"<office:document-meta {names}/>",
            "META-INF/manifest.xml": "<manifest/>",
        },
    )


MAKERS: dict[str, Callable[[Path], object]] = {
    "one_sheet.xlsx": _one_sheet,
    "months.xlsx": _months,
    "report.xlsx": _report,
    "one_table.db": lambda path: write_database(path, *ARTICLES, *LINKS),
    "two_tables.db": lambda path: write_database(path, *ARTICLES, *PEOPLE),
    "paper.docx": _paper,
    "book.epub": _book,
    "letter.odt": _letter,
    "slides.pdf": lambda path: path.write_bytes(pdf_of(PAGES)),
    "scan.pdf": lambda path: path.write_bytes(pdf_of(["", ""])),
    "packed.csv.gz": lambda path: path.write_bytes(
        gzip.compress(b"id,title,text\n1,Masks,Masks stop droplets\n2,Soap,Soap helps a lot\n")
    ),
    "table.parquet": lambda path: write_documents(path, DOCUMENTS),
    "folder": _folder,
}
