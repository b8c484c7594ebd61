"""What is shown beside a measure: its scale, the ranks that it looks at, and bounds where there are some."""

from __future__ import annotations

import numpy as np
import pytest

from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation import compare, evaluate, parse_measure
from rankwell.evaluation.comparison import warnings

JUDGMENTS = Judgments([("1", "a", 1), ("2", "a", 1)])
GOOD = Run.from_dict({"1": {"a": 2.0, "x": 1.0}, "2": {"y": 2.0, "a": 1.0}})
BAD = Run.from_dict({"1": {"x": 2.0, "z": 1.0}, "2": {"a": 2.0, "y": 1.0}})


@pytest.mark.parametrize("measure", ["RR", "R@1", "nDCG@5", "AP", "P@2"])
def test_no_interval_leaves_the_scale_of_a_measure(measure: str) -> None:
    comparison = compare(JUDGMENTS, {"good": GOOD, "bad": BAD}, [measure])
    for run in ("good", "bad"):
        interval = comparison.interval(run, measure)
        assert interval is not None
        assert 0 <= interval.low <= comparison.evaluations[run].mean(measure) <= interval.high <= 1
    difference = comparison.difference("bad", measure)
    assert difference is not None
    assert -1 <= difference.found.interval.low <= difference.found.mean <= difference.found.interval.high <= 1


def test_ranks_and_gains_have_no_upper_end() -> None:
    assert parse_measure("MFR@10").scale == (1.0, np.inf)
    assert parse_measure("DCG@10").scale == (0.0, np.inf)
    assert parse_measure("nDCG@10").scale == (0.0, 1.0)


def test_unjudged_documents_count_where_a_measure_looks() -> None:
    run = Run.from_dict({qid: {"a": 9.0, **{f"x{number}": 8.0 - number for number in range(9)}} for qid in ("1", "2")})
    shallow, deep = (evaluate(JUDGMENTS, {"run": run}, measure) for measure in ("P@1", "P@10"))
    assert list(warnings(shallow)) == []
    assert "so much of the top 10 has no judgment" in "".join(warnings(deep))
    assert (shallow["run"].looked_at, shallow["run"].open_share, deep["run"].open_share) == (1, 0.0, 0.9)


def test_a_measure_without_bounds_is_named_and_the_others_have_theirs() -> None:
    found = compare(JUDGMENTS, {"good": GOOD, "bad": BAD}, ["P@2", "Bpref"], unjudged="bounds")
    assert list(found.evaluations["good"].bounds) == [parse_measure("P@2")]
    assert "there are no bounds for measures that treat unjudged documents themselves: Bpref" in list(found.warnings())
    with pytest.raises(ParameterError, match="expected a measure that counts unjudged documents as not relevant"):
        evaluate(JUDGMENTS, GOOD, "Bpref", unjudged="bounds")
