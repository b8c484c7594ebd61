"""The folder that every training leaves."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from rankwell.core import FormatError, RankwellError
from rankwell.models.learning.folders import Checkpoints
from rankwell.models.learning.run_folder import RunFolder


def begun(folder: Path) -> RunFolder:
    return RunFolder.create(folder, "cross-encoder", {"lr": 0.1, "seed": 7}, "abc", data="pairs", model="tiny")


def test_a_run_says_what_it_was_begun_with(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    assert (run.kind, run.settings) == ("cross-encoder", {"lr": 0.1, "seed": 7})
    assert run.configuration["data"] == {"folder": "pairs", "fingerprint": "abc"}
    assert run.configuration["model"]["name"] == "tiny"
    assert not run.finished
    assert run.result == {}


def test_a_finished_run_is_never_overwritten(tmp_path: Path) -> None:
    begun(tmp_path / "run").finish({"steps": 3})
    with pytest.raises(RankwellError, match="holds a finished run, which is not overwritten"):
        begun(tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").result == {"steps": 3}


def test_a_run_that_is_not_finished_is_to_be_resumed(tmp_path: Path) -> None:
    begun(tmp_path / "run")
    with pytest.raises(RankwellError, match="rankwell train resume"):
        begun(tmp_path / "run")


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RankwellError, match="expected a new or empty folder"):
        begun(tmp_path)
    with pytest.raises(RankwellError, match="expected a new folder, found a file"):
        begun(tmp_path / "letter.txt")


def test_what_is_no_run_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected the folder of a training run"):
        RunFolder.open(tmp_path)
    (tmp_path / "configuration.json").write_text("{}")
    with pytest.raises(FormatError, match='expected "kind"'):
        _ = RunFolder.open(tmp_path).configuration


def test_a_model_takes_its_place_only_when_it_is_whole(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    with pytest.raises(ZeroDivisionError):
        write_half(run)
    assert not run.model.exists()
    with run.writing_model() as place:
        (place / "weights").write_text("whole")
    assert (run.model / "weights").read_text() == "whole"
    assert not list(run.path.glob(".model*"))


def write_half(run: RunFolder) -> None:
    with run.writing_model() as place:
        (place / "weights").write_text("half")
        _ = 1 / 0


def test_lines_of_metrics_that_a_kill_cut_are_left_out(tmp_path: Path) -> None:
    metrics = begun(tmp_path / "run").metrics
    metrics.append({"step": 1, "loss": 0.5})
    metrics.append({"step": 2, "validation": {"nDCG@10": 0.25}})
    with metrics.path.open("ab") as file:
        file.write(b'{"step": 3, "los')
    assert metrics.lines() == [{"step": 1, "loss": 0.5}, {"step": 2, "validation": {"nDCG@10": 0.25}}]
    assert metrics.validations("nDCG@10") == [(2, 0.25)]


def test_metrics_go_back_to_what_a_checkpoint_has(tmp_path: Path) -> None:
    metrics = begun(tmp_path / "run").metrics
    metrics.append({"step": 1, "loss": 0.5})
    metrics.copy_to(tmp_path / "copy")
    metrics.append({"step": 2, "loss": 0.4})
    metrics.restore(tmp_path / "copy")
    assert [line["step"] for line in metrics.lines()] == [1]
    metrics.restore(None)
    assert metrics.lines() == []


def save(checkpoints: Checkpoints, step: int, content: str = "weights") -> None:
    with checkpoints.saving(step) as staging:
        (staging / f"checkpoint-{step}").mkdir()
        (staging / f"checkpoint-{step}" / "file").write_text(content)


def test_checkpoints_are_found_in_the_order_of_their_steps(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    assert checkpoints.newest() is None
    for step in (9, 10, 100):
        save(checkpoints, step)
    assert checkpoints.steps() == [9, 10, 100]
    assert checkpoints.newest() == tmp_path / "checkpoints" / "checkpoint-100"
    checkpoints.keep({10})
    assert checkpoints.steps() == [10]


def test_a_checkpoint_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    save(checkpoints, 1)
    with pytest.raises(RankwellError, match=r"not written: No space .*checkpoint-1, is whole: make room"):
        fail_with(checkpoints, OSError(28, "No space left on device"))
    with pytest.raises(RankwellError, match="not written: unexpected pos"):
        fail_with(checkpoints, RuntimeError("unexpected pos 64 vs 0"))
    assert checkpoints.steps() == [1]
    assert (checkpoints.at(1) / "file").read_text() == "weights"


def fail_with(checkpoints: Checkpoints, error: Exception) -> None:
    with checkpoints.saving(2) as staging:
        (staging / "checkpoint-2").mkdir()
        (staging / "checkpoint-2" / "file").write_text("half")
        raise error


def test_what_a_kill_left_behind_is_no_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    save(checkpoints, 3)
    for name in (".saving/checkpoint-4", ".leaving"):
        (checkpoints.path / name).mkdir(parents=True)
    assert checkpoints.steps() == [3]
    checkpoints.tidy()
    assert [entry.name for entry in checkpoints.path.iterdir()] == ["checkpoint-3"]


def test_a_result_is_readable_json(tmp_path: Path) -> None:
    run = begun(tmp_path / "run")
    run.finish({"steps": 3, "measures": {"AUC": 0.5}})
    assert orjson.loads((run.path / "result.json").read_bytes())["measures"] == {"AUC": 0.5}
    assert run.finished
