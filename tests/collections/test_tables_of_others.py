"""Tables as other people have them: any names of columns, delimiters, encodings, numbers and dates."""

from __future__ import annotations

from pathlib import Path

import pytest
from collection_strategies import plain

from rankwell.collections import ColumnChoice, Reading, read_documents
from rankwell.core import Document, RankwellError


def read(path: Path, content: str | bytes, **choice: str) -> list[Document]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_documents(path, columns=ColumnChoice(**choice)))  # type: ignore[arg-type]


def test_short_notes_are_searchable(tmp_path: Path) -> None:
    rows = "id,title,notes\n1,Lamp,broken switch\n2,Chair,wobbles\n"
    assert plain(read(tmp_path / "d.csv", rows))[0] == (
        *("1", {"title": "Lamp", "notes": "broken switch"}),
        {"notes": "broken switch"},
    )


def test_a_shops_columns_need_no_usual_names(tmp_path: Path) -> None:
    rows = (
        "sku,name,details,price\nA-100,Lamp,A lamp for a desk in brass,19.50\nA-101,Chair,Oak with four legs each,120\n"
    )
    first, _ = read(tmp_path / "d.csv", rows)
    assert first.id == "A-100"
    assert first.fields == {"title": "Lamp", "sku": "A-100", "details": "A lamp for a desk in brass"}
    assert first.metadata == {"price": 19.5}


def test_html_in_a_column_is_read_as_its_words(tmp_path: Path) -> None:
    rows = (
        "Ticket #,Subject Line,Body (HTML)\n"
        '4711,Printer,"<p>The <a href=""https://x.example"">printer</a>&nbsp;is on fire &amp; smokes</p>"\n'
        '4712,Mouse,"<div>It does not move</div>"\n'
    )
    first, _ = read(tmp_path / "d.csv", rows)
    assert first.id == "4711"
    assert first.fields["title"] == "Printer"
    assert first.fields["body (html)"] == "The printer is on fire & smokes"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_german_spreadsheet_is_read_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    rows = (
        "Artikelnummer;Bezeichnung;Beschreibung;Preis;Geändert am\r\n"
        "A1;Müslischüssel;Eine große Schüssel für das Frühstück;25,94;31.12.2019\r\n"
        "A2;Löffel;Ein Löffel aus Silber für Süßes;1.299,00;01.02.2020\r\n"
    )
    reading = Reading()
    (tmp_path / "d.csv").write_bytes(rows.encode(encoding))
    first, second = read_documents(tmp_path / "d.csv", reading=reading)
    assert first.id == "A1"
    assert first.fields["title"] == "Müslischüssel"
    assert first.metadata == {"Preis": 25.94, "Geändert am": "2019-12-31"}
    assert second.metadata == {"Preis": 1299.0, "Geändert am": "2020-02-01"}
    assert encoding.removesuffix("-sig").upper() in reading.tables.read[0].details[1].upper()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Le cœur d'une sœur, 4 m³ de blé et d'œufs: ça suffit", "cp1252"),
        ("¿Qué pasó? ¿Cómo está el señor Núñez en la estación?", "cp1252"),
        ("Tämä šakki on hyvä, mutta pöydän ääressä on myös köyhä näyttelijä, jolla ei ole käsiä", "cp1252"),
        ("Na zdjęciu widać łódkę, małą żabę i wąską ścieżkę", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy, že ho slyšel i soused", "cp1250"),
    ],
)
def test_western_and_central_european_windows_are_told_apart(tmp_path: Path, text: str, encoding: str) -> None:
    (document,) = read(tmp_path / "d.csv", f"id;title;text\n1;Text;{text}\n".encode(encoding))
    assert document.fields["text"] == text


def test_titles_with_a_number_are_no_call_numbers(tmp_path: Path) -> None:
    first, _ = read(tmp_path / "d.csv", "film;plot\nCatch 22;A pilot wants to go home\nOcean's 11;A theft is planned\n")
    assert first.id != "Catch 22"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "^", "~"])
