"""Pairs from judgments: relevant documents, and negatives that are what they are called."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run
from rankwell.models.base import Truncation
from rankwell.models.reranking.passages import Passages
from rankwell.training import Labelled, Negatives, Sources, Spool, bm25_run, write_labelled
from rankwell.training.labelled import Around, LabelledPair

DOCUMENTS = {f"d{n}": Document(f"d{n}", {"title": f"title {n}", "body": f"words of {n} " * 30}) for n in range(60)}
QUERIES = Queries.of({"q1": "first query", "q2": "second query", "q3": "third query"})
JUDGMENTS = Judgments.from_dict({"q1": {"d0": 2, "d1": 1, "d2": 0, "d3": 0}, "q2": {"d50": 1}, "q3": {"d4": 0}})
RUN = Run.from_dict({qid: {f"d{n}": 100.0 - n for n in range(45)} for qid in QUERIES})
SOURCES = Sources(DOCUMENTS, QUERIES, JUDGMENTS, RUN)


def made(settings: Labelled, sources: Sources = SOURCES) -> list[LabelledPair]:
    return list(settings.pairs(sources))


def of(found: Sequence[LabelledPair], qid: str, kind: str) -> list[str]:
    return [one.pair.document_id for one in found if (one.pair.query_id, one.kind) == (qid, kind)]


def test_relevant_documents_are_there_whether_or_not_the_run_has_them() -> None:
    found = made(Labelled())
    assert of(found, "q1", "relevant") == ["d0", "d1"]
    assert of(found, "q2", "relevant") == ["d50"]
    assert {one.pair.label for one in found if one.kind == "relevant"} == {1.0}


def test_hard_negatives_are_in_the_top_of_the_run_and_not_relevant() -> None:
    found = made(Labelled(Negatives((("hard", 4),), depth=40)))
    assert (len(of(found, "q1", "hard")), len(of(found, "q2", "hard"))) == (8, 4)
    assert set(of(found, "q1", "hard")) <= {f"d{n}" for n in range(2, 40)}
    everything = made(Labelled(Negatives.parse("hard:all")))
    assert of(everything, "q1", "hard") == [f"d{n}" for n in range(2, 40)]


def test_judged_negatives_are_those_that_people_called_not_relevant() -> None:
    assert of(made(Labelled(Negatives.parse("judged:all"))), "q1", "judged") == ["d2", "d3"]


def test_random_negatives_come_from_the_whole_collection() -> None:
    found = made(Labelled(Negatives.parse("random:25")))
    assert len(of(found, "q1", "random")) == 50
    assert not {"d0", "d1"} & set(of(found, "q1", "random"))
    assert set(of(found, "q2", "random")) & {f"d{n}" for n in range(45, 60)}


def test_fewer_than_wanted_is_all_there_are() -> None:
    assert len(of(made(Labelled(Negatives.parse("random:1000"))), "q2", "random")) == 59


def test_a_document_between_the_grades_is_neither() -> None:
    found = made(Labelled(Negatives.parse("hard:all,random:30"), least=2))
    assert of(found, "q1", "relevant") == ["d0"]
    assert "d1" not in {one.pair.document_id for one in found if one.pair.query_id == "q1"}


def test_grades_can_be_labels() -> None:
    labels = {one.pair.document_id: one.pair.label for one in made(Labelled(graded=True)) if one.kind == "relevant"}
    assert labels == {"d0": 2.0, "d1": 1.0, "d50": 1.0}


def test_queries_without_relevant_documents_are_counted() -> None:
    settings = Labelled()
    made(settings)
    assert settings.skipped["queries without a relevant document"] == 1


def test_what_is_drawn_for_a_query_does_not_depend_on_others() -> None:
    alone = made(Labelled(), SOURCES._replace(judgments=JUDGMENTS.only(["q2"])))
    assert alone == [one for one in made(Labelled()) if one.pair.query_id == "q2"]
    assert alone != made(Labelled(seed=1), SOURCES._replace(judgments=JUDGMENTS.only(["q2"])))


@given(st.integers(0, 10**6), st.integers(1, 5), st.sets(st.integers(0, 29), min_size=1, max_size=5))
def test_negatives_are_never_relevant_and_never_twice(seed: int, count: int, relevant: set[int]) -> None:
    names = [f"d{n}" for n in range(30)]
    around = Around(names[:10], names[5:15], names, {f"d{n}" for n in relevant})
    wanted = Negatives((("hard", count), ("judged", count), ("random", count)))
    found = [docno for docno, _ in wanted.drawn(around, len(relevant), random.Random(seed))]  # noqa: S311
    assert len(found) == len(set(found))
    assert not set(found) & around.relevant


def test_documents_are_read_through_a_template() -> None:
    found = made(Labelled(document="{title}: {missing}"))
    assert found[0].pair.document == "title 0:"


def test_passages_have_the_label_of_their_document() -> None:
    found = made(Labelled(passages=Passages(40, 10)))
    first = [one for one in found if one.pair.document_id == "d0" and one.pair.query_id == "q1"]
    assert [one.passage for one in first] == [0, 1, 2]
    assert all(one.pair.label == 1 and one.pair.document.startswith("title 0 ") for one in first)


class Longest:
    """Likes long texts."""

    truncated = Truncation()

    def logits(self, pairs: Sequence[tuple[str, str]], progress: object = None) -> np.ndarray:  # noqa: ARG002
        return np.array([[len(text)] for _, text in pairs], dtype=np.float32)

    def scores(self, logits: np.ndarray) -> np.ndarray:
        return logits[:, 0]

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def fingerprint(self) -> str:
        return "longest"


def test_only_the_best_passages_are_kept_in_their_order() -> None:
    documents = {"d": Document("d", {"body": "a b c dddddd e f g hhhhhhhh i"})}
    sources = Sources(documents, Queries.of({"q": "query"}), Judgments([("q", "d", 1)]))
    settings = Labelled(Negatives(()), passages=Passages(2, 0), top=2, scorer=Longest())  # type: ignore[arg-type]
    found = made(settings, sources)
    assert [(one.passage, one.pair.document) for one in found] == [(1, "c dddddd"), (3, "g hhhhhhhh")]


def test_top_passages_need_passages_and_a_model() -> None:
    with pytest.raises(ParameterError, match="expected a number from 1, with passages and a model that scores them"):
        Labelled(passages=Passages(), top=2)


def test_hard_negatives_without_a_run_say_how_to_get_one() -> None:
    with pytest.raises(RankwellError, match="expected a run to take hard ones from, found none: make one with"):
        made(Labelled(), SOURCES._replace(run=None))


def test_judgments_of_other_queries_are_refused() -> None:
    with pytest.raises(RankwellError, match="found 3 queries and judgments of 1 others"):
        made(Labelled(), SOURCES._replace(judgments=Judgments([("topic 1", "d1", 1)])))


def test_documents_that_are_not_there_are_counted() -> None:
    settings = Labelled(Negatives.parse("hard:all"))
    few = {docno: DOCUMENTS[docno] for docno in ("d0", "d2")}
    found = made(settings, SOURCES._replace(documents=few))
    assert [one.pair.document_id for one in found] == ["d0", "d2"]
    assert settings.skipped["documents that are not in the collection"] == 1 + 38 + 1  # d1, the top's others, d50


@pytest.mark.parametrize("text", ["hard", "hard:x", "easy:2", "hard:0", "random:all", ""])
def test_negatives_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="expected hard, random or judged with a number"):
        Negatives.parse(text)


def test_negatives_are_written_as_they_are_read() -> None:
    assert str(Negatives.parse("hard:4,random:1,judged:all")) == "hard:4,random:1,judged:all"
    assert str(Negatives.parse("none")) == "none"


def test_bm25_gives_a_run_where_there_is_none() -> None:
    found = bm25_run(DOCUMENTS.values(), Queries.of({"q": "title 7"}), depth=3)
    assert found["q"].docnos[0] == "d7"
    assert len(found) == 3


def test_the_folder_has_a_group_for_each_query(tmp_path: Path) -> None:
    with Spool(DOCUMENTS.values()) as spool:
        found = write_labelled(tmp_path / "pairs", replace_documents(spool), Labelled(), source={"collection": "mine"})
    assert found.record["made"]["left_out"] == {"queries without a relevant document": 1}
    assert found.column("group") == [0] * 10 + [1] * 5
    assert found.column("kind") == ["relevant"] * 2 + ["hard"] * 8 + ["relevant"] + ["hard"] * 4


def test_fields_that_no_document_has_are_refused(tmp_path: Path) -> None:
    with Spool(DOCUMENTS.values()) as spool, pytest.raises(ParameterError, match=r"\{abstract\}"):
        write_labelled(tmp_path / "pairs", replace_documents(spool), replace(Labelled(), document="{abstract}"))


def replace_documents(spool: Spool) -> Sources:
    return SOURCES._replace(documents=spool)
