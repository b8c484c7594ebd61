"""The floor: random, and the same every time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import ParameterError, Queries, Run
from rankwell.retrieve import RandomRanker

DOCNOS = [f"d{number}" for number in range(30)]
RUN = Run.from_dict({qid: dict.fromkeys(DOCNOS, 1.0) for qid in ("1", "2", "3")})


def test_the_documents_stay_and_their_order_changes() -> None:
    shuffled = RandomRanker()(RUN)
    for qid in RUN:
        assert sorted(shuffled[qid].docnos.tolist()) == sorted(DOCNOS)
        assert shuffled[qid].docnos.tolist() != RUN[qid].docnos.tolist()
    assert shuffled["1"].docnos.tolist() != shuffled["2"].docnos.tolist()


def test_the_seed_makes_the_order() -> None:
    assert RandomRanker(seed=3)(RUN) == RandomRanker(seed=3)(RUN)
    assert RandomRanker(seed=3)(RUN) != RandomRanker(seed=4)(RUN)


@given(st.permutations(["1", "2", "3"]), st.permutations(DOCNOS))
def test_the_order_of_queries_and_documents_does_not_matter(qids: list[str], docnos: list[str]) -> None:
    other = Run.from_dict({qid: {docno: float(place) for place, docno in enumerate(docnos)} for qid in qids})
    shuffled, expected = RandomRanker()(other), RandomRanker()(RUN)
    assert {qid: shuffled[qid].docnos.tolist() for qid in qids} == {qid: expected[qid].docnos.tolist() for qid in qids}


def test_queries_without_documents_get_some_of_the_collection() -> None:
    ranker = RandomRanker(docnos=DOCNOS, k=10)
    drawn = ranker(Queries.of({"1": "", "2": ""}))
    assert [len(set(drawn[qid].docnos.tolist())) for qid in drawn] == [10, 10]
    assert ranker({"2": "other words"})["2"].docnos.tolist() == drawn["2"].docnos.tolist()
    assert len(RandomRanker(docnos=DOCNOS)("query")) == 30
    assert len(RandomRanker()("query")) == 0
    assert len(RandomRanker()(Queries())) == 0


def test_every_document_is_drawn_equally_often() -> None:
    drawn = RandomRanker(docnos=DOCNOS, k=3)({str(number): "" for number in range(2000)})
    counts = Counter(drawn.docnos.tolist())
    assert set(counts) == set(DOCNOS)
    assert max(counts.values()) < 270
    assert min(counts.values()) > 140


def test_scores_fall_from_1_in_equal_steps() -> None:
    assert RandomRanker(docnos=DOCNOS, k=4)("query").scores.tolist() == [1.0, 0.75, 0.5, 0.25]


def test_fewer_than_one_document_is_refused() -> None:
    with pytest.raises(ParameterError, match="k: expected a whole number from 1, found 0"):
        RandomRanker(k=0)
