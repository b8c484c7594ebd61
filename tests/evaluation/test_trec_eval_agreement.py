"""trec_eval's own test files: every measure and query that we share, to the four decimals it prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rankwell.collections import read_qrels
from rankwell.core import Run
from rankwell.evaluation import Measure, evaluate, parse_measure

HALF_A_DIGIT = 0.5e-4 + 1e-9

# What trec_eval prints and we do not have, with the reason.
NOT_OURS = {
    "runid": "not a measure",
    "relstring": "not a number",
    "gm_map": "the geometric mean needs an arbitrary floor for 0",
    "gm_bpref": "likewise",
    "Rprec_mult": "no name in ir-measures and no user of ours",
    "11pt_avg": "likewise; the mean of IPrec@0.0 ... IPrec@1.0",
    "utility": "likewise",
    "binG": "likewise",
    "G": "likewise",
    "ndcg_rel": "likewise",
    "Rndcg": "likewise",
    "relative_P": "likewise",
    "num_nonrel_judged_ret": "likewise",
    "rbp_resid": "the unjudged documents' share of RBP: `bounds` says it for every measure",
}


def run_of(path: Path) -> Run:
    """The run, with whatever follows the sixth column passed over: one of these files tests that trec_eval does so."""
    rows = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return Run.from_rows((row[0], row[2], float(row[4])) for row in rows)


def ours(name: str, rel: int = 1) -> Measure | None:
    """The measure that trec_eval calls so, or None where the table above says why there is none."""
    if any(name == other or name.startswith(f"{other}_") for other in NOT_OURS):
        return None
    measure = parse_measure("RBP(p=0.9)" if name == "rbp" else name)
    return replace(measure, rel=rel) if rel > 1 and getattr(measure, "rel", None) is not None else measure


def disagreements(judgments: Path, run: Run, expected: Path, rel: int = 1) -> tuple[int, list[str]]:
    """How many values were compared, and those that differ."""
    rows = [line.split() for line in expected.read_text(encoding="utf-8").splitlines()]
    measures = {name: measure for name, _, _ in rows if (measure := ours(name, rel))}
    result = evaluate(read_qrels(judgments), run, measures.values())
    compared, wrong = 0, []
    for name, qid, value in rows:
        if name not in measures:
            continue
        measure = measures[name]
        found = result.mean(measure) if qid == "all" else result.per_query(measure)[qid]
        compared += 1
        if abs(found - float(value)) > HALF_A_DIGIT:
            wrong.append(f"{name} {qid} {value} {found:.4f}")
    return compared, wrong


@pytest.fixture
def files(data: Path) -> Path:
    return data / "eval-fixtures" / "trec_eval"


def test_every_shared_measure_and_query_agrees(files: Path) -> None:
    run = run_of(files / "results.test")
    assert disagreements(files / "qrels.test", run, files / "out.test.aq") == (273, [])


def test_queries_that_the_run_lacks_count_as_zero(files: Path) -> None:
    run = run_of(files / "results.trunc")
    assert disagreements(files / "qrels.test", run, files / "out.test.aqc") == (273, [])


def test_a_run_cut_at_100_agrees(files: Path) -> None:
    run = run_of(files / "results.trunc").top(100)
    assert disagreements(files / "qrels.test", run, files / "out.test.aqcM") == (273, [])


def test_a_minimum_grade_of_2_agrees_where_negative_grades_are_judgments_to_both(files: Path) -> None:
    run = run_of(files / "results.test")
    compared, wrong = disagreements(files / "qrels.rel_level", run, files / "out.test.aql", rel=2)
    # trec_eval takes a grade below 0 for "pooled, not judged" and so counts it as unjudged; to us it is a judgment.
    assert compared == 273
    assert {line.split()[0] for line in wrong} == {"unj_5", "unj_10", "unj_20"}
    assert {line.split()[1] for line in wrong} == {"303", "all"}


def test_other_cut_offs_agree(files: Path) -> None:
    run = run_of(files / "results.test")
    expected = files / "out.test.meas_params"
    with_gains = [line for line in expected.read_text(encoding="utf-8").splitlines() if line.startswith("ndcg_1=")]
    assert with_gains  # gains for grades of one's own choosing: not ours
    rows = [line for line in expected.read_text(encoding="utf-8").splitlines() if line not in with_gains]
    wrong = []
    result = {}
    for name, qid, value in (row.split() for row in rows):
        measure = ours(name)
        if measure is None or qid == "all":
            continue
        if measure not in result:
            result[measure] = evaluate(read_qrels(files / "qrels.test"), run, measure).per_query(measure)
        if abs(result[measure][qid] - float(value)) > HALF_A_DIGIT:
            wrong.append((name, qid, value))
    assert len(result) == 16
    assert not wrong
