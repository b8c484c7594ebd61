"""PARADE and duo runs that are killed go on to the same weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.models.duo.training import DuoSettings
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.parade.training import ParadeSettings
from rankwell.training import resume_training
from tiny_models import needs_torch, tiny_bert, topic_pairs
from warm_process import kill_when, run_warm

needs_torch()

pytestmark = pytest.mark.slow

SHARED = {"lr": 5e-3, "threads": 1, "batch_size": 8, "dropout": 0.2, "save_every": 3, "evaluate_every": 6, "steps": 15}
KINDS = {
    "parade": ParadeSettings(passages="4:2", most_passages=3, max_tokens=24, **SHARED),  # type: ignore[arg-type]
    "duo": DuoSettings(max_tokens=40, **SHARED),  # type: ignore[arg-type]
}


def program(place: Path, out: Path, kind: str) -> str:
    settings = KINDS[kind]
    model, pairs = str(place / "model"), str(place / "pairs")
    code = f"from rankwell.models.{kind}.training import {type(settings).__name__}, train_{kind}\n"
    code += f"train_{kind}({pairs!r}, {str(out)!r}, model={model!r}, settings={settings!r}, quiet=True)"
    return code


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_ranker_goes_on_to_the_same_weights(kind: str, tmp_path: Path) -> None:
    tiny_bert(tmp_path / "model")
    topic_pairs(tmp_path / "pairs", queries=12)
    run_warm(program(tmp_path, tmp_path / "whole", kind))
    killed = tmp_path / "killed"
    kill_when(killed / "checkpoints" / "checkpoint-6", program(tmp_path, killed, kind))
    assert not RunFolder.open(killed).finished
    resume_training(killed, quiet=True)
    for name in sorted(file.name for file in (tmp_path / "whole" / "model").glob("*.safetensors")):
        whole, resumed = ((run / "model" / name).read_bytes() for run in (tmp_path / "whole", killed))
        assert whole == resumed, name
    assert (killed / "model" / "ranker.json").is_file()
    results = [{**RunFolder.open(run).result, "seconds": 0} for run in (tmp_path / "whole", killed)]
    assert results[0] == results[1]
