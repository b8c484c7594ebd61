"""Sources beside tables of text: what their documents hold, and how they are chosen."""

from __future__ import annotations

import datetime
import os
import tracemalloc
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from databases import postgres
from made_files import ARTICLES, PEOPLE, docx_parts, pdf_of, write_book, write_database, write_zip
from postgres import Postgres
from rankwell.collections import ColumnChoice, Reading, open_collection, preview, read_documents
from rankwell.core import Document, RankwellError

__all__ = ["postgres"]


def documents(path: Path | str, **settings: object) -> list[Document]:
    return list(read_documents(path, reading=Reading(**settings)))  # type: ignore[arg-type]


def test_nested_objects_are_dotted_columns_and_lists_of_objects_lists(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(
        '[{"id": "1", "title": "Masks", "by": [{"name": "Ann", "at": {"city": "Oslo"}}, {"name": "Bo"}]},'
        '{"id": "2", "title": "Soap", "by": [{"name": "Eva", "at": {"city": "Lima"}}]}]'
    )
    first, second = documents(path)
    assert first.fields == {"title": "Masks", "by.name": "Ann\nBo", "by.at.city": "Oslo"}
    assert second.fields["by.name"] == "Eva"


def test_an_array_of_json_is_read_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    row = '{"id": "%d", "title": "a title", "text": "' + "word " * 200 + '"}'
    path.write_text("[" + ",\n".join(row % number for number in range(20_000)) + "]")
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    assert sum(1 for _ in read_documents(path)) == 20_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("size", [65_530, 65_536, 131_072])
def test_elements_may_cross_any_border_of_a_block(tmp_path: Path, size: int) -> None:
    path = tmp_path / "d.json"
    path.write_text(
        '[{"id": "1", "text": "' + "a" * size + '"}, {"id": "2", "text": "b\\"]", "n": 1234567}' + " " * 9 + "]"
    )
    assert [len(document.fields["text"]) for document in documents(path)] == [size, 3]


def test_sheets_and_rows_may_be_part_of_ids(tmp_path: Path) -> None:
    sheet = [["title", "remarks"], ["Door", "does not close"], ["Roof", "leaks a lot"]]
    write_book(tmp_path / "b.xlsx", {"May": sheet, "June": sheet})
    found = read_documents(tmp_path / "b.xlsx", columns=ColumnChoice(id="{sheet}-{row}"))
    assert [document.id for document in found] == ["May-1", "May-2", "June-1", "June-2"]


def test_dates_of_the_calendar_of_1904_are_right(tmp_path: Path) -> None:
    write_book(tmp_path / "a.xlsx", {"A": [["id", "text", "when"], [1, "some words", datetime.date(2020, 5, 3)]]})
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    before = bytes(parts["xl/workbook.xml"])  # type: ignore[arg-type]
    assert [document.metadata["when"] for document in documents(tmp_path / "a.xlsx")] == ["2020-05-03"]
    parts["xl/workbook.xml"] = before.replace(b"<workbookPr/>", b'<workbookPr date1904="1"/>')
    assert parts["xl/workbook.xml"] != before
    write_zip(tmp_path / "b.xlsx", parts)
    assert [document.metadata["when"] for document in documents(tmp_path / "b.xlsx")] == ["2024-05-04"]


def test_a_table_of_a_database_is_named_in_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_database(Path("x.db"), *ARTICLES, *PEOPLE)
    assert [document.fields for document in documents("sqlite:///x.db?table=people")] == [{"title": "Ann Lee"}]
    assert [document.id for document in open_collection("sqlite:///x.db?table=articles").documents()] == ["7", "8"]
    assert preview("sqlite:///x.db?table=people").tables[0].details[:2] == ("SQLite", "table people")
    with pytest.raises(RankwellError, match=r"expected a table 'nobody', found articles, people"):
        documents("sqlite:///x.db?table=nobody")


def test_odd_names_of_tables_and_columns_are_only_names(tmp_path: Path) -> None:
    name = 'a"; DROP TABLE people; --'
    quoted = '"' + name.replace('"', '""') + '"'
    made = (
        f'CREATE TABLE {quoted} (id INTEGER, "the; ""text""" TEXT)',
        f"INSERT INTO {quoted} VALUES (1, 'some words')",  # noqa: S608 -- this is what is tested
    )
    write_database(tmp_path / "x.db", *made, *PEOPLE)
    [document] = documents(f"sqlite:///{tmp_path / 'x.db'}?table={quote(name)}")
    assert list(document.fields.values()) == ["some words"]
    assert len(documents(f"sqlite:///{tmp_path / 'x.db'}?table=people")) == 1


@pytest.mark.slow
def test_a_table_of_postgresql_is_read_in_a_stream_and_a_lost_server_is_told(postgres: Postgres) -> None:
    import psycopg

    database = postgres.new_database("sources")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE articles (id int, title text, body text, made date, price numeric)")
        connection.execute(
            "INSERT INTO articles SELECT n, 'Title ' || n, repeat('word ', 50), '2020-05-03', 1.5 "
            "FROM generate_series(1, 5000) n"
        )
        connection.execute('CREATE TABLE "odd ""name" (id int)')
    address = f"{database}&table=articles"
    first, *others = documents(address)
    assert (first.id, first.fields["title"]) == ("1", "Title 1")
    assert first.metadata == {"made": "2020-05-03", "price": 1.5}
    assert len(others) == 4999
    assert len(documents(database)) == 5000  # of the only table with text
    following = read_documents(address)
    next(following)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    with pytest.raises(RankwellError, match=r"\[articles\]:\d+: expected a row of the table, found .*"):
        list(following)


def test_passwords_in_addresses_are_not_shown() -> None:
    assert "secret" not in open_collection("postgresql://me:secret@host.example/papers?table=a").name
    with pytest.raises(RankwellError) as caught:
        documents("postgresql://me:secret@127.0.0.1:1/papers?table=a")
    assert "secret" not in str(caught.value)
    assert "expected a database that answers" in str(caught.value)


def test_pages_and_sections_are_documents_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_of(["Masks stop droplets", "Soap destroys it"]))
    write_zip(tmp_path / "b.docx", docx_parts("# One", "It rains.", "# Two", "It snows."))
    pages = documents(tmp_path / "a.pdf", parts=True)
    assert [(page.id, page.metadata["page"]) for page in pages] == [("a.pdf#1", 1), ("a.pdf#2", 2)]
    assert pages[1].fields["text"] == "Soap destroys it"
    sections = documents(tmp_path / "b.docx", parts=True)
    assert [section.fields for section in sections] == [
        {"title": "One", "text": "It rains."},
        {"title": "One - Two", "text": "It snows."},
    ]


