from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import ANY_TEXT, COLUMN_IDS, WORDS, documents, judgments, plain, queries
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import read_documents, read_qrels, read_queries, write_documents, write_qrels, write_queries
from rankwell.core import Document, Judgments, Queries, Query, RankwellError

# SGML and XML drop white space around a text; in SGML a carriage return before a line feed is part of the line's end.
STRIPPED = ANY_TEXT.map(str.strip).filter(bool)
SGML_TEXT = STRIPPED.filter(lambda text: "\r" not in text)
XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\t\n\r"), max_size=40
)
XML_TEXTS = XML_TEXT.map(str.strip).filter(lambda text: text and not {"\ufffe", "\uffff"} & set(text))
TREC_NAMES = ("title", "description", "narrative", "question")
NAMED_IDS = COLUMN_IDS.filter(lambda text: text.split() == [text] and not {"\ufffe", "\uffff"} & set(text))


@given(queries(SGML_TEXT, TREC_NAMES, ids=NAMED_IDS))
def test_sgml_topics_come_back(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "q.topics"
        write_queries(path, found)
        assert read_queries(path, "trec") == found


@given(queries(XML_TEXTS, ("query", "question", "narrative"), ids=NAMED_IDS))
def test_xml_topics_come_back(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "q.xml"
        write_queries(path, found)
        assert read_queries(path, "trec-xml") == found


@given(judgments())
def test_judgments_come_back(found: Judgments) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.qrels"
        write_qrels(path, found)
        assert read_qrels(path, "trec") == found


# Element names are folded to lower case, and everything but the usual names of texts is metadata, as text.
METADATA = st.fixed_dictionaries({}, optional={"date": SGML_TEXT, "byline": SGML_TEXT})


@given(documents(SGML_TEXT, ("title", "abstract", "text"), ids=NAMED_IDS, metadata=METADATA))
def test_sgml_documents_come_back(found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "d.sgml"
        write_documents(path, found)
        assert plain(list(read_documents(path, "trec"))) == plain(found)


def test_topics_and_documents_are_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "unknown"
    for kind in ("trec", "trec-xml"):
        write_queries(path, Queries.of({"1": "words"}), kind)
        assert read_queries(path).texts() == {"1": "words"}
    write_documents(path, [Document("d", {"text": "words"})], "trec")
    assert [document.id for document in read_documents(path)] == ["d"]
    write_qrels(path, Judgments([("q", "d", 1)]), "trec")
    assert read_qrels(path).count == 1


@pytest.mark.parametrize("name", ["top", "num", "two words", "Title", "desc", "1st", ""])
def test_wordings_that_cannot_be_elements_of_a_topic_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankwellError, match=r"query '1': a text named "):
        write_queries(tmp_path / "q.topics", Queries([Query("1", {name: "x"})]))


@pytest.mark.parametrize("format", ["trec", "trec-xml"])
@pytest.mark.parametrize("qid", ["", " 1"])
def test_topics_need_an_id_that_can_be_read_back(tmp_path: Path, format: str, qid: str) -> None:
    with pytest.raises(RankwellError, match="expected ids without white space"):
        write_queries(tmp_path / "q", Queries([Query(qid, {"query": "x"})]), format)


@pytest.mark.parametrize("text", ["\0", "\x0b", "\uffff", "\ud800"])
def test_characters_that_xml_cannot_hold_are_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(RankwellError, match="which XML cannot hold"):
        write_queries(tmp_path / "q.xml", Queries([Query("1", {"query": f"a{text}b"})]))


@pytest.mark.parametrize("name", ["q\td", "q\nd", "", "\x01"])
def test_ids_that_cannot_stand_in_a_column_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankwellError, match="expected ids without control characters"):
        write_qrels(tmp_path / "x.qrels", Judgments([(name, "d", 1)]))


def test_a_document_id_may_start_with_what_makes_a_comment_of_a_line(tmp_path: Path) -> None:
    write_qrels(tmp_path / "x.qrels", Judgments([("q", "#d", 1)]))
    assert read_qrels(tmp_path / "x.qrels").to_dict() == {"q": {"#d": 1}}


@pytest.mark.parametrize("name", ["Title", "doc", "docno", "two words", "header"])
def test_fields_that_cannot_be_elements_of_a_document_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RankwellError, match=r"document '1': a field named "):
        write_documents(tmp_path / "d.sgml", [Document("1", {name: "x"})])


def test_fields_that_come_back_as_metadata_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path / "d.sgml", [Document("1", {"signature": "f(x)"})])
    assert "signature are read back in another place" in caplog.text
    assert plain(list(read_documents(tmp_path / "d.sgml"))) == [("1", {}, {"signature": "f(x)"})]


@given(WORDS)
def test_a_text_full_of_markup_stays_text(words: str) -> None:
    text = f"<b> {words} </TEXT> </DOC> <DOC> &amp; <!-- x --> <DOCNO>9</DOCNO>"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "d.sgml"
        write_documents(path, [Document("1", {"text": text})])
        assert plain(list(read_documents(path))) == [("1", {"text": text}, {})]
