"""A user's own documents: JSON lines, tables, Parquet, folders of text files."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from collection_strategies import ANY_IDS, ANY_TEXT, COLUMN_IDS, WORDS, documents, plain
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.collections import ColumnChoice, read_documents, write_documents
from rankwell.collections.any_format import guessed
from rankwell.collections.html_text import has_markup
from rankwell.core import Document, RankwellError

JSON_VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=2),
    max_leaves=4,
)
# JSON holds any text and any metadata; an empty text is a missing one. Ids are any text that is not only white space.
JSON_DOCUMENTS = documents(
    ANY_TEXT,
    ids=ANY_IDS,
    metadata=st.dictionaries(st.sampled_from(["year", "source", "tags"]), JSON_VALUES),
)
# A table holds text and numbers. A column of numbers is read as numbers, so texts that look like numbers are left to
# a test of their own; and a column of words would be searchable as well, unless it is named as metadata.
TABLE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "year": st.integers(-(10**17), 10**17),
        "price": st.floats(-1e15, 1e15, allow_subnormal=False).map(float),
        "source": st.sampled_from(["Elsevier; PMC", "a,b", 'say "x"', "two\nlines", "007", "n/a"]),
    },
)
TABLE_DOCUMENTS = documents(ANY_TEXT, metadata=TABLE_METADATA, at_least=1).filter(
    lambda found: any(document.fields for document in found)
)


def there_and_back(
    found: list[Document], name: str, format: str | None = None, metadata: tuple[str, ...] | None = None
) -> list[Document]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_documents(path, found, format)
        return list(read_documents(path, format, columns=ColumnChoice(metadata=metadata)))


@given(JSON_DOCUMENTS.filter(lambda found: not found or any(document.fields for document in found)))
def test_json_lines_bring_every_document_back(found: list[Document]) -> None:
    assert plain(there_and_back(found, "d.jsonl")) == plain(found)


@settings(max_examples=30)
@given(JSON_DOCUMENTS.filter(lambda found: not found or any(document.fields for document in found)))
def test_a_name_that_ends_in_gz_packs_the_file(found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "d.jsonl.gz"
        write_documents(path, found)
        assert path.read_bytes()[:2] == b"\x1f\x8b"
        assert plain(list(read_documents(path))) == plain(found)


@pytest.mark.parametrize(("name", "format"), [("d.csv", None), ("d.tsv", None), ("d.txt", "csv-semicolon")])
@given(found=TABLE_DOCUMENTS)
def test_tables_bring_every_document_back(name: str, format: str | None, found: list[Document]) -> None:
    metadata = tuple({name for document in found for name in document.metadata})
    assert plain(there_and_back(found, name, format, metadata)) == plain(found)


# Parquet holds any text; metadata is a struct in which every key has one type.
@given(
    documents(ANY_TEXT, ids=ANY_IDS, metadata=TABLE_METADATA, at_least=1).filter(
        lambda found: any(document.fields for document in found)
    )
)
def test_parquet_brings_every_document_back(found: list[Document]) -> None:
    assert plain(there_and_back(found, "d.parquet")) == plain(found)


FILE_NAMES = st.from_regex(r"\A([a-z]{1,5}/)?[A-Za-zé][A-Za-z0-9_é-]{0,10}\.(txt|rst)\Z")


@given(documents(ANY_TEXT.filter(lambda t: t.strip() and t[0] != "\ufeff"), ("text",), ids=FILE_NAMES, at_least=1))
def test_a_folder_of_text_files_brings_every_document_back(found: list[Document]) -> None:
    back = [document._replace(metadata={}) for document in there_and_back(found, "folder", "folder")]
    assert plain(back) == plain(sorted(found, key=lambda d: d.id.split("/")))


@settings(max_examples=30)
@given(
    documents(WORDS.filter(lambda text: not has_markup(text)), ("zeta", "alpha"), ids=COLUMN_IDS, at_least=1).filter(
        lambda found: found[0].fields
    )
)
@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.parquet"])
def test_fields_of_any_name_come_back_when_they_are_named(name: str, found: list[Document]) -> None:
    used = sorted({field for document in found for field in document.fields})
    with TemporaryDirectory() as folder:
        write_documents(Path(folder) / name, found)
        choice = ColumnChoice(fields={field: field for field in used})
        again = list(read_documents(Path(folder) / name, columns=choice))
    assert [(d.id, dict(d.fields)) for d in again] == [(d.id, dict(d.fields)) for d in found]


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.tsv", "d.parquet"])
def test_what_was_written_is_recognised_whatever_its_name(tmp_path: Path, name: str) -> None:
    from rankwell.collections.any_format import DOCUMENT_FORMATS

    write_documents(tmp_path / name, [Document("1", {"title": "one", "text": "some words"}, {"year": 2020})])
    (tmp_path / name).rename(tmp_path / "unknown")
    assert guessed(tmp_path / "unknown", DOCUMENT_FORMATS, "documents").name == name[2:]


def test_metadata_that_is_no_text_or_number_cannot_stand_in_a_table(tmp_path: Path) -> None:
    with pytest.raises(
        RankwellError, match="'tags' of document '1' is a list, and a table holds only text and numbers"
    ):
        write_documents(tmp_path / "d.csv", [Document("1", {"text": "x"}, {"tags": ["a"]})])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["d.csv", "d.tsv"])
def test_a_column_that_comes_after_the_header_is_written_is_refused(tmp_path: Path, name: str) -> None:
    found = [Document(str(number), {"text": "x"}) for number in range(1000)]
    late = Document("late", {"text": "x"}, {"year": 1})
    with pytest.raises(RankwellError, match="document 'late' has year, which none of the first 1000 documents has"):
        write_documents(tmp_path / name, [*found, late])


@pytest.mark.parametrize("late", [Document("late", {"title": "x"}), Document("late", {"text": "x"}, {"year": 1})])
def test_parquet_does_not_drop_a_late_column_without_a_word(tmp_path: Path, late: Document) -> None:
    found = [Document(str(number), {"text": "x"}, {"source": "y"}) for number in range(4096)]
    with pytest.raises(RankwellError, match="which none of the first 4096 documents has"):
        write_documents(tmp_path / "d.parquet", [*found, late])
    assert list(tmp_path.iterdir()) == []


def test_parquet_columns_of_two_types_are_refused_in_one_line(tmp_path: Path) -> None:
    found = [Document("1", {"text": "x"}, {"year": 2020}), Document("2", {"text": "x"}, {"year": "unknown"})]
    with pytest.raises(RankwellError, match="do not make columns of one type") as caught:
        write_documents(tmp_path / "d.parquet", found)
    assert "\n" not in str(caught.value)


def test_a_field_named_like_the_id_is_refused(tmp_path: Path) -> None:
    for name in ("d.jsonl", "d.csv", "d.parquet"):
        with pytest.raises(RankwellError, match="id"):
            write_documents(tmp_path / name, [Document("1", {"id": "x"})])


def test_values_that_json_does_not_know_are_named(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="'1' cannot be written as JSON: Type is not JSON serializable: complex"):
        write_documents(tmp_path / "d.jsonl", [Document("1", {"text": "x"}, {"z": 1j})])


def test_numpy_values_are_written_as_plain_numbers(tmp_path: Path) -> None:
    write_documents(tmp_path / "d.jsonl", [Document("1", {"text": "x"}, {"n": np.int32(3)})])
    assert (tmp_path / "d.jsonl").read_text() == '{"id":"1","text":"x","metadata":{"n":3}}\n'


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl"])
def test_half_a_character_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankwellError, match=r"d\.(csv|jsonl): "):
        write_documents(tmp_path / name, [Document("1", {"text": "\ud800"})])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "docno", ["../x.txt", "/x.txt", "a/../x.txt", "x.pdf", "./x.txt", ".x.txt", "a\0.txt", "x\n.txt"]
)
def test_ids_that_are_no_plain_file_names_cannot_name_files(tmp_path: Path, docno: str) -> None:
    with pytest.raises(RankwellError, match="expected ids that are file names"):
        write_documents(tmp_path / "folder", [Document(docno, {"text": "x"})], "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_says_that_it_joined_fields(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path / "folder", [Document("a.txt", {"title": "T", "text": "B"})], "folder")
    assert (tmp_path / "folder" / "a.txt").read_text() == "T B"
    assert "fields were joined" in caplog.text


def test_a_folder_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(RankwellError, match="already there"):
        write_documents(tmp_path, [Document("a.txt", {"text": "yours"})], "folder")
    assert (tmp_path / "a.txt").read_text() == "mine"


def test_a_name_that_tells_no_format_is_answered_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"cannot tell from this name how to write documents: use one of .*\.jsonl"):
        write_documents(tmp_path / "d.unknown", [])
