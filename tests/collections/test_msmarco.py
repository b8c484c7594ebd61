from __future__ import annotations

import gzip
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import COLUMN_IDS, LINE_BREAKS, ONE_LINE, documents, plain, queries
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import open_collection, read_documents, read_queries, write_documents, write_queries
from rankwell.core import Document, Queries, Query, RankwellError

# The tables have neither quotes nor escapes: no tabs and no line breaks.
IDS = COLUMN_IDS.filter(lambda text: not set(LINE_BREAKS) & set(text))
URLS = st.fixed_dictionaries({}, optional={"url": ONE_LINE})


@pytest.mark.parametrize("ending", ["tsv", "tsv.gz"])
@given(found=documents(ONE_LINE, ("text",), ids=IDS))
def test_passages_come_back(ending: str, found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"collection.{ending}"
        write_documents(path, found, "msmarco-passage")
        assert plain(list(read_documents(path, "msmarco-passage"))) == plain(found)


@pytest.mark.parametrize("ending", ["tsv", "tsv.gz"])
@given(found=documents(ONE_LINE, ("title", "body"), ids=IDS, metadata=URLS))
def test_documents_come_back_with_their_address(ending: str, found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"msmarco-docs.{ending}"
        write_documents(path, found, "msmarco-document")
        assert plain(list(read_documents(path, "msmarco-document"))) == plain(found)


@given(queries(ONE_LINE, ids=IDS))
def test_queries_come_back(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "queries.tsv"
        write_queries(path, found)
        assert read_queries(path, "tsv") == found


@given(queries(ONE_LINE | st.just("two\r\nlines"), ("query", "question"), ids=COLUMN_IDS))
def test_queries_in_a_table_with_a_header_come_back(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "queries.csv"
        write_queries(path, found)
        assert read_queries(path, "csv") == found


@pytest.mark.parametrize("header", ["qid\tquery\tquestion", "qid,query,question", "id;query;question"])
def test_a_header_is_recognised_with_any_usual_separator(tmp_path: Path, header: str) -> None:
    separator = header.strip("abcdefghijklmnopqrstuvwxyz")[0]
    (tmp_path / "x").write_text(f"{header}\n{separator.join(['1', 'fever', 'why?'])}\n")
    assert read_queries(tmp_path / "x")["1"].texts == {"query": "fever", "question": "why?"}


def test_a_query_wording_named_like_an_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="a text named 'topic' cannot be told from the query id"):
        write_queries(tmp_path / "q.csv", Queries([Query("1", {"topic": "x"})]))


def test_tabs_and_line_breaks_become_spaces_and_it_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path / "c.tsv", [Document("1", {"text": "a\tb\r\nc"})], "msmarco-passage")
    assert (tmp_path / "c.tsv").read_bytes() == b"1\ta b  c\n"
    assert "tabs and line breaks in 1 texts were written as spaces" in caplog.text


def test_what_has_no_column_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(
            tmp_path / "c.tsv", [Document("1", {"title": "T", "text": "B"}, {"year": 1})], "msmarco-passage"
        )
    assert (tmp_path / "c.tsv").read_text() == "1\tT B\n"
    assert "msmarco-passage has no column for title, year" in caplog.text


@pytest.mark.parametrize("docno", ["a\tb", "a\nb", ""])
def test_ids_with_tabs_are_refused(tmp_path: Path, docno: str) -> None:
    with pytest.raises(RankwellError, match="expected ids without tabs and line breaks"):
        write_documents(tmp_path / "c.tsv", [Document(docno, {"text": "x"})], "msmarco-passage")


def test_top1000_gives_every_passage_once(tmp_path: Path) -> None:
    path = tmp_path / "top1000.dev.tsv"
    path.write_text("q1\tp1\tfever\tOne.\nq2\tp1\tcough\tOne.\nq2\tp2\tcough\t\n")
    assert plain(list(read_documents(path))) == [("p1", {"text": "One."}, {}), ("p2", {}, {})]


def test_documents_cannot_be_written_as_top1000(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="write msmarco-passage and a run"):
        write_documents(tmp_path / "top1000.tsv", [], "msmarco-top1000")


@pytest.mark.parametrize(
    ("line", "format"),
    [
        ("7\tThe presence of communication, title, and text", "msmarco-passage"),
        ("7\ta,title,b", "msmarco-passage"),
        ("D1\thttp://x.example\tA title\tA body", "msmarco-document"),
        ("D1\thttp://x.example\tA title\t" + "word " * 40_000, "msmarco-document"),
        ("id\ttitle\turl\tbody", "tsv"),
        ("title\ttext", "tsv"),
    ],
)
def test_tables_are_told_apart_by_their_first_lines(tmp_path: Path, line: str, format: str) -> None:
    (tmp_path / "x").write_text(line)
    assert open_collection(tmp_path / "x").format == format


def test_a_folder_opens_with_the_queries_of_each_split(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv.gz").write_bytes(gzip.compress(b"1\tone\n"))
    (tmp_path / "queries.dev.tsv").write_text("q\tone?\n")
    (tmp_path / "queries.train.tsv").write_text("p\ttwo?\n")
    (tmp_path / "qrels.dev.tsv").write_text("q\t0\t1\t1\n")
    (tmp_path / "qrels.train.tsv.gz").write_bytes(gzip.compress(b"p\t0\t1\t1\n"))
    collection = open_collection(tmp_path)
    assert [document.id for document in collection.documents()] == ["1"]
    assert collection.splits == ("dev", "train")
    assert list(collection.queries()) == ["q"]
    assert list(collection.queries("train")) == ["p"]
    assert collection.judgments("train").to_dict() == {"p": {"1": 1}}
    with pytest.raises(RankwellError, match="expected queries of a split 'test', found dev, train"):
        collection.queries("test")


def test_the_document_task_names_its_splits_otherwise(tmp_path: Path) -> None:
    (tmp_path / "msmarco-docs.tsv").write_text("D1\thttp://x.example\tT\tB\n")
    (tmp_path / "msmarco-docdev-queries.tsv").write_text("q\tone?\n")
    (tmp_path / "msmarco-docdev-qrels.tsv").write_text("q 0 D1 1\n")
    collection = open_collection(tmp_path)
    assert collection.format == "msmarco-document"
    assert collection.splits == ("dev",)
    assert plain(list(collection.documents())) == [("D1", {"title": "T", "body": "B"}, {"url": "http://x.example"})]
