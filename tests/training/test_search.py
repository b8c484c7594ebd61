"""Searching over settings: what is tried, what is remembered, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import ParameterError, RankwellError
from rankwell.evaluation import evaluate, parse_measure
from rankwell.evaluation.significance import TTest
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.learning.validation import judgments_of_pairs, ranking_of_pairs
from rankwell.models.linear.training import LinearSettings
from rankwell.training import Search, Searched
from rankwell.training.families import TRAINABLE
from rankwell.training.search import SearchCell, Tried, compared
from rankwell.training.search_space import Range, parse_settings, parse_space, search_table, settings_to_try
from tiny_models import needs_torch, tiny_bert, topic_pairs

needs_torch()

QUICK = CrossEncoderSettings(epochs=1, max_tokens=32, threads=1, onnx=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs", queries=16)
    return folder


def searched(place: Path, out: Path, settings: Any, **others: Any) -> Searched:
    from rankwell.models.learning.pairs import open_pairs

    given = {"model": str(place / "model"), "base": QUICK, "validation": 0.25, **others}
    return Search("cross-encoder", open_pairs(place / "pairs"), settings, **given).run(out)


def test_a_grid_is_every_combination_and_random_settings_are_different_ones() -> None:
    space = {"lr": [1e-5, 2e-5], "freeze": ["none", "head"]}
    assert settings_to_try(space)[1] == {"lr": 1e-5, "freeze": "head"}
    drawn = settings_to_try(space, 10, seed=3)
    assert len(drawn) == 4
    assert drawn == settings_to_try(space, 10, seed=3)
    learning = settings_to_try({"lr": Range(1e-6, 1e-3, log=True)}, 200, seed=1)
    rates = [float(one["lr"]) for one in learning]
    assert all(1e-6 <= rate <= 1e-3 for rate in rates)
    assert sum(rate < 3.2e-5 for rate in rates) == pytest.approx(100, abs=35)  # half of the logarithms


def test_values_are_read_as_the_settings_want_them() -> None:
    space = parse_space(CrossEncoderSettings, ["lr=1e-5,2e-5", "batch-size=8", "patience=none,2", "lr=1e-6..1e-4:log"])
    assert space == {"lr": Range(1e-6, 1e-4, log=True), "batch_size": [8], "patience": [None, 2]}
    assert parse_settings(LinearSettings, ["balanced=yes", "penalty=3"]) == {"balanced": True, "penalty": 3.0}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("speed=3", "setting: expected one of accumulate, batch_size"),
        ("epochs", "setting: expected NAME=VALUE"),
        ("epochs=many", "epochs: expected a number above 0"),
        ("onnx=maybe", "onnx: expected true or false"),
        ("lr=2..1", "range: expected LOW..HIGH"),
        ("freeze=none..head", "freeze: expected values separated by commas"),
    ],
)
def test_what_cannot_be_varied_is_told(told: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_space(CrossEncoderSettings, [told])


def test_a_range_needs_a_number_of_settings() -> None:
    with pytest.raises(ParameterError, match="lr: expected values"):
        settings_to_try({"lr": Range(1e-5, 1e-4)})


def test_every_cell_is_trained_once_and_measured_by_the_models_own_scores(place: Path, tmp_path: Path) -> None:
    from rankwell.models.learning.pairs import open_pairs

    settings = [{"freeze": "none"}, {"freeze": "head"}]
    found = searched(place, tmp_path, settings, seeds=2)
    cells = [cell for one in found.tried for cell in one.cells]
    assert len({cell.folder for cell in cells}) == 4
    held_out = open_pairs(place / "pairs").split(0.25, 42)[1]
    assert {len(cell.per_query) for cell in cells} == {4}
    scores = TRAINABLE["cross-encoder"].scores(cells[0].folder, QUICK, held_out)
    right = evaluate(judgments_of_pairs(held_out), ranking_of_pairs(held_out, scores), "nDCG@10")
    assert cells[0].value == pytest.approx(right.mean("nDCG@10"))
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
    again = searched(place, tmp_path, settings, seeds=2)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == before
    assert again == found
    more = searched(place, tmp_path, [*settings, {"freeze": "embeddings"}], seeds=2)
    assert more.tried[:2] == found.tried
    assert len(list((tmp_path / "cells").iterdir())) == 6


def test_a_search_that_stopped_in_the_middle_of_a_cell_ends_as_one_that_did_not(place: Path, tmp_path: Path) -> None:
    from rankwell.models.learning.hugging_face import RunTrainer
    from rankwell.models.learning.run_folder import RunFolder

    settings = [{"lr": 1e-3}, {"lr": 5e-3}]
    whole = searched(place, tmp_path / "whole", settings)
    original, saved = RunTrainer.load_weights, []

    def stopped(self: Any, chosen: Path) -> None:
        saved.append(chosen)
        if len(saved) == 2:  # the second cell has done its steps and not yet written its model
            raise KeyboardInterrupt
        original(self, chosen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunTrainer, "load_weights", stopped)
        with pytest.raises(KeyboardInterrupt):
            searched(place, tmp_path / "cut", settings)
    assert [RunFolder.open(folder).finished for folder in (tmp_path / "cut" / "cells").iterdir()].count(True) == 1
    resumed = searched(place, tmp_path / "cut", settings)
    assert [one.value for one in resumed.tried] == [one.value for one in whole.tried]


def test_folds_hold_every_query_out_once_and_share_none(place: Path, tmp_path: Path) -> None:
    found = searched(place, tmp_path, [{"lr": 1e-3}], folds=4)
    parts = [set(cell.per_query) for cell in found.best.cells]
    assert len(parts) == 4
    assert sum(map(len, parts)) == len(set().union(*parts)) == 16


def test_bi_encoders_and_linear_models_are_searched_too(place: Path, tmp_path: Path) -> None:
    from rankwell.models.bi_encoder.training import BiEncoderSettings
    from rankwell.models.learning.pairs import open_pairs

    pairs = open_pairs(place / "pairs")
    quick = BiEncoderSettings(epochs=1, max_tokens=32, threads=1, onnx=False)
    model = str(place / "model")
    vectors = Search("bi-encoder", pairs, [{"lr": 1e-3}], model=model, base=quick, validation=0.25).run(tmp_path / "bi")
    assert 0 < vectors.best.value <= 1
    linear = Search("linear", pairs, [{"penalty": 0.1}, {"penalty": 10.0}], base=LinearSettings(fewest=2), folds=2)
    found = linear.run(tmp_path / "linear")
    assert found.best.value > 0.9  # a word of the document tells them apart
    with pytest.raises(ParameterError, match="a linear model begins from nothing"):
        Search("linear", pairs, [{}], model=model).run(tmp_path / "no")


def test_settings_are_compared_with_the_best_query_by_query() -> None:
    def tried(name: str, *seeds: dict[str, float]) -> Tried:
        made = (
            SearchCell(Path(name), {"loss": name}, seed, 0, sum(values.values()) / len(values), values)
            for seed, values in enumerate(seeds)
        )
        return Tried({"loss": name}, tuple(made))

    low = tried("bce", {"a": 0.1, "b": 0.3, "c": 0.2}, {"a": 0.3, "b": 0.3, "c": 0.4})
    high = tried("margin", {"a": 0.9, "b": 0.5, "c": 0.9}, {"a": 0.7, "b": 0.7, "c": 0.9})
    found = compared(parse_measure("nDCG@10"), (low, high))
    assert found.best is high
    assert low.value == pytest.approx((0.2 + 1 / 3) / 2)
    assert low.spread == pytest.approx((1 / 3 - 0.2) / 2**0.5)
    assert low.per_query == pytest.approx({"a": 0.2, "b": 0.3, "c": 0.3})
    difference, p = found.differences[0]
    assert difference.p == pytest.approx(TTest()([0.2, 0.3, 0.3], [0.8, 0.6, 0.9]).p)
    assert p == difference.p
    assert search_table(found).rows[0][0] == "margin"


def test_a_measure_over_all_pairs_is_searched_by_and_not_tested(place: Path, tmp_path: Path) -> None:
    found = searched(place, tmp_path, [{"lr": 1e-3}, {"lr": 5e-3}], measure="AUC")
    assert found.differences == {}
    assert 0 <= found.best.value <= 1


def test_the_command_tells_the_best_and_goes_on(place: Path, tmp_path: Path) -> None:
    words = ["train", "search", "cross-encoder", str(place / "pairs"), "--model", str(place / "model")]
    words += ["--out", str(tmp_path / "s"), "--vary", "lr=1e-3,5e-3", "--set", "epochs=1", "--set", "max-tokens=32"]
    words += ["--set", "onnx=no", "--set", "threads=1", "--validation", "0.25"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "to train it on everything: rankwell train cross-encoder" in done.stderr
    assert (tmp_path / "s" / "settings.png").is_file()
    again = CliRunner().invoke(app, [*words, "--output", "csv"])
    assert again.stdout.splitlines()[0] == "lr,nDCG@10,between seeds,to the best,p"


def test_mistakes_are_found_before_anything_is_trained(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="lr: expected a number above 0"):
        searched(place, tmp_path, [{"lr": 1e-3}, {"lr": -1.0}])
    with pytest.raises(RankwellError, match="expected a model to start from"):
        searched(place, tmp_path, [{}], model=None)
    with pytest.raises(ParameterError, match=r"kind: expected cross-encoder or bi-encoder or .* or linear"):
        Search("tree", None, [{}]).run(tmp_path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
