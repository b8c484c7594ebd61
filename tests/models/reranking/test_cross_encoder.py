from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from overlap_scorer import Overlap, a_run

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.scores import Tally

RUN = a_run({"far": "nothing here", "near": "a fever", "hit": "fever and cough", "more": "fever fever cough cough"})


def order(run: Run, qid: str = "1") -> list[str]:
    return [str(docno) for docno in run[qid].docnos]


def test_the_model_decides_the_order_and_its_logits_are_the_scores(scorer: Overlap) -> None:
    found = CrossEncoder(scorer)(RUN)
    assert found.to_dict() == {"1": {"more": 2.0, "hit": 0.0, "near": -1.0, "far": -2.0}}
    assert order(found) == ["more", "hit", "near", "far"]
    assert found.queries is RUN.queries
    assert found.documents is RUN.documents


def test_documents_below_k_stay_below_in_their_old_order(scorer: Overlap) -> None:
    found = CrossEncoder(scorer, k=2)(RUN)
    assert order(found) == ["near", "far", "hit", "more"]
    assert found["1"].scores.tolist()[:2] == [-1.0, -2.0]
    assert (np.diff(found["1"].scores) < 0).all()
    assert [document for _, document in scorer.seen] == ["nothing here", "a fever"]


def test_scores_as_probabilities_keep_the_order(scorer: Overlap) -> None:
    found = CrossEncoder(scorer, scores="probability")(RUN)
    assert order(found) == ["more", "hit", "near", "far"]
    assert found["1"].scores == pytest.approx([0.8807971, 0.5, 0.2689414, 0.1192029])


def test_stages_follow_one_another_each_with_its_depth(scorer: Overlap) -> None:
    second = Overlap(longest=2, name=f"{scorer.name}2")  # sees two words only: more 0, hit -1
    found = (CrossEncoder(scorer, k=4) >> CrossEncoder(second, k=2))(RUN)
    assert order(found) == ["more", "hit", "near", "far"]
    assert found["1"].scores.tolist()[:2] == [0.0, -1.0]
    assert [document for _, document in second.seen] == ["fever fever cough cough", "fever and cough"]


def test_a_template_says_what_the_model_reads(scorer: Overlap) -> None:
    papers = a_run(
        {
            "p1": {"title": "fever", "abstract": "cough", "body": "fever fever"},
            "p2": {"title": "cough"},
            "p3": {"abstract": "x"},
        }
    )
    CrossEncoder(scorer, document="{title} {abstract}")(papers)
    assert [document for _, document in scorer.seen] == ["fever cough", "cough", "x"]
    scorer.seen.clear()
    CrossEncoder(scorer, cache=False)(papers)
    assert scorer.seen[0][1] == "fever cough fever fever"


def test_a_field_that_no_document_has_is_refused_with_those_they_have(scorer: Overlap) -> None:
    with pytest.raises(ParameterError, match=r'fields of the documents \(text\), found "{titel}"'):
        CrossEncoder(scorer, document="{titel} {text}")(RUN)


def test_the_wording_of_the_query_is_chosen(scorer: Overlap) -> None:
    queries = Queries([RUN.queries["1"]._replace(texts={"query": "x", "question": "fever"})])  # type: ignore[index]
    CrossEncoder(scorer, query_field="question", k=1)(replace(RUN, queries=queries))
    assert scorer.seen == [("fever", "nothing here")]


def test_mean_divides_by_the_documents_own_passages(scorer: Overlap) -> None:
    short, long = "fever x cough y", "fever a cough b c d e f fever g cough h"
    stage = CrossEncoder(scorer, passages=Passages(4, 0), aggregate="mean", aggregate_as="logit", cache=False)
    alone = stage(a_run({"short": short})).to_dict()["1"]["short"]
    crowded = stage(a_run({"long": long, "short": short})).to_dict()["1"]
    assert alone == crowded["short"] == 0.0
    assert crowded["long"] == pytest.approx((0 - 2 + 0) / 3)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("first", 0.5), ("max", 0.8807971), ("mean", (0.5 + 0.1192029 + 0.8807971) / 3), ("sum", 1.5)],
)
def test_passages_are_aggregated_as_probabilities(scorer: Overlap, aggregate: str, expected: float) -> None:
    document = "fever x cough y a b c d fever fever cough cough"
    stage = CrossEncoder(scorer, passages=Passages(4, 0), aggregate=aggregate)
    assert stage(a_run({"d": document}))["1"].scores[0] == pytest.approx(expected)
    assert len(scorer.seen) == (1 if aggregate == "first" else 3)