@pytest.mark.parametrize("name", ["d.csv", "d"])
def test_any_delimiter_is_told(tmp_path: Path, delimiter: str, name: str) -> None:
    rows = ["code|nombre|detalle", "X1|Lámpara|Una lámpara, de latón; muy bonita", "X2|Silla|Una silla de roble"]
    written = "\n".join(
        row.replace("|", delimiter) if delimiter not in ",;" else _quoted(row, delimiter) for row in rows
    )
    first, second = read(tmp_path / name, written + "\n")
    assert (first.id, second.id) == ("X1", "X2")
    assert first.fields["detalle"] == "Una lámpara, de latón; muy bonita"


def _quoted(row: str, delimiter: str) -> str:
    return delimiter.join(f'"{cell}"' for cell in row.split("|"))


@pytest.mark.parametrize(
    ("header", "title"),
    [
        ("Nummer,Titel,Inhalt", "Titel"),
        ("numéro,titre,texte intégral", "titre"),
        ("código,título,descripción larga", "título"),
        ("codice,oggetto,testo", "oggetto"),
        ("номер,название,описание", "название"),
        ("编号,标题,内容", "标题"),
        ("番号,題名,本文", "題名"),
    ],
)
def test_headers_of_any_language(tmp_path: Path, header: str, title: str) -> None:
    rows = f"{header}\nK-1,Eins,one two three four five six\nK-2,Zwei,seven eight nine ten eleven twelve\n"
    first, _ = read(tmp_path / "d.csv", rows)
    assert first.id == "K-1"
    assert first.fields["title"] == "Eins"
    assert "one two three four five six" in first.fields.values()
    assert title in header


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["01/02/2020", "25/03/2015"], ["2020-02-01", "2015-03-25"]),
        (["01/02/2020", "03/25/2015"], ["2020-01-02", "2015-03-25"]),
        (["1.2.2020", "3.4.2021"], ["2020-02-01", "2021-04-03"]),
        (["3 May 2015", "17 June 2016"], ["2015-05-03", "2016-06-17"]),
        (["May 3, 2015", "Jun 17, 2016"], ["2015-05-03", "2016-06-17"]),
        (["3. Mai 2015", "17. März 2016"], ["2015-05-03", "2016-03-17"]),
        (["2020/1/5", "2020/12/31"], ["2020-01-05", "2020-12-31"]),
        (["25/03/2015 10:30", "26/03/2015 00:00"], ["2015-03-25T10:30:00", "2015-03-26"]),
        (["2020", "2020-05-01"], ["2020", "2020-05-01"]),
        (["31/12/2019", "30/11/2019", "unknown"], ["2019-12-31", "2019-11-30", "unknown"]),
    ],
)
def test_dates_of_any_spelling_are_kept_in_the_order_of_time(
    tmp_path: Path, values: list[str], expected: list[str]
) -> None:
    rows = "".join(f'{place},some text,"{value}"\n' for place, value in enumerate(values))
    assert [d.metadata["when"] for d in read(tmp_path / "d.csv", "id,text,when\n" + rows)] == expected


def test_an_order_of_day_and_month_that_cannot_be_told_is_said_and_can_be_named(tmp_path: Path) -> None:
    reading = Reading()
    (tmp_path / "d.csv").write_text("id,text,when\n1,a,01/02/2020\n2,b,03/04/2020\n")
    [first, _] = read_documents(tmp_path / "d.csv", reading=reading)
    assert first.metadata == {"when": "2020-01-02"}
    assert reading.tables.read[0].doubts == ("when could be day/month/year as well: --dates dmy",)
    [first, _] = read_documents(tmp_path / "d.csv", columns=ColumnChoice(dates="dmy"))
    assert first.metadata == {"when": "2020-02-01"}


