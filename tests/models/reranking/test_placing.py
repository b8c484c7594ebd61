from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import RankwellError, Run
from rankwell.models.reranking.reranker import Rescored, below, placed

ANY = st.floats(-(2.0**100), 2.0**100, width=32)


@given(ANY, st.integers(1, 3000))
def test_scores_below_are_strictly_lower_and_strictly_falling(score: float, count: int) -> None:
    found = below(np.float32(score), count)
    assert found.dtype == np.float32
    assert found[0] < np.float32(score)
    assert (np.diff(found) < 0).all()


@given(
    st.lists(st.tuples(ANY, st.booleans(), ANY), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_rescored_documents_come_first_and_the_others_keep_their_order(
    rows: list[tuple[float, bool, float]], random: object
) -> None:
    names = [f"d{place:02}" for place in range(len(rows))]
    random.shuffle(names)  # type: ignore[attr-defined]
    run = Run.from_dict({"1": dict(zip(names, (old for old, _, _ in rows), strict=True))})
    chosen, new = np.array([pick for _, pick, _ in rows]), np.array([score for _, _, score in rows])
    found = placed(run, Rescored(chosen, new))
    docnos = run.docnos.tolist()
    top = [docno for docno, pick in zip(docnos, chosen, strict=True) if pick]
    rest = [docno for docno, pick in zip(docnos, chosen, strict=True) if not pick]
    assert sorted(found.docnos.tolist()[: len(top)]) == sorted(top)
    assert found.docnos.tolist()[len(top) :] == rest
    assert {docno: score for docno, score in found["1"] if docno in top} == {
        docno: np.float32(score) for docno, pick, score in zip(docnos, chosen, new, strict=True) if pick
    }


def test_a_query_without_a_rescored_document_stays_as_it_is() -> None:
    run = Run.from_dict({"1": {"a": 3.0, "b": 1.0}, "2": {}, "3": {"a": 2.0, "c": 1.0}})
    chosen = np.array([False, False, True, False])
    assert placed(run, Rescored(chosen, np.full(4, 7.0))).to_dict() == {
        "1": {"a": 3.0, "b": 1.0},
        "2": {},
        "3": {"a": 7.0, "c": 7.0 - 2.0**-10},
    }


def test_scores_with_no_room_below_them_are_refused() -> None:
    run = Run.from_dict({"1": {"a": 3.0, "b": 1.0}})
    lowest = float(np.finfo(np.float32).min)
    with pytest.raises(RankwellError, match="expected finite scores"):
        placed(run, Rescored(np.array([True, False]), np.array([lowest, 0.0])))
