"""Runs that end before their time: killed at any step, out of disk, interrupted. Each goes on to the same weights."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rankwell.core import RankwellError
from rankwell.models.bi_encoder.training import BiEncoderSettings
from rankwell.models.cross_encoder.training import CrossEncoderSettings, train_cross_encoder
from rankwell.models.learning.run_folder import RunFolder
from rankwell.training import resume_training
from tiny_models import needs_torch, tiny_bert, topic_pairs
from warm_process import WarmProcess, kill_when, run_warm

needs_torch()

pytestmark = pytest.mark.slow

SETTINGS = CrossEncoderSettings(
    epochs=3, lr=5e-3, max_tokens=32, threads=1, batch_size=8, accumulate=2, dropout=0.2, save_every=4, evaluate_every=6
)
SETTINGS = replace(SETTINGS, keep_checkpoints=True, onnx=False)
LAST = 36  # steps

# Where the bullet waits: code that runs before training begins.
WHILE_SAVING = """
import torch
save, count = torch.save, 0
def shot(content, file, *others):
    global count
    count += 1
    if count == 8:  # the scheduler of the third checkpoint
        open(file, "wb").write(b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    save(content, file, *others)
torch.save = shot
"""
WHILE_RENAMING = """
from pathlib import Path
from rankwell.models.learning import folders as checkpoints
def shot(self, checkpoint):
    if checkpoint.name == "checkpoint-4" and checkpoint.exists():
        os.kill(os.getpid(), signal.SIGKILL)
checkpoints.Checkpoints._remove = shot
"""
AT_THE_END = """
from rankwell.models.learning import finishing
finishing.write_curves = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


def program(place: Path, out: Path, before: str = "", settings: object = SETTINGS) -> str:
    kind = "cross_encoder" if isinstance(settings, CrossEncoderSettings) else "bi_encoder"
    code = f"""
    from rankwell.models.{kind}.training import {type(settings).__name__}, train_{kind}
    settings = {settings!r}
    train_{kind}({str(place / "pairs")!r}, {str(out)!r}, model={str(place / "model")!r}, settings=settings, quiet=True)
    """
    return f"import os, signal\n{before}\n{textwrap.dedent(code)}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, pairs, and a run without a break."""
    folder = tmp_path_factory.mktemp("kills")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs")
    run_warm(program(folder, folder / "whole"))
    return folder


def assert_same(one: Path, other: Path) -> None:
    """The same weights to the last bit, after the last step and those that were kept; the same measures."""
    for name in ("model", f"checkpoints/checkpoint-{LAST}"):
        first, second = ((run / name / "model.safetensors").read_bytes() for run in (one, other))
        assert first == second
    lines = [[{**line, "seconds": 0} for line in RunFolder.open(run).metrics.lines()] for run in (one, other)]
    assert lines[0] == lines[1]
    results = [{**RunFolder.open(run).result, "seconds": 0} for run in (one, other)]
    assert results[0] == results[1]


@pytest.mark.parametrize("step", [4, 12, 20])
def test_a_killed_and_resumed_run_equals_one_without_a_break(place: Path, step: int, tmp_path: Path) -> None:
    """12 steps are an epoch: 12 goes on at its beginning, the others in the middle."""
    out = tmp_path / "run"
    kill_when(out / "checkpoints" / f"checkpoint-{step}", program(place, out))
    assert not RunFolder.open(out).finished
    resume_training(out, quiet=True)
    assert_same(place / "whole", out)


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_anew(place: Path, tmp_path: Path) -> None:
    kill_when(tmp_path / "run" / "metrics.jsonl", program(place, tmp_path / "run"))
    resume_training(tmp_path / "run", quiet=True)
    assert_same(place / "whole", tmp_path / "run")


@pytest.mark.parametrize("bullet", [WHILE_SAVING, WHILE_RENAMING, AT_THE_END], ids=["saving", "removing", "end"])
def test_a_kill_in_the_middle_of_writing_breaks_nothing(place: Path, bullet: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_warm(program(place, out, bullet), -signal.SIGKILL)
    newest = RunFolder.open(out).checkpoints.newest()
    assert newest is not None
    assert (newest / "trainer_state.json").is_file()
    resume_training(out, quiet=True)
    assert_same(place / "whole", out)


def test_a_run_can_be_killed_again_and_again(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    kill_when(out / "checkpoints" / "checkpoint-6", program(place, out))
    again = f"from rankwell.training import resume_training; resume_training({str(out)!r})"
    kill_when(out / "checkpoints" / "checkpoint-16", again)
    kill_when(out / "checkpoints" / "checkpoint-28", again)
    resume_training(out, quiet=True)
    assert_same(place / "whole", out)


def test_a_bi_encoder_goes_on_to_the_same_weights(place: Path, tmp_path: Path) -> None:
    settings = BiEncoderSettings(
        epochs=4, lr=5e-3, max_tokens=32, threads=1, batch_size=6, save_every=2, negatives=2, onnx=False
    )
    run_warm(program(place, tmp_path / "whole", settings=settings))
    kill_when(tmp_path / "run" / "checkpoints" / "checkpoint-14", program(place, tmp_path / "run", settings=settings))
    resume_training(tmp_path / "run", quiet=True)
    one, two = ((tmp_path / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "run"))
    assert one == two


def test_a_run_that_stopped_early_is_not_trained_further(place: Path, tmp_path: Path) -> None:
    settings = replace(SETTINGS, lr=1e-9, patience=2, evaluate_every=2, save_every=None)
    run_warm(program(place, tmp_path / "run", AT_THE_END, settings), -signal.SIGKILL)
    result = resume_training(tmp_path / "run", quiet=True)
    assert (result.steps, result.best, result.stopped_early) == (6, 2, True)


def test_a_full_disk_leaves_the_checkpoint_before_and_says_so(place: Path, tmp_path: Path) -> None:
    """The system refuses files above a size, once the first checkpoint is there: a write that fails for real."""
    limit = """
    import resource
    from rankwell.models.learning.folders import Checkpoints
    keep = Checkpoints.keep
    def fill(self, steps):
        keep(self, steps)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
    Checkpoints.keep = fill
    """
    out = tmp_path / "run"
    said = run_warm(program(place, out, textwrap.dedent(limit)), 1)
    assert "RankwellError" in said
    assert "checkpoint-6: not written:" in said
    assert "checkpoint-4, is whole: make room, then rankwell train resume" in said
    assert [entry.name for entry in (out / "checkpoints").iterdir()] == ["checkpoint-4"]
    resume_training(out, quiet=True)
    assert_same(place / "whole", out)


def test_ctrl_c_says_how_to_go_on(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "rankwell", "train", "cross-encoder", str(place / "pairs")]
    command += ["--model", str(place / "model"), "--out", str(out), "--max-tokens", "32", "--threads", "1"]
    command += ["--epochs", "500", "--save-every", "4"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (out / "checkpoints" / "checkpoint-4").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()
    assert process.returncode == 3
    assert f"go on with rankwell train resume {out}" in told
    assert "run the same command again" not in told
    assert "Traceback" not in told


def test_two_processes_do_not_train_in_one_folder(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    endless = replace(SETTINGS, epochs=500)
    process = WarmProcess(program(place, out, settings=endless))
    while not (out / "checkpoints" / "checkpoint-4").exists():
        assert process.poll() is None, process.stderr()
        time.sleep(0.01)
    with pytest.raises(RankwellError, match="another writer is at work"):
        resume_training(out, quiet=True)
    process.kill()


def test_a_program_goes_on_with_the_same_run_and_refuses_another(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    kill_when(out / "checkpoints" / "checkpoint-8", program(place, out))
    given = {"model": str(place / "model"), "quiet": True, "resume": True}
    with pytest.raises(RankwellError, match="holds a run with another settings"):
        train_cross_encoder(place / "pairs", out, settings=replace(SETTINGS, lr=1e-3), **given)
    train_cross_encoder(place / "pairs", out, settings=SETTINGS, **given)
    assert_same(place / "whole", out)
