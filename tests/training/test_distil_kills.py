"""Distillations that are killed go on to the same weights, the projection of a narrower student included."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from rankwell.models.learning.run_folder import RunFolder
from rankwell.training import resume_training
from tiny_models import needs_torch, tiny_bert, topic_pairs
from warm_process import kill_when, run_warm

needs_torch()

pytestmark = pytest.mark.slow


def program(place: Path, out: Path) -> str:
    code = f"""
    from rankwell.models.distillation.training import DistilSettings, distil
    settings = DistilSettings(
        epochs=2, lr=5e-3, max_tokens=32, threads=1, batch_size=8, save_every=4, dropout=0.1,
        keep_checkpoints=True, onnx=False,
    )
    folder = {str(place)!r}
    distil(
        folder + "/teacher", "teacher:2x8", folder + "/pairs", {str(out)!r}, settings=settings,
        validation=folder + "/held-out", quiet=True,
    )
    """
    return textwrap.dedent(code)


def test_a_killed_and_resumed_run_equals_one_without_a_break(tmp_path: Path) -> None:
    tiny_bert(tmp_path / "teacher", layers=4, head="BertForSequenceClassification", num_labels=1)
    topic_pairs(tmp_path / "pairs", queries=24)
    topic_pairs(tmp_path / "held-out", queries=6, seed=7)
    run_warm(program(tmp_path, tmp_path / "whole"))
    out = tmp_path / "run"
    kill_when(out / "checkpoints" / "checkpoint-8", program(tmp_path, out))
    assert not RunFolder.open(out).finished
    resume_training(out, quiet=True)
    whole, resumed = RunFolder.open(tmp_path / "whole"), RunFolder.open(out)
    last = whole.checkpoints.newest()
    assert last is not None
    for name in ("model", f"checkpoints/{last.name}"):
        first, second = ((run.path / name / "model.safetensors").read_bytes() for run in (whole, resumed))
        assert first == second
    assert {**whole.result, "seconds": 0} == {**resumed.result, "seconds": 0}
