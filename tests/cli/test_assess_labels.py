"""`rankwell assess labels|agreement|report` as users type them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands import rankwell as command
from rankwell.cli import app
from rankwell.collections import read_qrels, write_qrels
from rankwell.core import Judgments, RankwellError
from rankwell.judging.grades import Grades, write_grades

GRADES = {
    "q1": {"d1": (5, 4, 4), "d2": (2, 2, 1), "d3": (1, 1, 1), "d4": (3, 1, None)},
    "q2": {"d1": (1, 1, 2), "d2": (4, 5, 5), "d3": (3, 3, 3), "d4": (1, 1, 1)},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_grades(
        "grades.tsv",
        Grades.of(
            (qid, docno, who, grade, 7.5, level)
            for qid, passages in GRADES.items()
            for docno, given in passages.items()
            for who, level, grade in zip(("ann", "ben", "cleo"), (9, 8, 6), given, strict=True)
        ),
    )
    write_qrels("qrels.txt", Judgments([("q1", "d1", 1), ("q2", "d2", 1), ("q2", "d9", 1), ("q3", "d1", 0)]))
    first = dict.fromkeys(GRADES, ("d3", "d4", "d2", "d1"))
    second = dict.fromkeys(GRADES, ("d1", "d2", "d7", "d3"))
    for name, run in {"first": first, "second": second}.items():
        lines = [f"{qid} Q0 {docno} {n} {9 - n} x" for qid, docs in run.items() for n, docno in enumerate(docs, 1)]
        Path(f"{name}.trec").write_text("\n".join(lines) + "\n")
    return tmp_path


def rankwell(*words: str) -> subprocess.CompletedProcess[str]:
    return command("assess", *words)


def test_labels_writes_a_file_for_each_set_and_says_what_is_in_it() -> None:
    done = rankwell("labels", "grades.tsv", "--original", "qrels.txt", "-o", "new")
    assert done.returncode == 0, done.stderr
    assert "kept                       2" in done.stdout
    liberal, graded = read_qrels("new/liberal.qrels"), read_qrels("new/graded.qrels")
    assert liberal["q1"] == {"d1": 1, "d2": 1, "d3": 0, "d4": 0}  # d4: one vote each, and no label before
    assert read_qrels("new/strict.qrels")["q1"] == {"d1": 1, "d2": 0, "d3": 0, "d4": 0}
    assert graded["q1"] == {"d1": 4, "d2": 2, "d3": 1, "d4": 1}  # d4: 3 and 1, an answer missing
    assert "labels: new/graded.qrels" in done.stderr


def test_labels_takes_any_threshold_an_english_level_and_fewer_assessors() -> None:
    words = ("--threshold", "top=4", "--threshold", "5", "--english", "7", "--assessors", "2", "--output", "json")
    done = rankwell("labels", "grades.tsv", "-o", "new", *words)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["labels"] for row in found["labels"]] == ["top", "from-5", "graded"]
    assert sorted(path.name for path in Path("new").iterdir()) == ["from-5.qrels", "graded.qrels", "top.qrels"]
    assert read_qrels("new/graded.qrels")["q2"]["d1"] == 1  # 1 and 1: the 2 came from cleo, whose English is 6


def test_merged_labels_hold_the_judgments_there_were_and_the_new_ones() -> None:
    done = rankwell("labels", "grades.tsv", "--original", "qrels.txt", "--merge", "-o", "new", "--quiet")
    assert done.returncode == 0, done.stderr
    merged = read_qrels("new/strict.qrels")
    assert merged["q2"] == {"d1": 0, "d2": 1, "d3": 1, "d4": 0, "d9": 1}
    assert merged["q3"] == {"d1": 0}


def test_labels_without_a_query_to_keep_writes_nothing() -> None:
    done = rankwell("labels", "grades.tsv", "-o", "new", "--assessors", "4")
    assert done.returncode == 1
    assert done.stderr == "rankwell: labels: no query was kept, nothing was written\n"
    assert "too few assessors" in done.stdout
    assert not Path("new").exists()


def test_agreement_prints_every_measure_and_every_assessor() -> None:
    done = rankwell("agreement", "grades.tsv")
    assert done.returncode == 0, done.stderr
    assert "Fleiss' kappa" in done.stdout
    assert "Krippendorff's alpha, ordinal" in done.stdout
    found = json.loads(rankwell("agreement", "grades.tsv", "--output", "json").stdout)
    assert [row["assessor"] for row in found["assessors"]] == ["ann", "ben", "cleo", "all"]
    assert found["assessors"][-1]["seconds"] == 7.5
    assert {row["passages"] for row in found["agreement"]} == {8}


def test_report_shows_the_experiments_and_writes_a_page_and_pictures() -> None:
    words = ("--original", "qrels.txt", "--html", "page.html", "--pictures", "pictures")
    done = rankwell("report", "grades.tsv", "first.trec", "second.trec", *words)
    assert done.returncode == 0, done.stderr
    assert "Differences to first, 2 queries" in done.stdout
    assert "Experiment 6: graded labels, first against second" in done.stdout
    assert "* p < .05" in done.stdout
    assert "page: page.html" in done.stderr
    assert Path("page.html").read_text().startswith("<!DOCTYPE html>")
    assert {"grades.png", "relevant-passages.png"} <= {path.name for path in Path("pictures").iterdir()}


def test_report_without_runs_is_about_the_assessment_alone() -> None:
    done = rankwell("report", "grades.tsv", "--html", "page.html", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "Agreement, 95% intervals" in done.stdout
    assert "Experiment" not in Path("page.html").read_text()


@pytest.mark.parametrize("output", ["csv", "json"])
def test_report_for_programs_is_one_table(output: str) -> None:
    done = rankwell("report", "grades.tsv", "first.trec", "second.trec", "--original", "qrels.txt", "--output", output)
    rows = json.loads(done.stdout) if output == "json" else list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 45
    assert {str(row["experiment"]) for row in rows} == set("123456")


@pytest.mark.parametrize("output", ["md", "latex"])
def test_report_for_papers_has_a_table_for_each_experiment(output: str) -> None:
    done = rankwell("report", "grades.tsv", "first.trec", "second.trec", "--original", "qrels.txt", "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Experiment ") == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("labels", "none.tsv", "-o", "new"), "none.tsv"),
        (("labels", "qrels.txt", "-o", "new"), "expected a table with the columns qid, docno, assessor, grade"),
        (("labels", "grades.tsv", "-o", "new", "--threshold", "strict=x"), "--threshold: expected NAME=GRADE or GRADE"),
        (("labels", "grades.tsv", "-o", "new", "--threshold", "../x=2"), "--threshold: expected NAME=GRADE or GRADE"),
        (("labels", "grades.tsv", "-o", "new", "--threshold", "1"), "expected a grade above 1"),
        (("labels", "grades.tsv", "-o", "new", "--missing", "guess"), "missing: expected lowest or median"),
        (("labels", "grades.tsv", "-o", "new", "--merge"), "--merge: expected --original QRELS"),
        (("labels", "grades.tsv", "-o", "new", "--lowest", "2"), "grades: expected none below 2"),
        (("report", "grades.tsv", "first.trec", "second.trec"), "--original: expected the judgments there were before"),
        (
            ("report", "grades.tsv", "first.trec", "--original", "qrels.txt"),
            "runs: expected a baseline and at least one",
        ),
        (("agreement", "grades.tsv", "--output", "xml"), "output: expected one of"),
    ],
)
def test_a_users_mistake_is_one_clear_line(words: tuple[str, ...], said: str) -> None:
    error = CliRunner().invoke(app, ["assess", *words]).exception
    assert isinstance(error, RankwellError)
    assert said in str(error)
    assert "\n" not in str(error)


def test_a_report_on_what_was_unjudged_needs_no_known_passage(folder: Path) -> None:
    write_qrels(folder / "others.txt", Judgments([("q1", "d8", 1), ("q2", "d9", 1)]))
    words = ["assess", "report", "grades.tsv", "first.trec", "second.trec", "--original", "others.txt", "--quiet"]
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, RankwellError)
    assert "judged relevant: 2 (--no-confirmed keeps queries without that)" in str(error)
    done = CliRunner().invoke(app, [*words, "--no-confirmed"])
    assert done.exit_code == 0
    assert "Differences to first, 2 queries" in done.stdout


def test_pictures_by_kind_of_query_come_with_the_queries(folder: Path) -> None:
    (folder / "queries.tsv").write_text("q1\twho painted the ceiling\nq2\tsun\n")
    words = ["assess", "report", "grades.tsv", "first.trec", "second.trec", "--original", "qrels.txt", "--quiet"]
    done = CliRunner().invoke(app, [*words, "--queries", "queries.tsv", "--pictures", "pictures"])
    assert done.exit_code == 0, done.stderr
    assert (folder / "pictures" / "strict-by-answer-type.png").is_file()
