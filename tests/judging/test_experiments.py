"""The re-assessment study's experiments 1 to 6 on a made-up study of its size."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_study import World, make_world
from scipy.stats import ttest_rel

from rankwell.core import Judgments, ParameterError, RankwellError, Run
from rankwell.evaluation import evaluate
from rankwell.judging.experiments import Experiments, graded_measures, run_experiments
from rankwell.judging.grades import Grades
from rankwell.judging.labels import Labels, make_labels
from rankwell.judging.report import experiment_table, experiments_table, unjudged_table, verdict_table


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


@pytest.fixture(scope="module")
def labels(world: World) -> Labels:
    return make_labels(world.grades, world.original)


@pytest.fixture(scope="module")
def found(world: World, labels: Labels) -> Experiments:
    return run_experiments(labels, world.runs)


def test_there_are_six_experiments_in_s1s_order(found: Experiments) -> None:
    assert [(one.number, one.about, one.first, one.second) for one in found.all] == [
        (1, "BM25", "original", "liberal"),
        (1, "BM25", "original", "strict"),
        (2, "BERT", "original", "liberal"),
        (2, "BERT", "original", "strict"),
        (3, "original labels", "BM25", "BERT"),
        (4, "liberal labels", "BM25", "BERT"),
        (5, "strict labels", "BM25", "BERT"),
        (6, "graded labels", "BM25", "BERT"),
    ]
    binary = ["RR@5", "RR@10", "MFR@5", "MFR@10", "P@5", "P@10"]
    assert all([str(outcome.measure) for outcome in one.outcomes] == binary for one in found.all[:-1])
    assert [outcome.measure.cutoff for outcome in found.all[-1].outcomes] == [5, 10, 20]


def test_figures_are_those_of_evaluate_and_scipy(world: World, labels: Labels, found: Experiments) -> None:
    old = evaluate(labels.original, world.runs["BM25"], ["P@5"]).per_query("P@5")
    new = evaluate(labels.binary["strict"], world.runs["BM25"], ["P@5"]).per_query("P@5")
    outcome = next(one for one in found.all[1].outcomes if str(one.measure) == "P@5")
    assert outcome.first == pytest.approx(np.mean(list(old.values())))
    assert outcome.second == pytest.approx(np.mean(list(new.values())))
    pairs = [(new[qid], old[qid]) for qid in labels.kept]
    assert outcome.found.p == pytest.approx(ttest_rel(*zip(*pairs, strict=True)).pvalue)
    assert outcome.found.mean == pytest.approx(outcome.second - outcome.first)


def test_the_verdict_turns_as_it_did_in_s1(found: Experiments) -> None:
    def precision(number: int) -> float:
        (experiment,) = (one for one in found.all if one.number == number)
        return next(outcome.found.mean for outcome in experiment.outcomes if str(outcome.measure) == "P@10")

    assert precision(3) > 0  # with the original labels the neural ranker is better
    assert precision(4) < 0  # with all relevant passages known it is not
    assert all(outcome.found.p < 0.0001 for outcome in found.all[0].outcomes)  # new labels raise every figure


def test_a_run_that_the_pool_was_not_made_of_is_named(found: Experiments) -> None:
    assert found.depths == {"BM25": 20, "BERT": 1}
    (note,) = found.notes
    assert "of the top 10 of BERT were never judged" in note
    assert "down to rank 20 and this one to rank 1, so the pool was not made of it" in note


def test_a_cut_off_deeper_than_the_pool_is_said_and_its_marks_stand_in_brackets(world: World) -> None:
    run = world.runs["BM25"]
    shallow = {(qid, docno) for qid, ranking in run.rankings() for docno in ranking.docnos[:5].tolist()}
    asked = Grades.of(
        (row.qid, row.docno, row.assessor, row.grade) for row in world.grades.rows() if (row.qid, row.docno) in shallow
    )
    labels = make_labels(asked, world.original, confirmed=False)
    found = run_experiments(labels, {"BM25": run, "again": run})
    assert found.depths == {"BM25": 5, "again": 5}
    note = next(note for note in found.notes if note.startswith("BM25 is judged down to rank 5"))
    assert "@10, @20 look deeper" in note
    assert not any("pool was not made" in note for note in found.notes)
    marks = {row[0]: row[-1] for row in experiment_table(found.all[0]).rows}
    assert marks["P@5"] == "****"
    assert marks["P@10"] == "(****)"
    rows = {row[:3]: row[3:] for row in map(tuple, unjudged_table(found).rows)}
    depth, mean, condensed, lowest, highest = rows["liberal", "BM25", "P@10"]
    assert depth == 5
    assert lowest == mean
    assert highest == pytest.approx(mean + 0.5)
    assert condensed == pytest.approx(mean)  # five judged passages, whatever stands below
    of_top_5 = rows["liberal", "BM25", "P@5"]
    assert of_top_5[1] == of_top_5[2] == of_top_5[3] == of_top_5[4]


def test_s1s_ndcg_gives_the_lowest_grade_to_what_nobody_judged() -> None:
    judged = Judgments([("q", "good", 5), ("q", "bad", 1)])
    run = Run.from_dict({"q": {"unjudged": 3.0, "good": 2.0, "bad": 1.0}})
    (at_5, *_) = graded_measures(lowest=1)
    gained = 1 + 5 / 1 + 1 / np.log2(3)
    ideal = 5 + 1 / 1 + 1 / np.log2(3)
    assert evaluate(judged, run, at_5).mean(at_5) == pytest.approx(gained / ideal)
    assert str(graded_measures(lowest=0)[2]) == "nDCG(dcg='original')@20"


def test_tables_have_a_row_for_each_measure_and_stars(found: Experiments) -> None:
    table = experiment_table(found.all[0])
    assert table.title == "Experiment 1: BM25, original against liberal"
    assert [row[-1] for row in table.rows] == ["****"] * 6
    everything = experiments_table(found)
    assert len(everything.rows) == 7 * 6 + 3
    assert {row[-1] for row in everything.rows} == {found.queries}
    verdict = verdict_table(found)
    assert [column.name for column in verdict.columns][2:] == ["original labels", "liberal labels", "strict labels"]
    assert verdict.rows[5][:2] == ("BERT", "P@10")
    assert verdict.rows[5][3].startswith("-")  # type: ignore[union-attr] -- a cell with a sign


def test_several_runs_are_compared_with_the_first(world: World, labels: Labels) -> None:
    found = run_experiments(labels, {**world.runs, "BERT again": world.runs["BERT"]})
    assert [one.number for one in found.all] == [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert {row[0] for row in verdict_table(found).rows} == {"BERT", "BERT again"}


def test_a_query_that_a_run_lacks_counts_with_the_worst_value(world: World, labels: Labels) -> None:
    kept = labels.kept[0]
    part = Run.from_rows((qid, docno, score) for qid in labels.kept[1:] for docno, score in world.runs["BM25"][qid])
    found = run_experiments(labels, {"BM25": world.runs["BM25"], "part": part})
    assert f"part lacks 1 of {len(labels.kept)} queries, which count with the worst value" in found.notes
    assert kept not in part


def test_what_cannot_be_compared_is_refused(world: World, labels: Labels) -> None:
    with pytest.raises(ParameterError, match="runs: expected a baseline and at least one other run"):
        run_experiments(labels, {"BM25": world.runs["BM25"]})
    with pytest.raises(ParameterError, match="names of runs that are not names of label sets"):
        run_experiments(labels, {"strict": world.runs["BM25"], "BERT": world.runs["BERT"]})
    nothing = make_labels(Grades.of([("q", "d", "a", 5)]), Judgments([("q", "d", 1)]))
    with pytest.raises(RankwellError, match=r"found none: too few assessors: 1$"):
        run_experiments(nothing, world.runs)
    unconfirmed = make_labels(world.grades, Judgments(), confirmed=False)
    with pytest.raises(ParameterError, match="original: expected original judgments of every query that was kept"):
        run_experiments(unconfirmed, world.runs)
