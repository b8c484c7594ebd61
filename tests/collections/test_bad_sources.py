"""What bad files of every kind get: one line with the place, counted with --skip-bad, and bounded memory."""

from __future__ import annotations

import csv
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from made_files import ARTICLES, docx_parts, pdf_of, write_book, write_database, write_zip
from rankwell.collections import Problems, Reading, archives, long_lines, read_documents
from rankwell.collections.formats import databases, delimited, json_values, spreadsheets
from rankwell.core import RankwellError


def told(path: Path | str) -> str:
    """The one line for a bad file; with `skip` it must be counted and no document be lost."""
    with pytest.raises(RankwellError) as caught:
        list(read_documents(path))
    problems = Problems(skip=True)
    try:
        list(read_documents(path, reading=Reading(problems=problems)))
    except RankwellError:
        assert not problems.count
    else:
        assert problems.count >= 1
        assert str(problems.found[0]) == str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_scan_is_told_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "s.pdf").write_bytes(pdf_of(["", "", ""]))
    assert told(tmp_path / "s.pdf") == (
        f"{tmp_path / 's.pdf'}: expected a PDF file with text, found 3 pages without any text, as a scan has: "
        "recognise its text first, for example with ocrmypdf"
    )


def test_a_locked_pdf_is_told(tmp_path: Path) -> None:
    import pypdf

    writer = pypdf.PdfWriter()
    (tmp_path / "open.pdf").write_bytes(pdf_of(["words"]))
    writer.append(tmp_path / "open.pdf")
    writer.encrypt("secret", algorithm="AES-256")
    writer.write(tmp_path / "s.pdf")
    assert "found one that is protected by a password: save it without" in told(tmp_path / "s.pdf")


@pytest.mark.parametrize("content", [b"%PDF-1.4\n", b"%PDF-1.4\nnonsense\n%%EOF", pdf_of(["a", "b"])[:300]])
def test_a_damaged_pdf_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.pdf").write_bytes(content)
    assert "expected a PDF file with text, found" in told(tmp_path / "s.pdf")


def test_a_bad_page_is_told_with_its_number(tmp_path: Path) -> None:
    whole = pdf_of(["words of one", "words of two"])
    packed = zlib.compress(b"BT /F1 12 Tf 72 720 Td (words of two) Tj ET")
    assert packed in whole
    (tmp_path / "s.pdf").write_bytes(whole.replace(packed, b"\xff" * len(packed)))
    reading = Reading(problems=Problems(skip=True))
    [document] = read_documents(tmp_path / "s.pdf", reading=reading)
    assert "words of one" in document.fields["text"]


@pytest.mark.parametrize("ending", [".docx", ".xlsx", ".epub"])
def test_a_zip_bomb_is_told_and_never_unpacked(tmp_path: Path, ending: str) -> None:
    path, zeros = tmp_path / f"b{ending}", b"\x00" * 50_000_000
    names = {".docx": "word/document.xml", ".xlsx": "xl/workbook.xml", ".epub": "META-INF/container.xml"}
    write_zip(path, {names[ending]: zeros})
    assert path.stat().st_size < 100_000
    assert "bytes that unpack to 50,000,000: more than 200 times as many" in told(path)


