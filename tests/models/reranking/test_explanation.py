from __future__ import annotations

from dataclasses import replace

import pytest
from overlap_scorer import Overlap, a_run

from rankwell.core import Document
from rankwell.core.stage import Top
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import StageRank, explain_rerank, places, trace
from rankwell.models.reranking.passages import Passages

LONG = Document("d", {"title": "T", "text": "a b c fever cough e f g"})
RUN = a_run({"a": "x", "b": "fever cough", "c": "fever"})


@pytest.mark.parametrize("aggregate", ["first", "max", "mean", "sum"])
def test_an_explanation_has_the_score_of_the_run_and_every_passage(scorer: Overlap, aggregate: str) -> None:
    stage = CrossEncoder(scorer, passages=Passages(4, 0), aggregate=aggregate)
    found = explain_rerank(stage, "fever cough", LONG)
    in_run = stage(replace(a_run({"d": "?"}), documents={"d": LONG}))
    assert found.score == in_run["1"].scores[0]
    texts = ["T a b c", "T fever cough e", "T f g"][: 1 if aggregate == "first" else 3]
    assert [passage.text for passage in found.passages] == texts
    assert [passage.score for passage in found.passages] == [-2, 0, -2][: len(texts)]


def test_the_best_passage_stands_out(scorer: Overlap) -> None:
    best = explain_rerank(CrossEncoder(scorer, passages=Passages(4, 0)), "fever cough", LONG).best
    assert best is not None
    assert (best.text, best.score, best.probability) == ("T fever cough e", 0.0, 0.5)


@pytest.mark.parametrize(("query", "document"), [("fever", Document("d", {})), (" ", LONG)])
def test_there_is_nothing_to_say_where_nothing_was_read(scorer: Overlap, query: str, document: Document) -> None:
    found = explain_rerank(CrossEncoder(scorer), query, document)
    assert (found.score, found.passages, found.best) == (None, (), None)


def test_a_document_is_followed_from_stage_to_stage(scorer: Overlap) -> None:
    traced = trace(Top(3) >> CrossEncoder(scorer) >> Top(2), RUN)
    assert places(traced, "1", "c") == [
        StageRank("Top", 3, 1.0),
        StageRank("CrossEncoder", 2, -1.0),
        StageRank("Top", 2, -1.0),
    ]
    assert places(traced, "1", "a")[-1] == StageRank("Top", None, None)
    assert places(traced, "9", "a")[-1] == StageRank("Top", None, None)
