from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import ANY_IDS, ANY_TEXT, documents, judgments, plain, queries
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import (
    ColumnChoice,
    open_collection,
    read_any_queries,
    read_documents,
    read_qrels,
    read_queries,
    write_documents,
    write_qrels,
    write_queries,
)
from rankwell.core import Document, Judgments, Queries, Query, RankwellError

# The judgments are a table without quotes.
QRELS_IDS = ANY_TEXT.filter(lambda text: not set("\t\n\r") & set(text) and text.strip() == text and text[0] != "\ufeff")
METADATA = st.fixed_dictionaries({}, optional={"year": st.integers(0, 3000), "source": ANY_TEXT})


@given(documents(ANY_TEXT, ("title", "text"), ids=ANY_IDS, metadata=METADATA))
def test_a_corpus_brings_every_document_back(found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        write_documents(folder, found, "beir")
        assert plain(list(read_documents(folder))) == plain(found)


@given(queries(ANY_TEXT, ("text", "question", "narrative"), ids=ANY_IDS))
def test_queries_come_back_with_every_wording(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "queries.jsonl"
        write_queries(path, found)
        assert read_queries(path) == found


@given(judgments(QRELS_IDS))
def test_judgments_come_back(found: Judgments) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "test.tsv"
        write_qrels(path, found)
        assert read_qrels(path) == found


def test_a_split_has_the_queries_that_it_judges(tmp_path: Path) -> None:
    write_documents(tmp_path, [Document("d", {"text": "x"})], "beir")
    write_queries(tmp_path / "queries.jsonl", Queries.of({"a": "x", "b": "y", "c": "z"}), "beir")
    for split, qid in (("test", "a"), ("train", "b")):
        write_qrels(tmp_path / "qrels" / f"{split}.tsv", Judgments([(qid, "d", 1)]))
    collection = open_collection(tmp_path)
    assert [list(collection.queries(split)) for split in (None, "test", "train")] == [["a", "b", "c"], ["a"], ["b"]]
    assert list(read_any_queries(str(tmp_path), "test")) == ["a"]


def test_a_folder_opens_with_its_queries_and_every_split(tmp_path: Path) -> None:
    write_documents(tmp_path, [Document("d", {"text": "x"})], "beir")
    write_queries(tmp_path / "queries.jsonl", Queries.of({"q": "x"}), "beir")
    for split, grade in (("test", 1), ("train", 2)):
        write_qrels(tmp_path / "qrels" / f"{split}.tsv", Judgments([("q", "d", grade)]))
    (tmp_path / "qrels" / "test.tsv~").write_text("an editor's copy")
    for source in (tmp_path, tmp_path / "corpus.jsonl"):
        collection = open_collection(source)
        assert collection.format == "beir"
        assert collection.splits == ("test", "train")
        assert collection.judgments()["q"]["d"] == 1
        assert collection.judgments("train")["q"]["d"] == 2
        assert collection.queries("train").texts() == {"q": "x"}
    with pytest.raises(RankwellError, match="expected a split 'dev', found test, train"):
        collection.judgments("dev")


def test_a_packed_folder_is_read_like_an_open_one(tmp_path: Path) -> None:
    write_documents(tmp_path / "corpus.jsonl.gz", [Document("d", {"text": "x"})], "beir")
    write_queries(tmp_path / "queries.jsonl.gz", Queries.of({"q": "x"}), "beir")
    write_qrels(tmp_path / "qrels" / "test.tsv.gz", Judgments([("q", "d", 1)]), "beir")
    collection = open_collection(tmp_path)
    assert [document.id for document in collection.documents()] == ["d"]
    assert list(collection.queries()) == ["q"]
    assert collection.judgments().count == 1


def test_a_corpus_under_another_name_gives_the_same_documents(tmp_path: Path) -> None:
    found = [Document("1", {"title": "a", "text": "b"}, {"year": 2020})]
    write_documents(tmp_path, found, "beir")
    (tmp_path / "corpus.jsonl").rename(tmp_path / "mine.jsonl")
    assert plain(list(read_documents(tmp_path / "mine.jsonl"))) == plain(found)


def test_other_fields_are_written_into_the_text_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path, [Document("1", {"title": "T", "abstract": "A", "body": "B"})], "beir")
    assert plain(list(read_documents(tmp_path))) == [("1", {"title": "T", "text": "A B"}, {})]
    assert "abstract, body were written into text" in caplog.text


def test_the_default_wording_becomes_text(tmp_path: Path) -> None:
    write_queries(tmp_path / "q.jsonl", Queries([Query("1", {"query": "a", "question": "b"})]))
    assert read_queries(tmp_path / "q.jsonl")["1"].texts == {"text": "a", "question": "b"}


def test_a_second_wording_named_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="a further text named 'text' cannot be written as BEIR"):
        write_queries(tmp_path / "q.jsonl", Queries([Query("1", {"query": "a", "text": "b"})]))


def test_an_empty_query_is_a_query(tmp_path: Path) -> None:
    write_queries(tmp_path / "q.jsonl", Queries([Query("1", {})]))
    assert read_queries(tmp_path / "q.jsonl") == Queries([Query("1", {})])


@pytest.mark.parametrize("name", ["a\tb", "a\nb", ""])
def test_ids_that_break_the_table_of_judgments_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankwellError, match="expected ids without tabs and line breaks"):
        write_qrels(tmp_path / "test.tsv", Judgments([("q", name, 1)]))


def test_judgments_without_the_header_are_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("q\td\t1\n")
    assert read_qrels(tmp_path / "test.tsv").to_dict() == {"q": {"d": 1}}


@pytest.mark.parametrize("metadata", [("year",), None])
def test_a_user_can_choose_among_the_columns_of_a_corpus(tmp_path: Path, metadata: tuple[str, ...] | None) -> None:
    found = [Document("1", {"title": "a", "text": "b"}, {"year": 2020, "source": "x"})]
    write_documents(tmp_path, found, "beir")
    choice = ColumnChoice(fields={"body": "text"}, metadata=metadata)
    [document] = read_documents(tmp_path, columns=choice)
    assert dict(document.fields) == {"body": "b"}
    assert dict(document.metadata) == ({"year": 2020} if metadata else {"year": 2020, "source": "x", "title": "a"})


def test_a_folder_without_a_corpus_named_as_beir_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"expected a file corpus\.jsonl or corpus\.jsonl\.gz in the folder"):
        list(read_documents(tmp_path, "beir"))
