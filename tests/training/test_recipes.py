"""The parts of `finetune` and `adapt`: queries made from documents, tokens to read, steps that are done once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwell.core import Judgments, ParameterError, Queries, RankwellError, Run
from rankwell.training.adapt import AdaptSettings
from rankwell.training.finetune import FinetuneSettings, Judged
from rankwell.training.pseudo_queries import PseudoQueries, held_out
from rankwell.training.recipe import RecipeFolder, Restricted, sample_of, text_budget
from tiny_models import needs_torch, tiny_bert, topic_index

needs_torch()


def test_a_title_is_a_query_for_the_rest_of_its_document(tmp_path: Path) -> None:
    index = topic_index(tmp_path / "index")
    for query in PseudoQueries(index, ["title"]).make(10):
        document = index.documents[query.docno]
        assert (query.text, query.rest) == (document.fields["title"], document.fields["text"])


def test_a_sentence_is_a_query_for_its_document_without_it(tmp_path: Path) -> None:
    index = topic_index(tmp_path / "index")
    for query in PseudoQueries(index, ["sentence"]).make(10):
        assert query.text in index.documents[query.docno].fields["text"]
        assert query.text not in query.rest


def test_a_phrase_has_words_of_its_document_in_their_order(tmp_path: Path) -> None:
    index = topic_index(tmp_path / "index")
    made = PseudoQueries(index, ["phrase"]).make(10)
    assert made
    for query in made:
        words = index.documents[query.docno].text().replace(".", "").split()
        places = [words.index(word) for word in query.text.split()]
        assert len(places) > 1
        assert all(len(index.analyzer(word)) == 1 for word in query.text.split()), "no stop words"


def test_queries_depend_on_the_seed_alone(tmp_path: Path) -> None:
    index = topic_index(tmp_path / "index")
    assert PseudoQueries(index, seed=1).make(20) == PseudoQueries(index, seed=1).make(20)
    assert PseudoQueries(index, seed=1).make(20) != PseudoQueries(index, seed=2).make(20)


def test_held_out_queries_are_not_trained_on(tmp_path: Path) -> None:
    made = PseudoQueries(topic_index(tmp_path / "index")).make(30)
    learnt, held = held_out(made, 0.2, 100)
    assert (len(learnt), len(held)) == (24, 6)
    assert not {query.id for query in learnt} & {query.id for query in held}


def test_a_model_reads_at_least_nine_tenths_of_the_text(tmp_path: Path) -> None:
    index, model = topic_index(tmp_path / "index"), str(tiny_bert(tmp_path / "model"))
    chosen = text_budget(sample_of(index), model)
    assert chosen.share >= 0.9
    assert text_budget(sample_of(index), model, 16).share < 0.9
    assert "tokens read" in str(chosen)


def test_a_step_is_done_once(tmp_path: Path) -> None:
    done = []
    for _ in range(2):
        folder = RecipeFolder.open(tmp_path / "run", "adapt", {"seed": 1})
        assert folder.step("one", lambda: done.append(1) or {"value": 3}) == {"value": 3}
    assert done == [1]


def test_a_folder_of_other_settings_is_refused_with_the_difference(tmp_path: Path) -> None:
    RecipeFolder.open(tmp_path / "run", "adapt", {"seed": 1})
    with pytest.raises(RankwellError, match=r"holds a recipe with other settings \(seed: 1, now 2\)"):
        RecipeFolder.open(tmp_path / "run", "adapt", {"seed": 2})
    with pytest.raises(RankwellError, match="another recipe"):
        RecipeFolder.open(tmp_path / "run", "finetune", {"seed": 1})


def test_a_folder_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear")
    with pytest.raises(RankwellError, match="expected a new folder"):
        RecipeFolder.open(tmp_path / "letters", "adapt", {})


def test_candidates_that_a_run_lacks_come_last() -> None:
    run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, queries=Queries.of({"q": "words"}))
    kept = Restricted(Judgments([("q", "c", 1), ("q", "a", 0), ("q", "d", 0)]))(run)
    assert kept["q"].docnos.tolist() == ["a", "c", "d"]


def test_queries_without_a_relevant_document_teach_nothing() -> None:
    judged = Judged.of(Queries.of({"1": "x", "2": "y", "3": "z"}), Judgments([("1", "a", 1), ("2", "a", 0)]))
    assert list(judged.judgments) == ["1"] == list(judged.queries)


@pytest.mark.parametrize("budget", ["0m", "soon", "10", "-5m"])
def test_a_budget_is_minutes_or_hours(budget: str) -> None:
    with pytest.raises(ParameterError, match="minutes or hours, such as 45m or 2h"):
        AdaptSettings(budget=budget)


def test_minutes_of_a_budget() -> None:
    assert (AdaptSettings(budget="45m").minutes, AdaptSettings(budget="1.5h").minutes) == (45, 90)


def test_finetune_wants_something_to_train() -> None:
    with pytest.raises(ParameterError, match="a bi-encoder, or a re-ranker"):
        FinetuneSettings(model="none")


def test_the_taught_loss_is_the_formula() -> None:
    import torch

    from rankwell.models.bi_encoder.training import NEVER, taught_loss

    generator = np.random.default_rng(1)
    queries, documents = generator.normal(size=(2, 4)), generator.normal(size=(4, 4))
    # Query 0 has documents 0 and 2, query 1 has documents 1 and 3.
    teacher = np.array([[2.0, NEVER, 1.0, NEVER], [NEVER, 0.5, NEVER, 3.0]])
    found = float(taught_loss(*map(torch.tensor, (queries, documents, teacher)), 20.0, 0.25))
    unit = [vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (queries, documents)]
    similar = 20 * unit[0] @ unit[1].T
    contrast, divergence = [], []
    for query, (own, hard) in enumerate([(0, 2), (1, 3)]):
        others = [place for place in range(4) if place != hard]
        contrast.append(-similar[query, own] + np.log(np.exp(similar[query, others]).sum()))
        wanted = np.exp(teacher[query, [own, hard]])
        given = np.exp(similar[query, [own, hard]])
        wanted, given = wanted / wanted.sum(), given / given.sum()
        divergence.append((wanted * np.log(wanted / given)).sum())
    assert found == pytest.approx(0.75 * np.mean(contrast) + 0.25 * np.mean(divergence), rel=1e-6)