@pytest.mark.parametrize("ending", [".docx", ".xlsx"])
def test_a_bomb_that_lies_about_its_size_is_told(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"b{ending}"
    name = {".docx": "word/document.xml", ".xlsx": "xl/workbook.xml"}[ending]
    write_zip(path, {name: b"<a>" + b" " * 60_000_000})
    content = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        true = archive.getinfo(name).file_size
    path.write_bytes(content.replace(struct.pack("<L", true), struct.pack("<L", 1000)))
    assert "that is larger than it declares" in told(path)


def test_entities_in_office_files_are_refused(tmp_path: Path) -> None:
    declared = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    bomb = f"{declared}<w:document><w:p><w:t>&b;</w:t></w:p></w:document>"
    write_zip(tmp_path / "b.docx", {**docx_parts(), "word/document.xml": bomb})
    assert "expected XML without entity declarations" in told(tmp_path / "b.docx")
    record = "<xml><records><record><titles><title>&b;</title></titles></record></records></xml>"
    (tmp_path / "d.xml").write_text(declared.replace("DOCTYPE a", "DOCTYPE xml") + record)
    assert "expected EndNote XML without entity declarations" in told(tmp_path / "d.xml")
    (tmp_path / "e.xml").write_text(
        '<?xml version="1.0"?><xml><records><record><titles><title>&x;</title></titles></record>'
    )
    assert "expected well-formed XML" in told(tmp_path / "e.xml")


def test_macros_in_a_file_that_says_it_has_none_are_told(tmp_path: Path) -> None:
    parts = {**docx_parts("Some words"), "word/vbaProject.bin": b"macro"}
    write_zip(tmp_path / "a.docx", parts)
    assert "expected a file without macros, as .docx says, found macros (word/vbaProject.bin)" in told(
        tmp_path / "a.docx"
    )
    write_zip(tmp_path / "a.docm", parts)  # it says that it has some: they are never run
    assert [document.fields["text"] for document in read_documents(tmp_path / "a.docm")] == ["Some words"]


@pytest.mark.parametrize("name", ["old.docx", "old.xlsx", "old.pptx"])
def test_locked_and_old_office_files_are_told(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600)
    message = told(folder)
    assert name in message
    assert "password" in message or "cannot be read" in message


@pytest.mark.parametrize("make", [lambda path: write_book(path, {"A": [["id", "text"], [1, "some words"]]})])
def test_a_cut_spreadsheet_is_told(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.xlsx")
    content = (tmp_path / "a.xlsx").read_bytes()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "cut.xlsx").write_bytes(content[: len(content) // 2])
    assert "cut.xlsx" in told(tmp_path / "folder")


def test_a_cell_that_is_too_long_is_told_with_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheets, "LONGEST_CELL", 1000)
    write_book(tmp_path / "a.xlsx", {"A": [["id", "text"], [1, "some words"], [2, "x" * 2000], [3, "more words"]]})
    assert "a.xlsx:3: expected cells of at most 1,000 characters" in told(tmp_path / "a.xlsx")


def test_a_line_that_is_too_long_is_told_and_the_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_lines, "LONGEST_LINE", 1000)
    lines = ['{"id": "1", "text": "a"}', '{"id": "2", "text": "' + "x" * 5000 + '"}', '{"id": "3", "text": "c"}']
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    assert told(tmp_path / "d.jsonl").startswith(f"{tmp_path / 'd.jsonl'}:2: expected a line of at most 1,000 bytes")
    skipping = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(tmp_path / "d.jsonl", reading=skipping)] == ["1", "3"]


@pytest.mark.parametrize("cell", ["x" * 5000, '"' + "a line\n" * 800 + '"'])
def test_a_cell_of_a_table_that_is_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    before = csv.field_size_limit(1000)
    monkeypatch.setattr(delimited, "LONGEST_FIELD", 1000)
    monkeypatch.setattr(long_lines, "LONGEST_LINE", 1000)
    try:
        (tmp_path / "d.csv").write_text(f"id,text\n1,a b\n2,{cell}\n3,c d\n")
        message = told(tmp_path / "d.csv")
        assert f"{tmp_path / 'd.csv'}:3: expected a" in message
        skipping = Reading(problems=Problems(skip=True))
        assert [document.id for document in read_documents(tmp_path / "d.csv", reading=skipping)] == ["1", "3"]
    finally:
        csv.field_size_limit(before)


