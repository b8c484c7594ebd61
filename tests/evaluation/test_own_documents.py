"""Queries that are documents: what has the query's own id is left out, as BEIR does, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import rankwell
from rankwell.collections import write_qrels, write_run
from rankwell.core import Judgments, ParameterError, Run
from rankwell.evaluation import evaluate
from rankwell.evaluation.judged import leave_out_own

# As in ArguAna: each query is an argument of the collection, and the counter-argument is to be found.
ARGUMENTS = {f"a{number}": {f"a{number}": 9.0, f"b{number}": 5.0, "c": 1.0} for number in range(4)}
COUNTERS = Judgments((f"a{number}", f"b{number}", 1) for number in range(4))


def test_a_query_that_is_a_document_does_not_find_itself() -> None:
    run = Run.from_dict(ARGUMENTS)
    runs, said = leave_out_own(COUNTERS, {"bm25": run})
    assert evaluate(COUNTERS, run, "RR").mean("RR") == 0.5
    assert evaluate(COUNTERS, runs["bm25"], "RR").mean("RR") == 1.0
    assert said is not None
    assert "own id are left out" in said


def test_ids_that_coincide_by_chance_change_nothing() -> None:
    numbered = Run.from_dict({str(query): {str(query + place): 9.0 - place for place in range(9)} for query in (1, 40)})
    far = Run.from_dict({"1": {"7": 2.0, "1": 1.0}, "2": {"8": 1.0}, "3": {"9": 1.0}})
    judged = Judgments([("1", "7", 1), ("2", "8", 1), ("3", "9", 1), ("40", "44", 1)])
    assert leave_out_own(judged, {"far": far}) == ({"far": far}, None)
    # All of them find their own id, which is the document that was to be found.
    wanted = Judgments([("1", "1", 1), ("40", "40", 1)])
    assert leave_out_own(wanted, {"numbered": numbered}) == ({"numbered": numbered}, None)


def test_the_user_decides() -> None:
    run = Run.from_dict({"1": {"1": 2.0, "7": 1.0}, "2": {"8": 1.0}, "3": {"9": 1.0}})
    judged = Judgments([("1", "7", 1), ("2", "8", 1), ("3", "9", 1)])
    assert leave_out_own(judged, {"run": run}, "drop")[0]["run"].to_dict()["1"] == {"7": 1.0}
    assert leave_out_own(COUNTERS, {"run": Run.from_dict(ARGUMENTS)}, "keep")[1] is None
    with pytest.raises(ParameterError, match="own documents: expected auto or keep or drop"):
        leave_out_own(judged, {"run": run}, "perhaps")


IDS = st.sampled_from(["1", "2", "3", "4"])


@given(st.dictionaries(IDS, st.dictionaries(IDS, st.floats(0, 9, width=32))))
def test_what_is_left_is_the_rest(rows: dict[str, dict[str, float]]) -> None:
    left = Run.from_dict(rows).without_own()
    assert left.to_dict() == {
        qid: {docno: score for docno, score in of_query.items() if docno != qid} for qid, of_query in rows.items()
    }
    assert left.ranks.tolist() == [rank for size in left.offsets[1:] - left.offsets[:-1] for rank in range(1, size + 1)]


def test_the_command_says_it(tmp_path: Path) -> None:
    write_run(tmp_path / "run.trec", Run.from_dict(ARGUMENTS), "trec")
    write_qrels(tmp_path / "qrels.txt", COUNTERS, "trec")
    words = ["evaluate", str(tmp_path / "qrels.txt"), str(tmp_path / "run.trec"), "-m", "RR", "--output", "csv"]
    dropped, kept = rankwell(*words), rankwell(*words, "--own", "keep")
    assert "run,1.0" in dropped.stdout
    assert "queries are documents here" in dropped.stderr
    assert "run,0.5" in kept.stdout
