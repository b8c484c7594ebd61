from __future__ import annotations

import contextlib
import json
import tomllib
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.studies import read_study, shipped_studies, study_schema
from rankwell.studies.file.errors import KeyPositions, StudyError
from rankwell.studies.file.reading import ExperimentFile, parse_study
from rankwell.studies.file.study import expanded
from small_study import STUDY


def test_a_study_says_what_it_is() -> None:
    file = parse_study(STUDY, name="made-up")
    assert [row.name for row in file.rows(file.study.table[0])] == [
        "BM25", "weighted", "k1 0.5", "k1 1.2", "RM3", "chance",
    ]  # fmt: skip
    assert file.study.table[0].published == {"BM25": {"nDCG@10": 0.5}}


@pytest.mark.parametrize(
    ("before", "after", "place", "says"),
    [
        ('title = "Words', 'titel = "Words', "2:9", "did you mean title?"),
        ("seed = 7", "seed = -7", "4:8", "expected a whole number from 0, found -7"),
        ("seed = 7", 'seed = "7"', "4:8", 'found "7"'),
        ("seed = 7", "seed = ", "4:8", "not TOML"),
        ('words = "bm25(title=0.4, text=0.6)"', 'words = "bm25(title=0.4, text=o.6)"', "10:26", "expected a number"),
        ('words = "bm25(', 'words = "bm52(', "10:10", "did you mean bm25?"),
        ('["nDCG@10", "RR@10"]', '["nDCG@10", "RRR@10"]', "23:24", "RRR@10"),
        ('kind = "depths"', 'kind = "deep"', "32:8", "did you mean depths?"),
        ("depths = [1, 3, 5]", "", "29:3", 'expected a key "depths"'),
        ('source = "diseases"', "", "12:3", 'expected a key "source"'),
        ("bm25 | top 5 | random(3)", "bm25 | top 5", "35:19", "expected a line that re-ranks"),
        ("bm25(k1=$k1)", "bm25(k1=$k2)", "26:", "expected a variable of [vary] (k1)"),
        ('"k1 $k1" =', '"k1" =', "26:", "expected $k1 in the row's name too"),
        ('name = "grades"', 'name = "main"', "38:8", "found main again"),
        ('name = "grades"', 'name = "a b"', "38:8", "expected letters"),
        ("queries = 3", "queries = 0", "17:11", "from 1, found 0"),
        ('kind = "grades"', 'kind = "grades"\nbaseline = "BM26"', "41:12", "did you mean BM25?"),
        ('kind = "grades"', 'kind = "grades"\ncollections = ["Diseses"]', "41:16", "did you mean Diseases?"),
    ],
)
def test_a_mistake_is_found_before_anything_runs_with_line_and_column(
    before: str, after: str, place: str, says: str
) -> None:
    assert before in STUDY
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace(before, after, 1), "my.toml")
    assert str(raised.value).startswith(f"my.toml:{place}")
    assert says in raised.value.message


@given(st.data())
def test_a_damaged_file_is_a_mistake_and_never_a_crash(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(STUDY)))
    length = data.draw(st.integers(0, 30))
    damage = data.draw(st.text("[]{}=\"'$|()\n# bm25", max_size=8))
    with contextlib.suppress(StudyError):
        assert isinstance(parse_study(STUDY[:start] + damage + STUDY[start + length :]), ExperimentFile)


def test_a_file_that_is_not_there_or_not_text_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="No such file"):
        read_study(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(StudyError, match="not UTF-8"):
        read_study(tmp_path / "bad.toml")


def test_places_are_those_of_the_values_whatever_way_a_table_is_written() -> None:
    text = """\
a = 1
[b.c]
'x y' = [
  'one',
  'two',
]
[[t]]
n = {p = 1, q = "z"}
[[t]]
[t."r s"]
k."l m" = \'\'\'
a = 2
\'\'\'
z = 3
"""
    places = KeyPositions(text)
    assert places.of(("a",)) == (1, 5)
    assert places.of(("b", "c", "x y", 1)) == (5, 3)
    assert places.of(("t", 0, "n", "q")) == (8, 17)
    assert places.of(("t", 1, "r s", "k", "l m")) == (11, 11)
    assert places.of(("t", 1, "r s", "z")) == (14, 5)
    assert places.of(("nothing",)) is None


def test_rows_are_all_combinations_of_what_varies() -> None:
    rows = expanded("$a and $b", "dense($a, layer=$b)", {"a": ("x", "y"), "b": ("1", "2")})
    assert [(row.name, row.line) for row in rows] == [
        ("x and 1", "dense(x, layer=1)"),
        ("x and 2", "dense(x, layer=2)"),
        ("y and 1", "dense(y, layer=1)"),
        ("y and 2", "dense(y, layer=2)"),
    ]


def test_a_budget_shortens_what_varies() -> None:
    text = STUDY.replace("documents = 12", "documents = 12\nvary = { k1 = [1.2] }")
    file = parse_study(text)
    assert len(file.rows(file.study.table[0])) == 6
    assert len(file.within("small").rows(file.study.table[0])) == 5
    with pytest.raises(StudyError, match="did you mean small"):
        file.within("smal")


def test_the_schema_accepts_every_shipped_study_and_refuses_what_the_reader_refuses() -> None:
    schema = json.loads(json.dumps(study_schema()))
    checker = jsonschema.Draft7Validator(schema)
    for file in (files("rankwell.studies") / "shipped").iterdir():
        if file.name.endswith(".toml"):
            checker.validate(tomllib.loads(file.read_text(encoding="utf-8")))
    checker.validate(tomllib.loads(STUDY))
    for before, after in (("seed = 7", "seed = 'x'"), ("title =", "titel ="), ('kind = "depths"', 'kind = "deep"')):
        assert not checker.is_valid(tomllib.loads(STUDY.replace(before, after, 1)))


def test_every_shipped_study_is_without_mistakes_and_has_a_small_budget() -> None:
    found = shipped_studies()
    assert "s2" in found
    for file in found.values():
        assert any(file.within("small").rows(table) for table in file.study.table)
        assert any(entry.source == "rankwell:python" for entry in file.study.collection)
