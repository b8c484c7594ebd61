"""What one bad line gets: an exact line of error, or with `skip` its place in the list, and the rest is read."""

# A case is a line, so that they can be compared.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from rankwell.collections import (
    ColumnChoice,
    Problems,
    Reading,
    read_documents,
    read_qrels,
    read_queries,
    read_run,
    unique,
)
from rankwell.core import FormatError, RankwellError

NOT_UTF8 = "expected UTF-8 text, found byte 0xff at column {column}; for another encoding use --encoding"
COLUMNS = "expected 3 columns (id, title, text), found "
QRELS = "expected 4 columns (qid iteration docno grade), the grade a whole number, found "
BEIR = "expected three columns (query-id corpus-id score) separated by tabs, the score a whole number, found "

DOCUMENTS = [
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"id": "2", "text"}\n', 'expected a JSON object ({json}), found "{"id": "2", "text"}"'),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'["2", "b"]\n', 'expected a JSON object, found "["2", "b"]"'),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b"null\n", 'expected a JSON object, found "null"'),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"text": "b"}\n', "expected an id in 'id', found text (str)"),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"id": " ", "text": "b"}\n', "expected an id in 'id', found id (str), text (str)"),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"id": 1.5, "text": "b"}\n', "expected an id in 'id', found id (float), text (str)"),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"id": "2", "text": {"a": 1}}\n', "expected text in every field, found id (str), text (dict)"),
    ("d.jsonl", b'{"id": "1", "text": "a"}\n', b'{"id": "2", "text": "\xff"}\n', NOT_UTF8.format(column=22)),
    ("corpus.jsonl", b'{"_id": "1", "text": "a"}\n', b'{"id": "2", "text": "b"}\n', "expected an id in '_id', found id (str), text (str)"),
    ("d.csv", b"id,title,text\n1,t,a\n", b"2,t\n", COLUMNS + "2"),
    ("d.csv", b"id,title,text\n1,t,a\n", b"2,t,b,c\n", COLUMNS + "4"),
    ("d.csv", b"id,title,text\n1,t,a\n", b",t,b\n", "expected an id in 'id', found id (empty), title (str), text (str)"),
    ("d.csv", b"id,title,text\n1,t,a\n", b"2,t,b\xff\n", NOT_UTF8.format(column=6)),
    ("d.csv", b"id,title,text\n1,t,a\n", b'2,t,"b" c\n', "expected a row of the table, found ',' expected after '\"'"),
    ("d.csv", b"id,title,text\n1,t,a\n", b'2,t,"b\n', "expected a row of the table, found a quote that is never closed"),
    ("d.tsv", b"id\ttitle\ttext\n1\tt\ta\n", b"2\tt\n", COLUMNS + "2"),
    ("d.tsv", b"id\ttitle\ttext\n1\tt\ta\n", b"2\tt\tb\xff\n", NOT_UTF8.format(column=6)),
    ("c.tsv", b"1\ta\n", b"2 b\n", 'expected 2 columns (pid, text) separated by tabs, the first not empty, found "2 b"'),
    ("c.tsv", b"1\ta\n", b"\tb\n", 'expected 2 columns (pid, text) separated by tabs, the first not empty, found "\\tb"'),
    ("c.tsv", b"1\ta\n", b"2\tb\xff\n", NOT_UTF8.format(column=4)),
    ("d.sgml", b"<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n", b"<DOC>\n<TEXT>b</TEXT></DOC>\n", 'expected a <DOCNO> in the document, found "<TEXT>b</TEXT>"'),
    ("d.sgml", b"<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n", b"<DOC>\n<DOCNO>2</DOCNO>\n", "expected a </DOC> before the next <DOC>, found none"),
    ("d.all", b".I 1\n.W\na\n", b".I\n.W\nb\n", 'expected an id after .I, found ".I"'),
]  # fmt: skip

GOOD = {
    "d.jsonl": b'{"id": "3", "text": "c"}\n',
    "corpus.jsonl": b'{"_id": "3", "text": "c"}\n',
    "d.csv": b"3,t,c\n",
    "d.tsv": b"3\tt\tc\n",
    "c.tsv": b"3\tc\n",
    "d.sgml": b"<DOC><DOCNO>3</DOCNO></DOC>",
    "d.all": b".I 3\n.W\nc\n",
}


