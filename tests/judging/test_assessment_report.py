from __future__ import annotations

from pathlib import Path

import pytest
from made_up_study import make_world

from browser import assert_readable, chromium
from rankwell.core import Judgments, Run
from rankwell.evaluation import parse_measure
from rankwell.judging.agreement import measure_agreement
from rankwell.judging.experiments import run_experiments
from rankwell.judging.grades import Grades
from rankwell.judging.labels import LabelRules, make_labels
from rankwell.judging.report import Assessment, assessment_page, assessment_pictures, group_pictures

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
NAMES = {
    *("grades", "queries-per-assessor", "assessors-per-query", "english-levels"),
    *("assessors-per-kept-query", "relevant-passages", "grades-per-query"),
}

KINDS = [f"{name}-by-{way}" for way in ("query-length", "answer-type") for name in ("original", "liberal", "strict")]


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    world, rules = make_world(), LabelRules()
    labels = make_labels(world.grades, world.original, rules)
    found = run_experiments(labels, world.runs)
    questions = ("who painted the ceiling", "cost of a new roof today in town", "sun")
    texts = {qid: questions[place % 3] for place, qid in enumerate(labels.kept)}
    return Assessment(world.grades, rules, labels, measure_agreement(world.grades, rules.thresholds), found, texts)


def test_every_picture_of_s1_is_there(assessment: Assessment, tmp_path: Path) -> None:
    pictures = assessment_pictures(assessment.grades, assessment.labels)
    assert pictures.keys() == NAMES
    pictures["english-levels"].save(tmp_path / "english-levels.png")
    assert (tmp_path / "english-levels.png").read_bytes().startswith(b"\x89PNG")
    assert "median 1, middle half 1 to 1, from 1 to 1; liberal median" in pictures["relevant-passages"].alt
    assert "at 6" in pictures["queries-per-assessor"].alt  # as many as everybody was asked for
    assert "at 3" in pictures["assessors-per-query"].alt


def test_what_is_not_known_is_not_drawn() -> None:
    assert assessment_pictures(Grades()) == {}
    only_unsure = Grades.of([("q", "d", "a", None)])
    assert assessment_pictures(only_unsure).keys() == {"grades", "queries-per-assessor", "assessors-per-query"}


@pytest.mark.slow
def test_the_page_has_the_verdict_first_and_all_its_parts(assessment: Assessment) -> None:
    page = assessment_page(assessment, "A study", command="rankwell assess report").html()
    headings = ["Does the verdict hold?", "Labels", "Agreement", "Assessors", "Old labels against new"]
    places = [page.index(f"<h2>{heading}</h2>") for heading in [*headings, "Run against run", "Kinds of queries"]]
    assert places == sorted(places)
    assert page.count("<svg") == len(NAMES) + len(KINDS)
    assert "Experiment 6: graded labels, BM25 against BERT" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_results_by_kind_of_query_come_where_the_queries_are_known(assessment: Assessment) -> None:
    texts = assessment.texts
    pictures = group_pictures(assessment.experiments, texts)
    assert list(pictures) == KINDS
    assert group_pictures(assessment.experiments, {}) == {}
    singers = [qid for qid, text in texts.items() if text.startswith("who")]
    measured = assessment.experiments.measured["strict"]["BERT"].per_query(parse_measure("RR@10"))
    mean = sum(measured[qid] for qid in singers) / len(singers)
    assert f"HUM ({len(singers)})" in pictures["strict-by-answer-type"].alt
    assert f"{mean:.3f}" in pictures["strict-by-answer-type"].alt


def test_a_page_without_runs_says_what_there_is(assessment: Assessment) -> None:
    alone = Assessment(assessment.grades, assessment.rules, assessment.labels, assessment.agreement)
    page = assessment_page(alone, "A study").html()
    assert "Experiment" not in page
    assert "<h2>Agreement</h2>" in page


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_reads_well_everywhere(assessment: Assessment, tmp_path: Path, *, dark: bool) -> None:
    page = tmp_path / "page.html"
    page.write_text(assessment_page(assessment, "A study", command="rankwell assess report grades.tsv").html())
    with chromium() as browser:
        assert_readable(browser, page, dark=dark)


@pytest.mark.slow
def test_a_page_full_of_hostile_strings_shows_them_as_text(tmp_path: Path) -> None:
    rows = [
        (f"{HOSTILE}{q}", f"{HOSTILE}{d}", f"{who}{HOSTILE}", 1 + (q + d) % 5, 2.0, 8)
        for q in range(4)
        for d in range(6)
        for who in "abc"
    ]
    grades, rules = Grades.of(rows), LabelRules(thresholds={f"liberal{HOSTILE}": 2})
    original = Judgments((f"{HOSTILE}{q}", f"{HOSTILE}{d}", 1) for q in range(4) for d in range(6))
    labels = make_labels(grades, original, rules)
    run = Run.from_rows((row[0], row[1], float(row[3])) for row in rows[::3])
    found = run_experiments(labels, {HOSTILE: run, f"other{HOSTILE}": run})
    whole = Assessment(grades, rules, labels, measure_agreement(grades, rules.thresholds), found)
    html = assessment_page(whole, HOSTILE, command=HOSTILE).html()
    assert "<script" not in html
    page = tmp_path / "page.html"
    page.write_text(html)
    with chromium() as browser:
        assert_readable(browser, page)
