"""Tuning: the best setting, chosen on some queries and tried on others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run, Stage
from rankwell.evaluation import evaluate
from rankwell.index import Index, IndexWriter
from rankwell.models.explanation import Interpolate
from rankwell.pipelines import tune, weight_grid
from rankwell.pipelines.tuning import ResultFolder, settings_of, split
from rankwell.retrieve import BM25
from rankwell.retrieve.fusion import Hybrid, WeightedSum

QIDS = [str(number) for number in range(10)]
QUERIES = Queries.of(dict.fromkeys(QIDS, "text"))
JUDGMENTS = Judgments((qid, "right", 1) for qid in QIDS)


@dataclass(frozen=True)
class Shifted(Stage):
    """Finds the right document of query q at rank |q - best| + 1."""

    best: int = 0
    unused: float = 0.5
    calls: ClassVar[list[int]] = []

    def apply(self, run: Run) -> Run:
        self.calls.append(self.best)
        return Run.from_dict({qid: self._ranking(abs(int(qid) - self.best)) for qid in run.qids})

    @staticmethod
    def _ranking(above: int) -> dict[str, float]:
        return {**{f"wrong{place}": 2.0 + place for place in range(above)}, "right": 1.0}


@pytest.fixture(autouse=True)
def no_calls_yet() -> None:
    Shifted.calls.clear()


def test_the_best_setting_is_the_one_with_the_best_mean() -> None:
    found = tune(Shifted(), {"best": [0, 5, 9]}, QUERIES, JUDGMENTS, "RR")
    assert found.best.setting == {"best": 5}
    assert found.best.value == evaluate(JUDGMENTS, Shifted(5)(QUERIES), "RR").mean("RR")
    assert [row["RR"] for row in found.rows()] == [trial.value for trial in found.trials]
    assert sum(row["folds"] for row in found.rows()) == 5


def test_every_setting_is_run_once() -> None:
    tune(Shifted(), {"best": [0, 5, 9], "unused": [1.0, 2.0]}, QUERIES, JUDGMENTS, "RR")
    assert Shifted.calls == [0, 0, 5, 5, 9, 9]


def test_a_fold_chooses_by_its_training_queries_and_is_measured_on_the_others() -> None:
    settings = [0, 3, 6, 9]
    found = tune(Shifted(), {"best": settings}, QUERIES, JUDGMENTS, "RR", folds=3, seed=7)
    values = {best: evaluate(JUDGMENTS, Shifted(best)(QUERIES), "RR").per_query("RR") for best in settings}
    for fold, choice in zip(found.folds, found.choices, strict=True):
        training = {best: np.mean([values[best][qid] for qid in fold.training]) for best in settings}
        chosen = max(settings, key=training.__getitem__)
        assert choice.setting == {"best": chosen}
        assert choice.training == pytest.approx(training[chosen])
        assert choice.held_out == pytest.approx(np.mean([values[chosen][qid] for qid in fold.held_out]))
    assert found.cross_validated == pytest.approx(np.mean(list(found.held_out.values())))
    assert sorted(found.held_out) == QIDS


@given(st.sets(st.text(max_size=3), min_size=2, max_size=40), st.integers(2, 10), st.integers(0, 5))
def test_no_query_is_on_both_sides_and_each_is_held_out_once(qids: set[str], folds: int, seed: int) -> None:
    parts = split(qids, min(folds, len(qids)), seed)
    assert all(set(part.training) | set(part.held_out) == qids for part in parts)
    assert not any(set(part.training) & set(part.held_out) for part in parts)
    assert sorted(qid for part in parts for qid in part.held_out) == sorted(qids)
    sizes = [len(part.held_out) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_folds_do_not_depend_on_the_order_of_the_queries() -> None:
    assert split(QIDS, 3, seed=1) == split(reversed(QIDS), 3, seed=1)
    assert split(QIDS, 3, seed=1) != split(QIDS, 3, seed=2)


def test_lower_is_better_where_the_measure_says_so() -> None:
    found = tune(Shifted(), {"best": [0, 5, 9]}, QUERIES, JUDGMENTS, "MFR@20")
    assert found.best.setting == {"best": 5}


def test_of_equal_settings_the_first_wins() -> None:
    found = tune(Shifted(), {"unused": [3.0, 1.0, 2.0]}, QUERIES, JUDGMENTS, "RR")
    assert found.best.setting == {"unused": 3.0}
    assert all(choice.setting == {"unused": 3.0} for choice in found.choices)


def test_a_measure_that_pools_queries_sees_one_side_only() -> None:
    judgments = Judgments([*JUDGMENTS.rows(), *((qid, f"wrong{place}", 0) for qid in QIDS for place in range(9))])
    found = tune(Shifted(), {"best": [0, 5]}, QUERIES, judgments, "AUC", folds=2)
    chosen = Shifted(**found.choices[0].setting)(QUERIES)
    held_out = judgments.only(found.folds[0].held_out)
    assert found.choices[0].held_out == pytest.approx(evaluate(held_out, chosen, "AUC").mean("AUC"))


def test_queries_without_judgments_are_neither_run_nor_counted() -> None:
    more = Queries.of(dict.fromkeys([*QIDS, "99"], "text"))
    found = tune(Shifted(), {"best": [5]}, more, JUDGMENTS, "RR")
    assert sorted(found.best.per_query) == QIDS


def test_judgments_of_other_queries_do_not_count_as_zeros() -> None:
    more = Judgments([*JUDGMENTS.rows(), ("99", "right", 1)])
    assert (
        tune(Shifted(), {"best": [5]}, QUERIES, more, "RR").best
        == tune(Shifted(), {"best": [5]}, QUERIES, JUDGMENTS, "RR").best
    )


def test_a_function_can_make_the_stage() -> None:
    found = tune(lambda best: Shifted(best).top(3), {"best": [0, 5]}, QUERIES, JUDGMENTS, "RR")
    assert found.best.setting == {"best": 5}


def test_a_run_can_be_tuned_on_where_a_reranker_needs_one() -> None:
    run = Shifted(0)(QUERIES)
    assert tune(Shifted(), {"best": [0, 5]}, run, JUDGMENTS, "RR").best.setting == {"best": 5}


@pytest.mark.parametrize("kind", ["mapping", "folder"])
def test_what_was_measured_before_is_not_run_again(kind: str, tmp_path: Path) -> None:
    cache: Any = {} if kind == "mapping" else tmp_path / "trials"
    grid = {"best": [0, 5, 9]}
    before = tune(Shifted(), {"best": [5]}, QUERIES, JUDGMENTS, "RR", cache=cache)
    after = tune(Shifted(), grid, QUERIES, JUDGMENTS, "RR", cache=cache)
    again = tune(Shifted(), grid, QUERIES, JUDGMENTS, "RR", cache=cache)
    assert Shifted.calls == [5, 0, 9]
    assert after == again == tune(Shifted(), grid, QUERIES, JUDGMENTS, "RR")
    assert before.best == after.best


def test_other_texts_other_judgments_and_other_folds_are_measured_anew() -> None:
    cache: dict[str, Any] = {}
    other_texts = Queries.of(dict.fromkeys(QIDS, "other"))
    other_judgments = Judgments([*JUDGMENTS.rows(), ("0", "wrong0", 1)])
    tune(Shifted(), {"best": [5]}, QUERIES, JUDGMENTS, "RR", cache=cache)
    tune(Shifted(), {"best": [5]}, other_texts, JUDGMENTS, "RR", cache=cache)
    tune(Shifted(), {"best": [5]}, QUERIES, other_judgments, "RR", cache=cache)
    tune(Shifted(), {"best": [5]}, QUERIES, JUDGMENTS, "RR", cache=cache, folds=2)
    tune(Shifted(), {"best": [5]}, QUERIES, JUDGMENTS, "AP", cache=cache)
    assert len(Shifted.calls) == len(cache) == 5


def test_a_missing_value_survives_the_folder(tmp_path: Path) -> None:
    results = ResultFolder(tmp_path)
    results["a"] = {"value": float("nan"), "training": [1.5]}
    assert np.isnan(results["a"]["value"])
    assert results["a"]["training"] == [1.5]
    assert list(results) == ["a"]
    del results["a"]
    assert "a" not in results
    assert len(results) == 0


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    with pytest.raises(RankwellError, match=r"a\.json: expected a result as JSON"):
        ResultFolder(tmp_path)["a"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {}}, "grid: expected one setting or more"),
        ({"grid": {"best": []}}, "grid, best: expected a list of values"),
        ({"grid": {"best": 3}}, "grid, best: expected a list of values, found 3"),
        ({"grid": {"worst": [1]}}, 'grid: expected one of Shifted.best, Shifted.unused, found "worst"'),
        ({"grid": {"Other.best": [1]}}, "grid: expected one of Shifted.best, Shifted.unused"),
        ({"folds": 1}, "folds: expected a number from 2 to the number of queries with judgments \\(10\\), found 1"),
        ({"folds": 11}, "folds: expected a number from 2"),
        ({"queries": {"x": "y"}}, "judgments: expected judgments for the queries"),
    ],
)
def test_a_mistake_is_named(arguments: dict[str, Any], message: str) -> None:
    given = {"grid": {"best": [1]}, "queries": QUERIES, "judgments": JUDGMENTS, "measure": "RR"} | arguments
    with pytest.raises(ParameterError, match=message):
        tune(Shifted(), **given)


def test_a_grid_is_every_combination_the_last_parameter_changing_fastest() -> None:
    grid = {"k1": [1, 2], "b": [0.1, 0.2]}
    assert settings_of(grid) == (
        {"k1": 1, "b": 0.1},
        {"k1": 1, "b": 0.2},
        {"k1": 2, "b": 0.1},
        {"k1": 2, "b": 0.2},
    )
    assert settings_of([{"k1": 1}, {"b": 2}]) == ({"k1": 1}, {"b": 2})


def test_weights_are_shared_in_equal_steps() -> None:
    assert weight_grid(["title", "text"], 2) == [{"title": 1.0}, {"title": 0.5, "text": 0.5}, {"text": 1.0}]
    assert all(sum(weights.values()) == pytest.approx(1) for weights in weight_grid("abc", 5))
    assert len(weight_grid("abc", 5)) == 21


def test_field_weights_of_bm25_are_tuned_and_remembered(tmp_path: Path) -> None:
    texts = {"right": ("fox", "dog cow"), "wrong": ("dog", "fox fox"), "other": ("cow", "cow")}
    with IndexWriter(tmp_path / "index") as writer:
        writer.add_all(Document(docno, {"title": title, "text": text}) for docno, (title, text) in texts.items())
    ranker = BM25(Index.open(tmp_path / "index"))
    queries = Queries.of(dict.fromkeys(QIDS, "fox"))
    grid = {"weights": weight_grid(["text", "title"], 2), "k1": [0.9, 1.2]}
    found = tune(ranker, grid, queries, JUDGMENTS, "RR", cache=tmp_path / "trials")
    assert found.best.setting["weights"]["title"] > found.best.setting["weights"].get("text", 0)
    assert found.cross_validated == 1.0
    assert found == tune(ranker, grid, queries, JUDGMENTS, "RR", cache=tmp_path / "trials")
    assert len(ResultFolder(tmp_path / "trials")) == 6


@dataclass(frozen=True)
class Counted(Stage):
    """Gives each query the same documents, and counts how often it is asked."""

    factor: float = 1.0
    calls: ClassVar[list[float]] = []

    def apply(self, run: Run) -> Run:
        self.calls.append(self.factor)
        return Run.from_dict({qid: {"right": self.factor, "wrong": 2.0} for qid in run.qids})


@dataclass(frozen=True)
class Reversed(Stage):
    """Turns the order round."""

    k: int = 10
    calls: ClassVar[list[int]] = []

    def apply(self, run: Run) -> Run:
        self.calls.append(self.k)
        return run.with_scores(-run.scores)


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    Counted.calls.clear()
    Reversed.calls.clear()


def test_parameters_are_found_inside_a_pipeline_and_shared_steps_run_once() -> None:
    mixed = Counted() >> Interpolate(Reversed())
    tuning = tune(mixed, {"alpha": [0.0, 0.3, 1.0]}, QUERIES, JUDGMENTS, "RR", untuned={})
    assert (Counted.calls, Reversed.calls) == ([1.0], [10])
    assert tuning.best.setting == {"alpha": 1.0}
    assert tuning.untuned is not None
    assert [trial.value for trial in (*tuning.trials, tuning.untuned)] == [
        evaluate(JUDGMENTS, (Counted() >> Interpolate(Reversed(), alpha))(QUERIES), "RR").mean("RR")
        for alpha in (0.0, 0.3, 1.0, 0.5)
    ]


def test_the_runs_of_a_hybrid_are_made_once_and_the_weights_tried() -> None:
    hybrid = Hybrid((Counted(), Counted(3.0)), WeightedSum((0.5, 0.5)))
    weights = [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)]
    tuning = tune(hybrid, {"weights": weights}, QUERIES, JUDGMENTS, "RR")
    assert Counted.calls == [1.0, 3.0]
    assert [trial.value for trial in tuning.trials] == [
        evaluate(JUDGMENTS, Hybrid(hybrid.rankers, WeightedSum(pair))(QUERIES), "RR").mean("RR") for pair in weights
    ]


def test_a_parameter_of_two_stages_needs_its_class() -> None:
    both = (Counted() >> Reversed()).top(2)
    with pytest.raises(ParameterError, match=r"grid: expected one of Reversed\.k, Top\.k, found \"k\""):
        tune(both, {"k": [1, 2]}, QUERIES, JUDGMENTS, "RR")
    assert tune(both, {"Top.k": [1, 2]}, QUERIES, JUDGMENTS, "RR").best.setting == {"Top.k": 1}


def test_the_gain_is_of_held_out_queries_under_settings_that_were_chosen_without_them() -> None:
    tuning = tune(Shifted(), {"best": [0, 4, 9]}, QUERIES, JUDGMENTS, "RR", untuned={})
    difference = tuning.difference()
    untuned = evaluate(JUDGMENTS, Shifted()(QUERIES), "RR").per_query("RR")
    assert difference.mean == pytest.approx(np.mean([tuning.held_out[qid] - untuned[qid] for qid in QIDS]))
    assert difference.queries == len(QIDS)
    with pytest.raises(ParameterError, match="untuned: expected a setting to compare with"):
        tune(Shifted(), {"best": [0]}, QUERIES, JUDGMENTS, "RR").difference()