def why_not_json(line: bytes) -> str:
    """What orjson says about it, in the words of its version."""
    try:
        return str(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        return str(error)


@pytest.mark.parametrize(("name", "before", "bad", "expected"), DOCUMENTS)
def test_a_bad_document_is_shown_with_its_line_or_left_out(
    tmp_path: Path, name: str, before: bytes, bad: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(before + bad + GOOD[name])
    expected = expected.replace("{json}", why_not_json(bad))
    place = f"{path}:{before.count(chr(10).encode()) + 1}"
    with pytest.raises(FormatError) as caught:
        list(read_documents(path))
    assert str(caught.value) == f"{place}: {expected}"
    reading = Reading(problems=Problems(skip=True))
    assert [document.id for document in read_documents(path, reading=reading)] == ["1", "3"]
    assert [str(problem) for problem in reading.problems.found] == [f"{place}: {expected}"]


JUDGMENTS = [
    ("x.qrels", b"1 0 a 1\n", b"1 0 b\n", QRELS + '"1 0 b"'),
    ("x.qrels", b"1 0 a 1\n", b"1 0 b 1.5\n", QRELS + '"1 0 b 1.5"'),
    ("x.qrels", b"1 0 a 1\n", b"1 0 b --1\n", QRELS + '"1 0 b --1"'),
    ("x.qrels", b"1 0 a 1\n", b"1 0 b 1 extra\n", QRELS + '"1 0 b 1 extra"'),
    ("x.qrels", b"1 0 a 1\n", b"1 0 a 2\n", 'expected grade 1 again for query "1" and document "a", found 2'),
    ("x.qrels", b"1 0 a 1\n", b"1 0 \xff 1\n", NOT_UTF8.format(column=5)),
    ("x.tsv", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"1\tb\t0.5\n", BEIR + '"1\\tb\\t0.5"'),
    ("x.tsv", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"1\t\t1\n", BEIR + '"1\\t\\t1"'),
    ("x.tsv", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"1 b 1\n", BEIR + '"1 b 1"'),
    ("x.tsv", b"query-id\tcorpus-id\tscore\n1\ta\t1\n", b"1\ta\t0\n", 'expected grade 1 again for query "1" and document "a", found 0'),
    ("cranqrel", b"1 5 4\n", b"1 6 5\n", 'expected a line of cranfield judgments (3 columns, query and document first), found "1 6 5"'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "bad", "expected"), JUDGMENTS)
def test_a_bad_judgment_is_shown_with_its_line_or_left_out(
    tmp_path: Path, name: str, before: bytes, bad: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(before + bad + before.splitlines(keepends=True)[-1])  # the same judgment again counts once
    place = f"{path}:{before.count(chr(10).encode()) + 1}"
    with pytest.raises(FormatError) as caught:
        read_qrels(path)
    assert str(caught.value) == f"{place}: {expected}"
    reading = Reading(problems=Problems(skip=True))
    assert [row.grade for row in read_qrels(path, reading=reading).rows()] == [1]
    assert [str(problem) for problem in reading.problems.found] == [f"{place}: {expected}"]


def test_negative_grades_are_kept_unless_they_mean_not_judged(tmp_path: Path) -> None:
    (tmp_path / "x.qrels").write_text("1 0 a -1\n1 0 b 2\n2 0 a -2\n")
    assert read_qrels(tmp_path / "x.qrels").to_dict() == {"1": {"a": -1, "b": 2}, "2": {"a": -2}}
    assert read_qrels(tmp_path / "x.qrels", drop_negative=True).to_dict() == {"1": {"b": 2}}


QUERIES = [
    ("q.jsonl", b'{"_id": "1", "text": "a"}\n', b'{"text": "b"}\n', "expected an id in '_id', found text (str)"),
    ("q.jsonl", b'{"_id": "1", "text": "a"}\n', b'{"_id": "2"}\n', "expected a query text, found _id (str)"),
    ("q.jsonl", b'{"_id": "1", "text": "a"}\n', b'{"_id": "1", "text": "b"}\n', 'expected each query id once, found "1" again'),
    ("q.tsv", b"1\ta\n", b"2 b\n", 'expected 2 columns (qid, text) separated by tabs, the first not empty, found "2 b"'),
    ("q.tsv", b"1\ta\n", b"1\tb\n", 'expected each query id once, found "1" again'),
    ("q.csv", b"qid,query\n1,a\n", b",b\n", "expected an id in 'qid', found none"),
    ("q.csv", b"qid,query\n1,a\n", b"1,b\n", 'expected each query id once, found "1" again'),
    ("q.topics", b"<top>\n<num> Number: 1\n<title> a\n</top>\n", b"<top>\n<title> b\n</top>\n", 'expected a <num> with the topic\'s id, found "<title> b"'),
    ("q.topics", b"<top>\n<num> 1\n<title> a\n</top>\n", b"<top>\n<num> 1\n<title> b\n</top>\n", 'expected each query id once, found "1" again'),
    ("q.topics", b"<top>\n<num> 1\n<title> a\n</top>\n", b"<top>\n<num> 2\n", "expected a </top> for this <top>, found the end of the file"),
    ("q.qry", b".I 1\n.W\na\n", b".I 1\n.W\nb\n", 'expected each query id once, found "1" again'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "bad", "expected"), QUERIES)
def test_a_bad_query_is_shown_with_its_line_or_left_out(
    tmp_path: Path, name: str, before: bytes, bad: bytes, expected: str
) -> None:
    path = tmp_path / name
    path.write_bytes(before + bad)
    place = f"{path}:{before.count(chr(10).encode()) + 1}"
    with pytest.raises(FormatError) as caught:
        read_queries(path)
    assert str(caught.value) == f"{place}: {expected}"
    reading = Reading(problems=Problems(skip=True))
    assert read_queries(path, reading=reading).texts() == {"1": "a"}
    assert [str(problem) for problem in reading.problems.found] == [f"{place}: {expected}"]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ("1\tb\n", 'expected 3 columns (qid, docno, rank) separated by tabs, the first not empty, found "1\\tb"'),
        ("1\tb\tfirst\n", 'expected a rank in the third column, found "first"'),
        ("1\tb\t-1\n", 'expected a rank in the third column, found "-1"'),
        ("1\ta\t2\n", 'expected each document once for query "1", found "a" a second time'),
    ],
)
def test_a_bad_line_of_an_msmarco_run_is_shown_or_left_out(tmp_path: Path, bad: str, expected: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"1\ta\t1\n{bad}")
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert str(caught.value) == f"{path}:2: {expected}"
    reading = Reading(problems=Problems(skip=True))
    assert read_run(path, reading=reading).to_dict() == {"1": {"a": -1.0}}
    assert reading.problems.count == 1


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("d.jsonl", '{"id": 1, "text": "a"}\n\n{"id": 1, "text": "b"}\n', (3, 1)),
        ("d.csv", 'id,text\n1,"a\nb"\n1,c\n', (4, 2)),
        ("d.sgml", "<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n", (4, 1)),
        ("c.tsv", "1\ta\n1\tb\n", (2, 1)),
    ],
)
def test_an_id_that_comes_again_is_shown_with_both_lines(
    tmp_path: Path, name: str, text: str, lines: tuple[int, int]
) -> None:
    (tmp_path / name).write_text(text)
    reading = Reading()
    with pytest.raises(FormatError) as caught:
        list(unique(read_documents(tmp_path / name, reading=reading), reading, name))
    second, first = lines
    expected = f'{name}:{second}: expected an id that was not there before, found "1" again (first on line {first})'
    assert str(caught.value) == expected
    reading = Reading(problems=Problems(skip=True))
    assert len(list(unique(read_documents(tmp_path / name, reading=reading), reading, name))) == 1
    assert reading.problems.count == 1


@pytest.mark.parametrize(
    "choice", [ColumnChoice(id="key"), ColumnChoice(fields={"body": "key"}), ColumnChoice(metadata=("key",))]
)
@pytest.mark.parametrize(("name", "text"), [("d.jsonl", '{"id": "1", "text": "a"}\n'), ("d.csv", "id,text\n1,a\n")])
def test_a_column_that_is_not_there_is_answered_with_those_that_are(
    tmp_path: Path, name: str, text: str, choice: ColumnChoice
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(RankwellError) as caught:
        list(read_documents(tmp_path / name, columns=choice))
    assert str(caught.value) == f"{tmp_path / name}: expected a column 'key', found id, text"


def test_the_list_of_problems_is_bounded_but_the_count_is_not(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"id": "1", "text": "a"}\n' + "{\n" * 2500)
    reading = Reading(problems=Problems(skip=True))
    assert len(list(read_documents(tmp_path / "d.jsonl", reading=reading))) == 1
    assert (reading.problems.count, len(reading.problems.found)) == (2500, 1000)