def test_a_row_with_more_cells_than_the_header_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id,title,text\n1,a,b c\n2,d,e,f\n3,g,h i\n")
    assert "d.csv:3: expected 3 columns (id, title, text), found 4" in told(tmp_path / "d.csv")


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    write_database(tmp_path / "x.db", *ARTICLES)
    content = bytearray((tmp_path / "x.db").read_bytes())
    content[4096:6000] = b"\xff" * 1904
    (tmp_path / "x.db").write_bytes(content)
    assert "x.db" in told(tmp_path / "x.db")


def test_a_database_whose_table_goes_away_is_told_with_its_row(tmp_path: Path) -> None:
    more = (
        "INSERT INTO articles WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 2999) "
        "SELECT n, 'Title', replace(hex(zeroblob(500)), '0', 'word '), 1 FROM n"
    )
    write_database(tmp_path / "x.db", ARTICLES[0], more)
    problems = Problems(skip=True)
    found = read_documents(tmp_path / "x.db", reading=Reading(problems=problems))
    next(found)
    with (tmp_path / "x.db").open("r+b") as file:
        file.truncate(200_000)
    kept = sum(1 for _ in found)
    assert 0 < kept < 2999
    assert problems.count == 1
    assert f"x.db:{kept + 2}: expected a row of articles" in str(problems.found[0])


def test_a_cell_of_a_database_that_is_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "LARGEST_CELL", 10_000)
    long = "INSERT INTO articles VALUES (9, 'Long', hex(zeroblob(25000)), 1)"
    write_database(tmp_path / "x.db", *ARTICLES, long, "INSERT INTO articles VALUES (10, 'Short', 'words', 1)")
    assert "x.db:3: expected a row of articles, found" in told(tmp_path / "x.db")
    skipping = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(tmp_path / "x.db", reading=skipping)] == ["7", "8", "10"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"id": "1", "text": "a"}, {"id": "2", "text": ]', "expected JSON (Expecting value)"),
        ('[{"id": "1", "text": "a"},\n{"id": "2", "text": "b"}', ":2: expected an array that is closed"),
        ('[{"id": "1", "text": "a"}, 7]', "expected an object with names and values, found 7"),
        ('[{"id": "1", "text": "a"}] and more', "expected the end of the file after the array"),
        ("[" * 100_000, "expected JSON with fewer objects within each other"),
        ('[["id", "text"], ["1", "a"], ["2"]]', "expected 2 values (id, text)"),
    ],
)
def test_bad_json_is_told(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "d.json").write_text(text)
    assert expected in told(tmp_path / "d.json")


def test_a_value_of_json_that_is_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "LARGEST", 100_000)
    (tmp_path / "d.json").write_text('[{"id": "1", "text": "' + "x" * 1_000_000 + '"}]')
    assert "expected a value of at most 100,000 characters" in told(tmp_path / "d.json")


def test_a_bibtex_entry_that_is_never_closed_is_told_and_the_next_is_read(tmp_path: Path) -> None:
    (tmp_path / "d.bib").write_text("@article{a,\n title = {One\n}\n\n@book{b, title = {Two}}\n")
    assert "d.bib:1: expected an entry @article" in told(tmp_path / "d.bib")
    skipping = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(tmp_path / "d.bib", reading=skipping)] == ["b"]


def test_one_bad_file_of_a_folder_is_listed_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4\nnonsense")
    (tmp_path / "c.html").write_text("<html><p>more words</p></html>")
    (tmp_path / "d.csv").write_text("")
    skipping = Reading(problems=Problems(skip=True))
    found = [document.id for document in read_documents(tmp_path, reading=skipping)]
    assert found == ["a.txt", "c.html"]
    assert [Path(problem.path).name for problem in skipping.problems.found] == ["b.pdf", "d.csv"]


def test_an_archive_with_too_many_parts_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_PARTS", 3)
    write_zip(tmp_path / "a.docx", {**docx_parts("words"), "a": "", "b": "", "c": ""})
    with pytest.raises(RankwellError, match="found 5 parts in it"):
        list(read_documents(tmp_path / "a.docx", "docx"))
