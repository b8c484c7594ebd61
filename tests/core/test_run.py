from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.core.arrays import strings

RUN = Run.from_dict({"q1": {"a": 1.0, "b": 3.0, "c": 2.0}, "q2": {}, "q3": {"a": 0.5}}, tag="mine")


def test_every_query_has_its_documents_best_first() -> None:
    assert list(RUN["q1"]) == [("b", 3.0), ("c", 2.0), ("a", 1.0)]
    assert len(RUN) == 4


def test_a_query_without_results_is_in_the_run() -> None:
    assert "q2" in RUN
    assert list(RUN) == ["q1", "q2", "q3"]
    assert len(RUN["q2"]) == 0


def test_ranks_start_at_one_in_every_query() -> None:
    assert RUN.ranks.tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize("k", [1, 2, 3, 100])
def test_top_keeps_the_k_best_of_every_query(k: int) -> None:
    expected = {"q1": dict(list({"b": 3.0, "c": 2.0, "a": 1.0}.items())[:k]), "q2": {}, "q3": {"a": 0.5}}
    assert RUN.top(k).to_dict() == expected
    assert RUN.top(k).tag == "mine"


def test_top_of_no_documents_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^k: expected a number of documents, at least 1, found 0$"):
        RUN.top(0)


def test_new_scores_give_a_new_order_and_keep_what_travels_along() -> None:
    queries = Queries.of({"q1": "one", "q2": "two", "q3": "three"})
    run = Run.from_dict(RUN.to_dict(), tag="mine", queries=queries)
    again = run.with_scores([1.0, 5.0, 9.0, 2.0])
    assert again.to_dict() == {"q1": {"a": 9.0, "c": 5.0, "b": 1.0}, "q2": {}, "q3": {"a": 2.0}}
    assert (again.tag, again.queries) == ("mine", queries)


def test_a_wrong_number_of_new_scores_is_refused() -> None:
    with pytest.raises(RankwellError, match="3 queries, 4 offsets, 4 documents, 3 scores"):
        RUN.with_scores([1.0, 2.0, 3.0])


@pytest.mark.parametrize("offsets", [[0, 3], [0, 3, 2, 4], [1, 3, 3, 4], [0, 3, 3, 5]])
def test_offsets_that_do_not_belong_to_the_documents_are_refused(offsets: list[int]) -> None:
    with pytest.raises(RankwellError, match="rising offset"):
        Run.from_columns(RUN.qids, offsets, RUN.docnos, RUN.scores)


def test_a_query_that_stands_twice_in_the_columns_is_refused() -> None:
    with pytest.raises(RankwellError, match="each query once, found 'q' twice"):
        Run.from_columns(["q", "q"], [0, 1, 2], strings(["a", "b"]), [1.0, 2.0])


@pytest.mark.parametrize(("score", "shown"), [(float("nan"), "nan"), (float("inf"), "inf"), (1e39, "inf")])
def test_a_score_that_is_not_finite_is_refused_with_its_place(score: float, shown: str) -> None:
    expected = f"run: expected finite scores, found {shown} for document 'y' of query 'q2'"
    with pytest.raises(RankwellError) as caught:
        Run.from_rows([("q1", "x", 1.0), ("q2", "y", score)])
    assert str(caught.value) == expected


def test_a_document_twice_for_a_query_is_refused() -> None:
    with pytest.raises(RankwellError, match="found 'd' twice for query 'q'"):
        Run.from_rows([("q", "d", 1.0), ("p", "d", 1.0), ("q", "d", 2.0)])


def test_runs_are_equal_by_content_whatever_the_tag_and_the_order_of_rows() -> None:
    rows = [("1", "a", 1.0), ("1", "b", 2.0), ("2", "a", 0.0)]
    swapped = [rows[1], rows[0], ("2", "a", -0.0)]
    one, other = Run.from_rows(rows, tag="x"), Run.from_rows(swapped, tag="y")
    assert one == other
    assert one.fingerprint() == other.fingerprint()


@pytest.mark.parametrize(
    "other",
    [
        {"1": {"a": 1.0, "b": 2.0}, "2": {}},
        {"1": {"a": 1.0, "c": 2.0}},
        {"1": {"a": 1.0, "b": 2.5}},
        {"2": {"a": 1.0, "b": 2.0}},
    ],
)
def test_runs_differ_by_query_document_and_score(other: dict[str, dict[str, float]]) -> None:
    run = Run.from_dict({"1": {"a": 1.0, "b": 2.0}})
    assert run != Run.from_dict(other)
    assert run.fingerprint() != Run.from_dict(other).fingerprint()


def test_fingerprints_tell_ids_with_line_breaks_apart() -> None:
    one, other = ({"q": {"b\nc": 1.0, "a": 1.0}}, {"q": {"c": 1.0, "a\nb": 1.0}})
    assert Run.from_dict(one).fingerprint() != Run.from_dict(other).fingerprint()


def test_a_run_is_not_equal_to_its_dictionary() -> None:
    assert RUN.to_dict() != RUN


def test_a_frame_has_the_columns_that_the_field_expects() -> None:
    queries = Queries.of({"q1": "one", "q2": "two", "q3": "three"})
    documents = {docno: Document(docno, {"title": docno.upper(), "text": "…"}) for docno in "abc"}
    table = Run.from_dict(RUN.to_dict(), queries=queries, documents=documents).to_frame()
    assert list(table.columns) == ["qid", "docno", "score", "rank", "query", "text"]
    assert table.iloc[0].tolist() == ["q1", "b", 3.0, 1, "one", "B …"]
    assert table["rank"].tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize("names", [("qid", "docno"), ("query_id", "doc_id"), ("query-id", "corpus-id")])
def test_a_frame_is_read_with_either_spelling_in_any_order(names: tuple[str, str]) -> None:
    table = RUN.to_frame().rename(columns=dict(zip(("qid", "docno"), names, strict=True)))
    again = Run.from_frame(table.sample(frac=1, random_state=1).sort_values(names[0]))
    assert again.to_dict() == {"q1": RUN.to_dict()["q1"], "q3": RUN.to_dict()["q3"]}  # a frame has no empty queries


def test_a_frame_with_number_ids_gives_text_ids() -> None:
    table = pd.DataFrame({"qid": [1, 1], "docno": [7, 8], "score": [1, 2]})
    assert Run.from_frame(table).to_dict() == {"1": {"8": 2.0, "7": 1.0}}


def test_a_frame_without_a_needed_column_says_what_it_has() -> None:
    with pytest.raises(RankwellError, match=r"expected a column docno or doc_id.*found qid, text, score"):
        Run.from_frame(pd.DataFrame({"qid": ["1"], "text": ["x"], "score": [1.0]}))


def test_a_frame_whose_scores_are_words_is_refused() -> None:
    with pytest.raises(RankwellError, match="expected numbers as scores"):
        Run.from_frame(pd.DataFrame({"qid": ["1"], "docno": ["x"], "score": ["high"]}))


def test_the_run_before_the_first_stage_has_queries_and_no_documents() -> None:
    run = Run.of_queries(Queries.of(["one", "two"]))
    assert list(run) == ["1", "2"]
    assert run.to_dict() == {"1": {}, "2": {}}
    assert run.to_frame().empty


def test_scores_are_held_as_32_bit_numbers() -> None:
    assert Run.from_dict({"q": {"d": 0.1}}).scores.tolist() == [float(np.float32(0.1))]
