from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

from rankwell.core import Judgments, Run
from rankwell.evaluation import Comparison, compare, depth_sweep, evaluate
from rankwell.report.comparison import (
    bounds_table,
    compact_table,
    comparison_page,
    comparison_table,
    grades_table,
    per_query_table,
)
from rankwell.report.sweep import sweep_page, sweep_table


def world() -> tuple[Judgments, dict[str, Run]]:
    generator = np.random.default_rng(1)
    docnos = [f"d{number}" for number in range(15)]
    judgments = Judgments((f"q{q}", d, int(generator.integers(0, 3))) for q in range(15) for d in docnos[:12])
    runs = {
        name: Run.from_rows((f"q{q}", d, float(generator.random())) for q in range(15) for d in docnos)
        for name in ("a", "b")
    }
    return judgments, runs


def compared() -> Comparison:
    return compare(*world(), ["nDCG@10", "RR@10"])


def test_the_table_has_a_row_for_every_measure_and_run_with_numbers_for_programs() -> None:
    found = compared()
    rows = json.loads(comparison_table(found).render("json"))
    assert [(row["measure"], row["run"]) for row in rows] == [
        ("nDCG@10", "a"),
        ("nDCG@10", "b"),
        ("RR@10", "a"),
        ("RR@10", "b"),
    ]
    difference = found.difference("b", "nDCG@10")
    assert difference is not None
    assert rows[1]["difference"] == difference.found.mean
    assert (rows[1]["diff. from"], rows[1]["diff. to"]) == (
        difference.found.interval.low,
        difference.found.interval.high,
    )
    assert rows[0]["difference"] is None
    assert {row["queries"] for row in rows} == {15}


def test_the_compact_table_puts_marks_behind_means() -> None:
    judgments = Judgments((f"q{q}", d, int(d == "d0")) for q in range(20) for d in ("d0", "d1"))
    runs = {
        "bad": Run.from_rows((f"q{q}", d, float(d == "d1")) for q in range(20) for d in ("d0", "d1")),
        "good": Run.from_rows((f"q{q}", d, float(d == "d0")) for q in range(20) for d in ("d0", "d1")),
    }
    table = compact_table(compare(judgments, runs, ["RR@10"]))
    assert [row[1] for row in table.rows] == ["0.5000", "1.0000****"]
    assert json.loads(table.render("json")) == [{"run": "bad", "RR@10": 0.5}, {"run": "good", "RR@10": 1.0}]
    assert table.render("csv").split() == ["run,RR@10", "bad,0.5", "good,1.0"]


def test_grades_on_top_add_up() -> None:
    table = grades_table(compared())
    assert [sum(cell for cell in row if isinstance(cell, int)) for row in table.rows] == [150, 150]


def test_bounds_hold_the_value_between_them() -> None:
    judgments, runs = world()
    table = bounds_table(evaluate(judgments, runs, ["P@10", "RR@10"], unjudged="bounds"))
    for row in table.rows:
        worst, value, best = (float(cell) for cell in row[2:5] if cell is not None)
        assert worst <= value <= best


def test_per_query_rows_are_the_per_query_values() -> None:
    judgments, runs = world()
    found = evaluate(judgments, runs, ["RR@10"])
    values = {(row[0], row[1]): row[2] for row in per_query_table(found).rows}
    assert values["q3", "b"] == found["b"].per_query("RR@10")["q3"]


class Outline(HTMLParser):
    """Headings, tables and pictures of a page, and whether every tag that was opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.append(tag)


def make_page() -> str:
    texts = {f"q{q}": ("who was first" if q % 2 else "how many beds does a hospital have in all") for q in range(15)}
    return comparison_page(compared(), texts=texts, command="rankwell compare").html()


@pytest.fixture(scope="module")
def page() -> str:
    return make_page()


def test_the_page_has_every_picture_that_was_promised(page: str) -> None:
    outline = Outline()
    outline.feed(page)
    assert outline.seen.count("table") == 4  # means, one of the differences by each measure, grades
    # differences, first relevant, grades, ROC, two score pictures, by length, by answer type
    assert outline.seen.count("figure") == 8
    roc = "ROC over returned documents that are judged"
    for words in ("By query length", "By answer type", roc, "Rank of the first relevant"):
        assert words in page


def test_the_page_has_all_pairs_of_three_runs_and_the_bounds_of_differences() -> None:
    judgments, runs = world()
    three = {**runs, "c": runs["a"]}
    page = comparison_page(compare(judgments, three, ["P@10"], unjudged="bounds")).html()
    assert "All pairs, 95% intervals" in page
    assert "What judging could do to the differences to a" in page


def test_the_same_comparison_gives_the_same_page(page: str) -> None:
    assert make_page() == page


def test_a_sweep_has_a_row_for_every_point_and_a_picture_for_every_measure() -> None:
    judgments, runs = world()
    found = depth_sweep(judgments, runs["a"], runs["b"], [5, 10], ["nDCG@10", "RR@10"])
    assert [row[1] for row in sweep_table(found).rows] == [None, 5, 10, None, 5, 10]
    outline = Outline()
    outline.feed(sweep_page(found, "Depth").html())
    assert outline.seen.count("figure") == 3


@pytest.mark.parametrize(
    "measures",
    [
        ["AUC", "MFR@10"],
        *(pytest.param([name], marks=pytest.mark.slow) for name in ("AUC", "AUC(by='query')")),
    ],
    ids=str,
)
def test_a_page_of_measures_without_values_for_every_query_is_still_a_page(measures: list[str]) -> None:
    texts = {f"q{q}": "who was first" for q in range(15)}
    page = comparison_page(compare(*world(), measures), texts=texts).html()
    assert ">nan<" not in page
    assert "ROC over returned documents that are judged" in page


def test_measures_of_queries_without_relevant_documents_have_no_value_in_the_table() -> None:
    _, runs = world()
    few = Judgments([("q0", "d0", 0), ("q1", "d0", 0)])
    rows = comparison_table(compare(few, runs, ["AUC", "AUC(by='query')"])).rows
    assert all(row[3] is None or row[3] == float("-inf") for row in rows)


def test_the_page_shows_the_bounds_that_were_asked_for() -> None:
    page = comparison_page(compare(*world(), ["P@10"], unjudged="bounds")).html()
    assert "What judging the unjudged documents could lead to" in page