def test_aggregated_logits_become_a_probability_where_it_is_asked_for(scorer: Overlap) -> None:
    settings = {"passages": Passages(4, 0), "aggregate": "max", "aggregate_as": "logit"}
    document = a_run({"d": "x y z a fever fever cough cough"})
    assert CrossEncoder(scorer, **settings)(document)["1"].scores[0] == 2
    assert CrossEncoder(scorer, **settings, scores="probability")(document)["1"].scores[0] == pytest.approx(0.8807971)


def test_documents_without_text_stay_below_and_it_is_said(scorer: Overlap, caplog: pytest.LogCaptureFixture) -> None:
    run = a_run({"void": {}, "blank": " \n", "far": "nothing here", "hit": "fever"})
    found = CrossEncoder(scorer)(run)
    assert order(found) == ["hit", "far", "void", "blank"]
    assert len(scorer.seen) == 2
    assert "2 documents have no text to score" in caplog.text


def test_a_query_without_text_leaves_its_documents_as_they_were(
    scorer: Overlap, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run.from_dict(
        {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 2.0, "b": 1.0}, "3": {}},
        queries=Queries.of({"1": " ", "2": "fever", "3": "nothing found"}),
        documents={"a": Document("a", {"text": "x"}), "b": Document("b", {"text": "fever"})},
    )
    found = CrossEncoder(scorer)(run)
    assert found.to_dict() == {"1": {"a": 2.0, "b": 1.0}, "2": {"b": -1.0, "a": -2.0}, "3": {}}
    assert "1 queries have no text, and their documents keep their order: 1" in caplog.text


def test_a_document_that_is_nowhere_is_an_error_before_anything_is_scored(scorer: Overlap) -> None:
    run = replace(RUN, documents={"far": Document("far", {"text": "x"})})
    with pytest.raises(RankwellError, match="found none for 3 of 4: near, hit, more"):
        CrossEncoder(scorer)(run)
    assert not scorer.seen
    CrossEncoder(scorer, k=1)(run)  # what is below k is not read


def test_documents_that_are_nowhere_stay_below_where_that_is_wanted(
    scorer: Overlap, caplog: pytest.LogCaptureFixture
) -> None:
    run = replace(RUN, documents={"more": Document("more", {"text": "fever"})})
    assert order(CrossEncoder(scorer, missing="below")(run)) == ["more", "far", "near", "hit"]
    assert "3 documents were not found, and stay below the others: far, near, hit" in caplog.text


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (replace(RUN, queries=None), "expected a run with its queries"),
        (replace(RUN, documents=None), "expected a run with its documents, or an index"),
        (replace(RUN, queries=Queries.of({"2": "x"})), "the texts of all 1 queries of the run, found none for 1: 1"),
    ],
)
def test_a_run_without_its_texts_is_refused(scorer: Overlap, run: Run, expected: str) -> None:
    with pytest.raises(RankwellError, match=expected):
        CrossEncoder(scorer)(run)


def test_a_run_without_documents_stays_empty(scorer: Overlap) -> None:
    assert len(CrossEncoder(scorer)(Run.of_queries(Queries.of("fever")))) == 0


def test_scores_that_are_no_numbers_are_refused_and_not_kept(scorer: Overlap, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Overlap, "_logit", lambda _, __, document: float("nan") if "fever" in document else 1.0)
        with pytest.raises(RankwellError, match=r"expected finite scores, found nan .*'a fever' \(3 of 4 pairs\)"):
            CrossEncoder(scorer)(RUN)
    assert order(CrossEncoder(scorer)(RUN)) == ["more", "hit", "near", "far"]


