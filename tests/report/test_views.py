"""Results show themselves: one line by repr, a table by print, table and picture in a notebook, LaTeX, data frames."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankwell import (
    BM25,
    Comparison,
    Evaluation,
    Index,
    Judgments,
    Queries,
    Query,
    RankwellError,
    Run,
    TrainingResult,
    compare,
    evaluate,
    read_qrels,
    read_run,
    sweep,
    tune,
    write_qrels,
    write_run,
)
from rankwell.evaluation.significance.resampling import Randomization
from rankwell.models.learning.run_folder import RunFolder
from rankwell.report.comparison import comparison_page

JUDGMENTS = Judgments.from_dict({f"q{n}": {"d1": 2, "d2": 1, "d3": 0} for n in range(8)})
GOOD = Run.from_dict({f"q{n}": {"d1": 3.0, "d2": 2.0 + n / 10, "d3": 1.0} for n in range(8)}, tag="good")
BAD = Run.from_dict({f"q{n}": {"d3": 3.0, "d2": 2.0, "d1": 1.0 + n / 10} for n in range(8)}, tag="bad")
QUERIES = Queries([Query("q1", {"query": "fever", "question": "What is fever?"}), Query("q2", {"query": "cough"})])


def results(folder: Path) -> dict[str, object]:
    texts = {"q0": "masks droplets", "q1": "soap", "q2": "windows", "q3": "masks"}
    rows = {"d1": "masks stop droplets", "d2": "soap and masks", "d3": "open windows droplets"}
    ranker = BM25(Index.build(folder / "papers", rows))
    run = RunFolder.create(folder / "run", "cross-encoder", {}, "")
    run.metrics.append({"step": 1, "epoch": 0.5, "loss": 0.7, "lr": 0.1, "seconds": 1})
    run.metrics.append({"step": 2, "epoch": 1.0, "loss": 0.3, "lr": 0.1, "seconds": 1})
    return {
        "Run": GOOD,
        "Queries": QUERIES,
        "Judgments": JUDGMENTS,
        "Evaluation": evaluate(JUDGMENTS, GOOD, ["nDCG@10", "RR@10"]),
        "Evaluations": evaluate(JUDGMENTS, {"bad": BAD, "good": GOOD}, ["nDCG@10", "RR@10"]),
        "Comparison": compare(JUDGMENTS, {"bad": BAD, "good": GOOD}, ["nDCG@10", "MFR@10"]),
        "Sweep": sweep(JUDGMENTS, BAD, {1: BAD, 2: GOOD}, "nDCG@10", name="layers"),
        "Tuning": tune(ranker, {"k1": [0.9, 1.2], "b": [0.3, 0.7]}, texts, JUDGMENTS, folds=2),
        "TrainingResult": TrainingResult(run, 2, 2, {"AP": 0.75}, {"AP": 0.5}, stopped_early=False, seconds=3.0),
    }


SHOWN = {
    "Run": "good",
    "Queries": "What is fever?",
    "Judgments": "grade 2: 8, grade 1: 8, grade 0: 8",
    "Evaluation": "RR@10",
    "Evaluations": "bad",
    "Comparison": "Differences to bad: t test, holm-corrected.",
    "Sweep": "By layers; first the baseline",
    "Tuning": "to expect on new queries (2-fold cross-validation)",
    "TrainingResult": "the weights after step 2 are kept",
}
WITHOUT_PICTURE = {"Run", "Queries"}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_result_shows_itself(kind: str, tmp_path: Path) -> None:
    result = results(tmp_path)[kind]
    assert repr(result).startswith(f"{kind}(")
    assert "\n" not in repr(result)
    assert len(repr(result)) < 200
    assert SHOWN[kind] in str(result)
    assert "\n---" in str(result)
    assert "array(" not in str(result)
    html = result._repr_html_()
    assert "<table>" in html
    assert ("<svg" in html) is (kind not in WITHOUT_PICTURE)
    assert result.to_latex("A caption & more").startswith("\\begin{table}")
    assert r"A caption \& more" in result.to_latex("A caption & more")
    assert isinstance(result.to_frame(), pd.DataFrame)


def test_html_escapes_what_others_wrote() -> None:
    html = Run.from_dict({"<b>": {"<script>": 1.0}})._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_long_run_shows_its_start_and_says_how_much_follows() -> None:
    run = Run.from_dict({"q1": {f"d{n}": float(n) for n in range(1000)}})
    assert len(str(run).splitlines()) < 20
    assert "and 990 more documents" in str(run)


def test_latex_of_a_comparison_has_all_that_a_paper_needs(tmp_path: Path) -> None:
    latex = results(tmp_path)["Comparison"].to_latex("Two runs", label="tab:runs")
    caption = re.search(r"\\caption\{(.*)\}\n", latex)[1]
    assert caption.startswith("Two runs. 8 queries. Differences to bad: t test, holm-corrected.")
    assert r"{*}{*}{*} p \textless{} .001" in caption
    assert caption.endswith(r"p \textless{} .0001. Best values are bold.")
    assert r"\label{tab:runs}" in latex
    # Higher is better for nDCG, lower for MFR.
    assert re.search(r"good & \\textbf\{0?1?\.?\d+\}\\textsuperscript\{[{}*]+\} & \\textbf\{1\.0000\}", latex)
    assert re.search(r"bad & 0\.\d+ & 2\.0000", latex)


def test_frames_go_both_ways() -> None:
    assert Run.from_frame(GOOD.to_frame()) == GOOD
    assert Judgments.from_frame(JUDGMENTS.to_frame()) == JUDGMENTS
    assert Queries.from_frame(QUERIES.to_frame()) == QUERIES
    assert list(QUERIES.to_frame().columns) == ["qid", "query", "question"]


def test_the_picture_of_an_evaluation_has_its_mean() -> None:
    evaluation = evaluate(JUDGMENTS, BAD, "nDCG@10")
    assert "mean 0.62," in evaluation._repr_html_()  # not 0.6


def test_latex_of_evaluations_has_the_best_values_bold() -> None:
    latex = evaluate(JUDGMENTS, {"bad": BAD, "good": GOOD}, ["nDCG@10", "MFR@10"]).to_latex("Two runs")
    assert r"\caption{Two runs. 8 queries. Best values are bold.}" in latex
    assert re.search(r"good & \\textbf\{[\d.]+\} & \\textbf\{1\.0000\}", latex)
    assert re.search(r"bad & 0\.\d+ & 2\.0000", latex)
    assert "textbf" not in evaluate(JUDGMENTS, GOOD, "nDCG@10").to_latex()


def test_a_comparison_is_made_again_from_its_values() -> None:
    made = compare(JUDGMENTS, {"bad": BAD, "good": GOOD}, ["nDCG@10", "MFR@10"])
    table = made.per_query()
    assert list(table.columns) == ["run", "qid", "nDCG@10", "MFR@10"]
    mixed = table.rename(columns={"qid": "query_id"}).iloc[[0, *range(15, 0, -1)]]  # the first row names the baseline
    again = Comparison.from_frame(mixed)
    assert again.to_latex() == made.to_latex()
    assert str(again) == str(made)
    evaluation = evaluate(JUDGMENTS, GOOD, ["nDCG@10", "RR@10"])
    assert Evaluation.from_frame(evaluation.to_frame()).means == pytest.approx(dict(evaluation.means))
    bonferroni = Comparison.from_frame(table, test=Randomization(), correction="bonferroni")
    assert "Query by query" in comparison_page(bonferroni).html()
    assert "Differences to bad: randomization test, bonferroni-corrected." in str(bonferroni)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="run"), "expected a column run with the runs' names, found qid, AP"),
        (lambda table: table.iloc[:3], "expected the same queries for every run, found 2 of a and 1 of b, 1 of them"),
        (lambda table: table.iloc[[0, 0, 1]], "expected each query once, found 'q1' again"),
        (lambda table: table.assign(AP="high"), "expected numbers in the column AP, found"),
        (
            lambda table: table.rename(columns={"AP": "NumQ"}),
            "expected measures that are means .*, found NumQ",
        ),
        (lambda table: table.rename(columns={"AP": "rank"}), "expected .*, found .*rank"),
        (lambda table: table.iloc[:0], "found no row"),
    ],
)
def test_a_frame_without_the_values_of_a_comparison_is_told_in_a_line(change, message: str) -> None:
    table = pd.DataFrame({"run": ["a", "a", "b", "b"], "qid": ["q1", "q2"] * 2, "AP": [0.1, 0.2, 0.3, 0.4]})
    with pytest.raises(RankwellError, match=message):
        Comparison.from_frame(change(table))


def test_frames_of_others_are_read_by_their_names() -> None:
    theirs = {"qid": "query_id", "docno": "doc_id", "grade": "relevance", "query": "text"}
    assert Run.from_frame(GOOD.to_frame().rename(columns=theirs)) == GOOD
    assert Judgments.from_frame(JUDGMENTS.to_frame().rename(columns=theirs)) == JUDGMENTS
    assert Queries.from_frame(QUERIES.to_frame().rename(columns=theirs)) == QUERIES
    with pytest.raises(RankwellError, match="expected a column query or text"):
        Queries.from_frame(pd.DataFrame({"qid": ["1"], "words": [3]}))


def test_an_evaluation_as_a_frame_has_a_row_for_each_query(tmp_path: Path) -> None:
    table = results(tmp_path)["Evaluation"].to_frame()
    assert list(table.columns) == ["qid", "nDCG@10", "RR@10"]
    assert np.allclose(table["RR@10"], 1)


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_json_runs_and_judgments_go_both_ways(tmp_path: Path, name: str) -> None:
    with_gap = Run.from_dict({**GOOD.to_dict(), "empty": {}})
    write_run(tmp_path / name, with_gap)
    write_qrels(tmp_path / f"qrels-{name}", JUDGMENTS)
    assert read_run(tmp_path / name) == with_gap
    assert read_qrels(tmp_path / f"qrels-{name}") == JUDGMENTS


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"q1": {"d1": 1.5, "d2": "high"}}', "a number as the score of document 'd2' of query 'q1'"),
        ('{"q1": {"d1": 1.5}, "q2": 3}', "an object with the documents of query 'q2'"),
        ('{"q1": {"d1": 1.5}', 'expected an object {"query": {"document": number}}'),
    ],
)
def test_what_is_wrong_in_a_json_run_is_said(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=re.escape(problem)):
        read_run(tmp_path / "run.json")


def test_grades_of_json_judgments_are_whole_numbers(tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text('{"q1": {"d1": 1.5}}')
    with pytest.raises(ValueError, match="a whole number as the grade of document 'd1' of query 'q1'"):
        read_qrels(tmp_path / "qrels.json")