def test_another_column_of_dates_tells_the_order(tmp_path: Path) -> None:
    [row] = read(tmp_path / "d.csv", "id,text,opened,closed\n1,a,01/02/2020,25/02/2020\n")
    assert row.metadata == {"opened": "2020-02-01", "closed": "2020-02-25"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["25,94", "7"], [25.94, 7]),
        (["1.234,56", "3,5"], [1234.56, 3.5]),
        (["$1,299.00", "$5"], [1299.0, 5]),
        (["12,5 €", "3 €"], [12.5, 3]),
        (["12 %", "3.5%"], [12, 3.5]),
        (["1 234", "12 345"], [1234, 12345]),
        (["1'234.50", "3"], [1234.5, 3]),
        (["$5", "€5"], ["$5", "€5"]),  # not one scale
        (["1.2.3", "1.10.0"], ["1.2.3", "1.10.0"]),  # versions
        (["0171 555", "0172 556"], ["0171 555", "0172 556"]),  # telephone numbers
        (["10.1000/182", "10.1000/183"], ["10.1000/182", "10.1000/183"]),  # DOIs
    ],
)
def test_numbers_of_any_spelling_are_numbers(tmp_path: Path, values: list[str], expected: list[float]) -> None:
    rows = "".join(f'{place};some text;"{value}"\n' for place, value in enumerate(values))
    assert [d.metadata["value"] for d in read(tmp_path / "d.csv", "id;text;value\n" + rows)] == expected


@pytest.mark.parametrize("name", ["zip", "PLZ", "phone"])
def test_codes_of_digits_stay_text_and_are_searchable(tmp_path: Path, name: str) -> None:
    first, _ = read(tmp_path / "d.csv", f"id,text,{name}\n1,a,90210\n2,b,10115\n")
    assert first.metadata == {name: "90210"}
    assert first.fields[name.lower()] == "90210"


def test_what_comes_before_the_header_is_left_out(tmp_path: Path) -> None:
    rows = "Report of 3 May\n\nid,title,text\n1,a,b c d\n2,d,e f g\n"
    assert [d.id for d in read(tmp_path / "d.csv", rows)] == ["1", "2"]
    assert [d.id for d in read(tmp_path / "d.csv", "sep=;\nid;title;text\n1;a;b\n")] == ["1"]


def test_an_empty_line_before_what_is_no_table_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\nTI Soap\nPY\x1f\x8b 2021\n\nEF")
    with pytest.raises(RankwellError, match=r"a\.csv: expected a column with text"):
        list(read_documents(tmp_path / "a.csv", "table"))


def test_a_table_without_a_header_loses_no_row_and_says_so(tmp_path: Path) -> None:
    reading = Reading()
    (tmp_path / "d.csv").write_text("1,Lamp,19.5\n2,Chair,120\n3,Table,250\n")
    assert len(list(read_documents(tmp_path / "d.csv", reading=reading))) == 3
    assert reading.tables.read[0].doubts == ("the first line looks like data, so the columns are numbered",)


def test_row_numbers_are_no_ids(tmp_path: Path) -> None:
    january = read(
        tmp_path / "jan.csv", "Nr.,Betreff,Text\n1,Drucker,er druckt nicht mehr seit heute\n2,Maus,sie klemmt\n"
    )
    february = read(
        tmp_path / "feb.csv", "Nr.,Betreff,Text\n1,Monitor,er flackert seit dem Umzug ins Büro\n2,Tastatur,a\n"
    )
    assert not {d.id for d in january} & {d.id for d in february}


def test_an_id_may_be_made_by_a_template(tmp_path: Path) -> None:
    found = read(tmp_path / "d.csv", "year,number,text\n2020,7,a b c\n2021,7,d e f\n", id="{year}-{number}")
    assert [d.id for d in found] == ["2020-7", "2021-7"]
    assert [d.id for d in read(tmp_path / "e.csv", "text\na\nb\n", id="{file}-{row}")] == ["e.csv-1", "e.csv-2"]
    with pytest.raises(RankwellError, match="expected a column 'nr' for the id, found year, number, text, row, file"):
        read(tmp_path / "d.csv", "year,number,text\n2020,7,a b c\n", id="{nr}")