def test_what_was_cut_is_said_at_the_end(scorer: Overlap, caplog: pytest.LogCaptureFixture) -> None:
    CrossEncoder(replace(scorer, longest=2))(RUN)
    assert "2 documents and 0 queries of 4 texts were cut" in caplog.text
    caplog.clear()
    CrossEncoder(scorer)(RUN)
    assert caplog.text == ""


def test_a_pair_is_never_scored_twice_in_a_run(scorer: Overlap) -> None:
    stage = CrossEncoder(scorer, cache=False)
    stage(a_run({"a": "fever", "b": "fever", "c": "cough cough"}))
    assert scorer.seen == [("fever cough", "fever"), ("fever cough", "cough cough")]
    assert replace(stage.tally, seconds=0) == Tally(documents=3, pairs=2)
    assert str(replace(stage.tally, seconds=4)) == "3 documents, 2 pairs, 4.0 s, 0 pairs/s"


def test_many_queries_go_through_in_blocks(scorer: Overlap, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.from_dict(
        {str(qid): {f"d{place}": float(-place) for place in range(7)} for qid in range(9)},
        queries=Queries.of({str(qid): f"w{qid % 4} w{qid}" for qid in range(9)}),
        documents={f"d{place}": Document(f"d{place}", {"t": f"w{place} w{place % 3}"}) for place in range(7)},
    )
    whole = CrossEncoder(scorer, k=5, cache=False)(run)
    monkeypatch.setattr("rankwell.models.reranking.reranker.BLOCK", 8)
    monkeypatch.setattr("rankwell.models.reranking.scores.CHUNK", 3)
    assert CrossEncoder(scorer, k=5, cache=False)(run) == whole


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"k": 0}, "k: expected a number of documents, at least 1, found 0"),
        ({"aggregate": "median"}, "aggregate: expected first or max or mean or sum"),
        ({"aggregate_as": "rank"}, "aggregate_as: expected logit or probability"),
        ({"scores": "log"}, "scores: expected logit or probability"),
        ({"missing": "ignore"}, "missing: expected error or below"),
        ({"document": "title"}, "document: expected text with the names of fields in braces"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(ParameterError, match=expected):
        CrossEncoder("anything", **settings)  # type: ignore[arg-type]


def test_a_scorer_has_its_settings_already(scorer: Overlap) -> None:
    with pytest.raises(ParameterError, match="max_tokens: expected nothing, because the model is a scorer"):
        CrossEncoder(scorer, max_tokens=256)


def test_an_unknown_model_is_refused_before_anything_runs() -> None:
    with pytest.raises(RankwellError, match="no-such-model"):
        CrossEncoder("no-such-model")(RUN)


def test_the_fingerprint_is_that_of_the_model_and_of_what_the_result_depends_on(scorer: Overlap) -> None:
    stage = CrossEncoder(scorer)
    others = [
        CrossEncoder(scorer, k=5),
        CrossEncoder(replace(scorer, longest=3)),
        CrossEncoder(scorer, aggregate="max"),
    ]
    assert len({stage.fingerprint(), *(other.fingerprint() for other in others)}) == 4
    assert CrossEncoder(scorer, cache=False, quiet=True).fingerprint() == stage.fingerprint()


def test_a_stage_shows_its_configuration() -> None:
    shown = repr(CrossEncoder("a-model", k=20, passages=Passages()))
    assert "CrossEncoder(model='a-model', k=20" in shown
    assert "Passages(words=150, overlap=50, title=True" in shown


def test_progress_counts_pairs(scorer: Overlap, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setattr("rankwell.core.progress.LINE_SECONDS", 0.0)
    CrossEncoder(scorer, passages=Passages(2, 0), cache=False)(RUN)
    assert "re-ranking (Overlap): " in capsys.readouterr().err
    CrossEncoder(scorer, cache=False, quiet=True)(RUN)
    assert capsys.readouterr().err == ""


def test_logging_is_the_only_thing_that_speaks(scorer: Overlap, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        CrossEncoder(scorer, quiet=True)(RUN)
    assert caplog.records == []
