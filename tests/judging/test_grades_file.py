from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading
from rankwell.core import FormatError, RankwellError
from rankwell.judging.grades import Grades, read_grades, write_grades

HEADER = b"qid\tdocno\tassessor\tgrade\n"

names = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=8)
answers = st.tuples(
    st.one_of(st.none(), st.integers(-1, 10)),
    st.one_of(st.none(), st.floats(0, 1e6)),
    st.one_of(st.none(), st.integers(1, 9)),
)
tables = st.dictionaries(st.tuples(names, names, names), answers, max_size=8)


@given(tables, st.sampled_from(["grades.tsv", "grades.csv", "grades.tsv.gz"]))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    table: dict[tuple[str, str, str], tuple[int | None, float | None, int | None]],
    name: str,
) -> None:
    grades = Grades.of((*who, *answer) for who, answer in table.items())
    path = tmp_path_factory.mktemp("grades") / name
    write_grades(path, grades)
    assert read_grades(path) == grades


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "expected a list of objects with qid, docno, assessor and grade, found another kind of JSON"),
        ('{"qid": "q"}', "found another kind of JSON"),
        ("[{", "found no JSON"),
        ('[{"qid": "q", "docno": "d", "assessor": "a"}]', "expected a table with the columns qid"),
        ('[{"qid": "q", "docno": "d", "assessor": "a", "grade": true}]', "expected a whole number or nothing as grade"),
        ('[{"qid": "q", "docno": "d", "assessor": "a", "grade": 1.5}]', "expected a whole number or nothing as grade"),
        ('[{"qid": "", "docno": "d", "assessor": "a", "grade": 1}]', "expected a query's id"),
    ],
)
def test_json_that_holds_no_grades_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "grades.json"
    path.write_text(text)
    with pytest.raises(RankwellError, match=message):
        read_grades(path)


def test_json_may_have_other_names_and_more_besides(tmp_path: Path) -> None:
    path = tmp_path / "grades.json"
    path.write_text('[{"query": "q", "document": 7, "rater": "a", "label": null, "why": {}, "seconds": 2.5}]')
    assert read_grades(path) == Grades.of([("q", "7", "a", None, 2.5, None)])


def test_other_tools_names_and_columns_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "crowd.csv"
    path.write_text('Worker,query-id,comment,corpus-id,label\nw1,q1,"fine, I think",d1,2\nw2,q1,,d1,\n')
    assert read_grades(path) == Grades.of([("q1", "d1", "w1", 2), ("q1", "d1", "w2", None)])


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("q1\td1\tann\tfour\t1.5\t7", 'expected a whole number or nothing as grade, found "four"'),
        ("q1\td1\tann\t2.5\t1.5\t7", 'expected a whole number or nothing as grade, found "2.5"'),
        ("q1\td1\tann\t2\t-3\t7", 'expected a number of seconds or nothing as seconds, found "-3"'),
        ("q1\td1\tann\t2\tnan\t7", 'expected a number of seconds or nothing as seconds, found "nan"'),
        ("q1\td1\t\t2\t1\t7", 'expected an assessor\'s id as assessor, found ""'),
        ("q1\td1\tann\t2\t1\tC1", 'expected a whole number or nothing as english, found "C1"'),
        ("q0\td0\tann\t2\t1\t7", "expected one answer of an assessor on a query's passage, found another, after that"),
    ],
)
def test_a_bad_line_is_named_and_can_be_left_out(tmp_path: Path, line: str, wrong: str) -> None:
    path = tmp_path / "grades.tsv"
    path.write_text(f"qid\tdocno\tassessor\tgrade\tseconds\tenglish\nq0\td0\tann\t1\t\t\n{line}\n")
    with pytest.raises(FormatError) as error:
        read_grades(path)
    assert f"{path}:3: {wrong}" in str(error.value)
    reading = Reading(problems=Problems(skip=True))
    assert read_grades(path, reading=reading) == Grades.of([("q0", "d0", "ann", 1)])
    assert reading.problems.count == 1


def test_a_table_without_assessors_is_no_table_of_grades(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    expected = "expected a table with the columns qid, docno, assessor, grade"
    with pytest.raises(FormatError, match=f"qrels.tsv:1: {expected}.*, found query-id, corpus-id, score"):
        read_grades(path)


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(lambda rest: HEADER + rest)))
def test_any_bytes_are_grades_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "grades.tsv"
    path.write_bytes(content)
    with contextlib.suppress(RankwellError):
        assert isinstance(read_grades(path), Grades)