def test_a_folder_of_mixed_files_knows_paths_titles_and_dates(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "page.html").write_text("<html><title>A page</title><body><p>Words &amp; more</p></html>")
    (tmp_path / "note.md").write_text("---\ntitle: A note\nyear: 2020\n---\nWords of a note")
    (tmp_path / "plain.txt").write_text("Plain words")
    (tmp_path / "rows.csv").write_text(
        "code,name,remarks\nA1,Lamp,made of brass in town\nA2,Chair,made of oak in town\n"
    )
    for file in tmp_path.rglob("*.*"):
        os.utime(file, (1_588_500_000, 1_588_500_000))
    found = {document.id: document for document in documents(tmp_path)}
    assert list(found) == ["note.md", "plain.txt", "rows.csv#A1", "rows.csv#A2", "sub/page.html"]
    assert found["sub/page.html"].fields == {"title": "A page", "text": "Words & more"}
    assert found["sub/page.html"].metadata == {"path": "sub/page.html", "modified": "2020-05-03", "type": "html"}
    assert found["note.md"].metadata["year"] == 2020
    assert found["rows.csv#A1"].metadata["path"] == "rows.csv"


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(pdf_of(["words"]))
    with pytest.raises(
        RankwellError, match=r"A PDF file needs an optional part of Rankwell: pip install 'rankwell\[files\]'"
    ):
        documents(tmp_path / "a.pdf")


def test_reviews_read_every_bibliography(tmp_path: Path) -> None:
    from rankwell.reviews.references import read_references

    (tmp_path / "a.bib").write_text("@article{k, title = {Masks}, author = {Lee, A and Chen, B}, year = 2020}")
    (tmp_path / "b.enw").write_text("%0 Book\n%T Soap\n%A Ortiz, E\n%D 2021\n")
    assert [of.authors for of in read_references(tmp_path / "a.bib")] == [("Lee, A", "Chen, B")]
    assert [of.year for of in read_references(tmp_path / "b.enw")] == [2021]