def test_the_same_row_twice_without_ids_is_one_document(tmp_path: Path) -> None:
    from rankwell.collections import unique

    (tmp_path / "d.csv").write_text("title,text\na,b\na,b\nc,d\n")
    reading = Reading()
    assert len(list(unique(read_documents(tmp_path / "d.csv", reading=reading), reading, "d.csv"))) == 2
    assert reading.place.repeated == 1


def test_a_delimiter_at_the_end_of_rows_is_no_column(tmp_path: Path) -> None:
    assert [d.id for d in read(tmp_path / "d.csv", "id,text\n1,a,\n2,b,\n3,c,\n")] == ["1", "2", "3"]


def test_a_header_without_a_name_for_the_row_names_is_read_as_r_writes_it(tmp_path: Path) -> None:
    first, _ = read(tmp_path / "d.csv", 'title,text,n\n"r1",a,some words,3\n"r2",b,other words,4\n')
    assert first.fields["title"] == "a"
    assert first.metadata == {"n": 3}


def test_another_column_tells_the_decimal_comma(tmp_path: Path) -> None:
    rows = "name;weight;price\nLamp;5,560;3,50\nChair;1,250;12,00\n"
    first, _ = read(tmp_path / "d.csv", rows)
    assert first.metadata == {"weight": 5.56, "price": 3.5}


def test_years_may_be_names_of_columns(tmp_path: Path) -> None:
    first, _ = read(tmp_path / "d.csv", "Region,2018,2019,2020\nNorth,41,42,44\nSouth,17,19,20\n")
    assert first.fields == {"title": "North"}
    assert first.metadata == {"2018": 41, "2019": 42, "2020": 44}


def test_json_that_writes_every_value_as_a_string_has_numbers_too(tmp_path: Path) -> None:
    rows = '[{"sku": "A-1", "name": "Lamp", "price": "19.50"}, {"sku": "A-2", "name": "Chair", "price": "120"}]'
    assert [document.metadata["price"] for document in read(tmp_path / "d.json", rows)] == [19.5, 120]


def test_in_json_with_numbers_a_number_in_a_string_stays_a_string(tmp_path: Path) -> None:
    rows = '[{"sku": "A-1", "name": "Lamp", "model": "19", "price": 5}, {"sku": "A-2", "name": "Chair", "model": "20"}]'
    assert read(tmp_path / "d.json", rows)[0].metadata == {"model": "19", "price": 5}


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ("no,author,title,text\n1,Ann,Rain,It rains every day\n2,Bo,Sun,It is dry here now\n", "Rain"),
        ("publisher name,book name\nHarbour,A short walk\nHarbour,The long way\n", "A short walk"),
        ("city,plumber\nLeeds,A. Hall\nLeeds,B. Moor\nLeeds,C. Low\n", "A. Hall"),  # cities repeat
        ("first name,last name,town\nAnn,Lee,York\nAnn,Moss,York\nAnn,Reed,Hull\n", "Lee"),
        ("part,description,stock\nX-1,Steel bolt,7\nX-2,Brass nut,9\n", "Steel bolt"),  # short, and nothing is longer
        ("date,user,comment\n2020-01-01,ann,I like the new colour\n2020-01-02,ann,So do I very much\n", None),
        ("quote,who\nThose who wait long enough see the river bring everything back to them again,Ann Lee\n", None),
    ],
)
def test_the_title_is_what_names_a_thing(tmp_path: Path, rows: str, title: str | None) -> None:
    assert read(tmp_path / "d.csv", rows)[0].fields.get("title") == title
