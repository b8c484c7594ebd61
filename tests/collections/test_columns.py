"""Which column of a user's table is the id, which are texts, and which are metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collection_strategies import plain

from rankwell.collections import ColumnChoice, read_documents
from rankwell.core import Document, ParameterError, RankwellError


def read(path: Path, text: str, choice: ColumnChoice | None = None) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
    path.write_text(text)
    return plain(list(read_documents(path, columns=choice or ColumnChoice())))


def test_a_shops_table_is_understood_without_a_word(tmp_path: Path) -> None:
    text = "id,title,description,price,year\n7,Lamp,A lamp,19.50,2019\n8,Chair,,120,\n"
    assert read(tmp_path / "shop.csv", text) == [
        ("7", {"title": "Lamp", "description": "A lamp"}, {"price": 19.5, "year": 2019}),
        ("8", {"title": "Chair"}, {"price": 120}),
    ]


def test_columns_with_sentences_are_texts_whatever_their_name(tmp_path: Path) -> None:
    text = "key,Titel,Inhalt,Jahr\na,Eins,Ein Satz mit mehr als vier Wörtern,2020\n"
    assert read(tmp_path / "d.csv", text) == [
        ("a", {"title": "Eins", "inhalt": "Ein Satz mit mehr als vier Wörtern"}, {"Jahr": 2020})
    ]


def test_capital_letters_do_not_matter_and_titles_come_first(tmp_path: Path) -> None:
    [(docno, fields, _)] = read(tmp_path / "d.csv", "Abstract,ID,Title\nb,1,a\n")
    assert docno == "1"
    assert list(fields.items()) == [("title", "a"), ("abstract", "b")]


def test_spaces_around_column_names_are_no_part_of_them(tmp_path: Path) -> None:
    assert read(tmp_path / "d.csv", "id, text\n1,a\n") == [("1", {"text": "a"}, {})]


def test_rows_without_an_id_column_get_one_of_their_content_wherever_they_stand(tmp_path: Path) -> None:
    first, second = (docno for docno, _, _ in read(tmp_path / "d.csv", "title,text\na,b\nc,d\n"))
    assert first != second
    again = [docno for docno, _, _ in read(tmp_path / "e.csv", "text,title\nx,y\nd,c\nb,a\n")]
    assert again[1:] == [second, first]


def test_whole_numbers_are_ids_in_json(tmp_path: Path) -> None:
    assert read(tmp_path / "d.jsonl", '{"id": 7, "text": "a"}\n') == [("7", {"text": "a"}, {})]


def test_a_list_of_strings_is_a_text_of_paragraphs(tmp_path: Path) -> None:
    text = '{"id": "1", "text": ["a", "b"]}\n'
    choice = ColumnChoice(fields={"text": "text"})
    assert read(tmp_path / "d.jsonl", text, choice) == [("1", {"text": "a\nb"}, {})]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2020", "2021"], [2020, 2021]),
        (["-3", "0"], [-3, 0]),
        (["1.5", "2"], [1.5, 2]),
        (["1e-05", "1.5e+20"], [1e-05, 1.5e20]),
        (["007", "123"], ["007", "123"]),  # codes
        (["2020", "2021", "n/a"], [2020, 2021, "n/a"]),
        (["n/a", "unknown", "2020"], ["n/a", "unknown", "2020"]),  # mostly words
        (["12e4567", "3e5"], ["12e4567", "3e5"]),  # hashes, not powers of ten
        (["nan", "inf"], ["nan", "inf"]),
        (["9e+999"], ["9e+999"]),
        (["12345678901234567890"], ["12345678901234567890"]),  # more than 64 bits hold
        (["1,5"], [1.5]),
        (["1_000"], ["1_000"]),
        (["+1"], ["+1"]),
        (["٣"], ["٣"]),
    ],
)
@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_columns_of_numbers_are_numbers_and_codes_stay_text(
    tmp_path: Path, name: str, values: list[str], expected: list[Any]
) -> None:
    between = "," if name == "d.csv" else "\t"
    rows = [f'{number}{between}x{between}"{value}"\n' for number, value in enumerate(values)]
    found = read(tmp_path / name, between.join(["id", "text", "value\n"]) + "".join(rows))
    result = [metadata["value"] for _, _, metadata in found]
    assert result == expected
    assert list(map(type, result)) == list(map(type, expected))


def test_ids_and_texts_are_never_numbers(tmp_path: Path) -> None:
    assert read(tmp_path / "d.csv", "id,title\n1,1984\n") == [("1", {"title": "1984"}, {})]


def test_a_user_may_name_columns(tmp_path: Path) -> None:
    text = "nr,head,content,year,source\n1,H,C,2020,S\n"
    choice = ColumnChoice.parse("nr", "title=head, body=content", "year")
    assert read(tmp_path / "d.csv", text, choice) == [("1", {"title": "H", "body": "C"}, {"year": 2020})]


def test_one_column_may_be_two_fields_and_nothing_else_is_lost(tmp_path: Path) -> None:
    choice = ColumnChoice(fields={"title": "text", "body": "text"})
    assert read(tmp_path / "d.csv", "id,text,year\n1,a,2020\n", choice) == [
        ("1", {"title": "a", "body": "a"}, {"year": 2020})
    ]


def test_a_field_may_be_metadata_as_well(tmp_path: Path) -> None:
    choice = ColumnChoice(fields={"title": "title"}, metadata=("title",))
    assert read(tmp_path / "d.csv", "id,title\n1,a\n", choice) == [("1", {"title": "a"}, {"title": "a"})]


def test_what_an_object_named_metadata_holds_can_be_named(tmp_path: Path) -> None:
    text = '{"id": "1", "text": "a", "metadata": {"year": 2020, "source": "x"}}\n'
    assert read(tmp_path / "d.jsonl", text) == [("1", {"text": "a"}, {"year": 2020, "source": "x"})]
    choice = ColumnChoice(metadata=("year",))
    assert read(tmp_path / "d.jsonl", text, choice) == [("1", {"text": "a"}, {"year": 2020})]


def test_a_text_column_that_is_empty_at_the_start_is_still_a_text(tmp_path: Path) -> None:
    rows = "".join(f"{number},title,\n" for number in range(1000))
    found = read(tmp_path / "d.csv", f"id,title,abstract\n{rows}late,title,at last\n")
    assert found[-1] == ("late", {"title": "title", "abstract": "at last"}, {})


def test_a_table_without_texts_asks_for_a_column(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"expected a column with text, found id, year: name it with --fields"):
        read(tmp_path / "d.csv", "id,year\n1,2020\n")


@pytest.mark.parametrize("words", ["", " , "])
def test_an_empty_list_of_columns_is_refused(words: str) -> None:
    with pytest.raises(ParameterError, match="expected names separated by commas"):
        ColumnChoice.parse(None, words, None)


def test_documents_are_what_users_build_themselves_too() -> None:
    assert Document("1", {"text": "a"}).metadata == {}
