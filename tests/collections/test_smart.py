from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from collection_strategies import NUMBER_IDS, WORDS, documents, judgments, plain, queries
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.collections import (
    Reading,
    open_collection,
    read_documents,
    read_qrels,
    read_queries,
    unique,
    write_documents,
    write_qrels,
    write_queries,
)
from rankwell.core import Document, Judgments, Queries, RankwellError

# A section is one line of words; ids are numbers; metadata is text in one of the sections that SMART has.
METADATA = st.fixed_dictionaries({}, optional={"author": WORDS, "source": WORDS, "keywords": WORDS})


@given(documents(WORDS | st.just("same"), ("title", "text"), ids=NUMBER_IDS, metadata=METADATA))
def test_documents_come_back(found: list[Document]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.all"
        write_documents(path, found)
        assert plain(list(read_documents(path, "smart"))) == plain(found)


@given(queries(WORDS, ids=NUMBER_IDS))
def test_queries_come_back(found: Queries) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.qry"
        write_queries(path, found, "smart")
        assert read_queries(path, "smart") == found


@pytest.mark.parametrize(("format", "grades"), [("smart", st.just(1)), ("cranfield", st.integers(1, 4))])
@settings(max_examples=40)
@given(data=st.data())
def test_judgments_come_back(format: str, grades: st.SearchStrategy[int], data: st.DataObject) -> None:
    found = data.draw(judgments(NUMBER_IDS, grades))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cranqrel"
        write_qrels(path, found, format)
        assert read_qrels(path, format) == found


CRANFIELD = """.I 001
.T
a wing in a
slipstream .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958, 324.
.W
a wing in a
slipstream .
  an experimental study of a wing
was made .
.I 2
.W
only text
.X
1 2 3
"""


def test_a_title_that_the_text_repeats_is_dropped_from_it(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(CRANFIELD)
    first, second = read_documents(tmp_path / "x")
    assert (first.id, dict(first.fields)) == (
        "1",
        {"title": "a wing in a slipstream .", "text": "an experimental study of a wing was made ."},
    )
    assert dict(first.metadata) == {"author": "brenckman,m.", "source": "j. ae. scs. 25, 1958, 324."}
    assert plain([second]) == [("2", {"text": "only text"}, {})]


def test_a_text_that_only_starts_like_its_title_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(".I 1\n.T\nHeat\n.W\nHeat transfer in wings\n")
    [document] = read_documents(tmp_path / "x")
    assert document.fields["text"] == "Heat transfer in wings"


def test_cranfield_queries_are_numbered_in_the_order_in_which_they_stand(tmp_path: Path) -> None:
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nfirst\n.I 004\n.W\nsecond\n")
    assert read_queries(tmp_path / "cran.qry").texts() == {"1": "first", "2": "second"}
    assert read_queries(tmp_path / "cran.qry", "smart").texts() == {"1": "first", "4": "second"}


def test_cranfield_codes_become_grades_with_the_best_the_highest(tmp_path: Path) -> None:
    (tmp_path / "cranqrel").write_text("1 184 1\n1 29 2\n1 31 3\n1 12 4\n1 51 -1\n")
    assert read_qrels(tmp_path / "cranqrel").to_dict() == {"1": {"184": 4, "29": 3, "31": 2, "12": 1, "51": 1}}


@pytest.mark.parametrize("text", ["01 0017  0 0\n1 46  0 0.000000\n", "1 17\n1 46\n"])
def test_classic_judgments_name_relevant_documents_only(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.rel").write_text(text)
    assert read_qrels(tmp_path / "x.rel").to_dict() == {"1": {"17": 1, "46": 1}}


def test_a_folder_of_cranfield_opens_as_a_collection(tmp_path: Path) -> None:
    (tmp_path / "cran.all.1400").write_text(CRANFIELD)
    (tmp_path / "cran.qry").write_text(".I 001\n.W\nfirst\n")
    (tmp_path / "cranqrel").write_text("1 1 1\n")
    (tmp_path / "cranqrel.readme").write_text("the meaning of the codes")
    collection = open_collection(tmp_path)
    assert collection.format == "cranfield"
    assert [document.id for document in collection.documents()] == ["1", "2"]
    assert collection.judgments().to_dict() == {"1": {"1": 4}}
    assert collection.splits == ("cranqrel",)


def test_a_second_document_of_the_same_id_is_shown_with_both_lines(tmp_path: Path) -> None:
    (tmp_path / "x").write_text(".I 1\n.W\na\n.I 2\n.W\nb\n.I 1\n.W\nc\n")
    reading = Reading()
    with pytest.raises(RankwellError) as caught:
        list(unique(read_documents(tmp_path / "x", reading=reading), reading, "x"))
    assert str(caught.value) == 'x:7: expected an id that was not there before, found "1" again (first on line 1)'


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (Document("1", {"abstract": "x"}), "'abstract' of '1' has no place in a SMART file"),
        (Document("1", {"text": ".W"}), "'text' of '1' starts with a full stop"),
        (Document("007", {"text": "x"}), "expected ids without white space or zeros in front, found '007'"),
        (Document("a b", {"text": "x"}), "expected ids without white space or zeros in front"),
    ],
)
def test_what_smart_files_cannot_hold_is_refused(tmp_path: Path, document: Document, expected: str) -> None:
    with pytest.raises(RankwellError, match=expected):
        write_documents(tmp_path / "x.all", [document])


def test_line_breaks_become_spaces_and_it_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        write_documents(tmp_path / "x.all", [Document("1", {"text": "two\n.W  lines"})])
    assert plain(list(read_documents(tmp_path / "x.all"))) == [("1", {"text": "two .W lines"}, {})]
    assert "line breaks and double spaces in 1 texts" in caplog.text


@pytest.mark.parametrize(
    ("format", "row", "expected"),
    [
        ("smart", ("1", "2", 3), r"relevant documents only \(grade 1\), not grade 3"),
        ("cranfield", ("1", "2", 0), "hold grades 1 to 4, not 0"),
        ("smart", ("q", "2", 1), "expected ids that are numbers"),
        ("smart", ("1", "02", 1), "expected ids that are numbers"),
    ],
)
def test_judgments_that_smart_cannot_hold_are_refused(
    tmp_path: Path, format: str, row: tuple[str, str, int], expected: str
) -> None:
    with pytest.raises(RankwellError, match=expected):
        write_qrels(tmp_path / "x", Judgments([row]), format)
