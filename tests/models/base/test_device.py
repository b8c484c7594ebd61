"""--device: where models run, and one line where they cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commands import rankwell, succeeds
from needs import require_train
from rankwell.core import Document, ParameterError
from rankwell.index import IndexWriter
from rankwell.models.base.device import VARIABLE, check_device, chosen_device, loaded_once, refuse_gpu, use_device

QUESTION = ("search", "papers", "fever", "--rerank", "ms-marco-minilm-l12", "--json")


def without(device: str) -> bool:
    try:
        check_device(device)
    except ParameterError:
        return True
    return False


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with IndexWriter(tmp_path / "papers") as writer:
        writer.add(Document("d1", {"title": "fever in children"}))
        writer.add(Document("d2", {"title": "fever fever"}))


def test_a_device_is_chosen_for_a_block() -> None:
    assert chosen_device() is None
    with use_device("cpu"), use_device(None):
        assert chosen_device() == "cpu"
        assert os.environ[VARIABLE] == "cpu"  # for the processes that it starts
    assert chosen_device() is None


def test_an_unknown_device_is_refused() -> None:
    with (
        pytest.raises(ParameterError, match='--device: expected one of cpu, cuda, mps, found "tpu"'),
        use_device("tpu"),
    ):
        pass


@pytest.mark.usefixtures("papers", "use_models")
def test_a_device_that_is_not_there_is_one_line() -> None:
    require_train()
    missing = next(device for device in ("cuda", "mps") if without(device))
    done = rankwell(*QUESTION, "--device", missing)
    assert done.returncode != 0
    assert done.stdout == ""
    assert f"--device: expected a device of this machine (cpu), found {missing}, which PyTorch" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.usefixtures("papers", "use_models")
def test_the_cpu_gives_what_the_machine_without_a_gpu_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    found = succeeds(*QUESTION, "--device", "cpu")
    monkeypatch.setenv(VARIABLE, "cpu")
    assert succeeds(*QUESTION) == found
    assert '"rank": 2' in found


def test_a_model_without_a_way_to_a_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_gpu("mine", "which is small")
    monkeypatch.setattr("rankwell.models.base.device.chosen_device", lambda: "cuda")
    with pytest.raises(ParameterError, match='--device: expected cpu for mine, which is small, found "cuda"'):
        refuse_gpu("mine", "which is small")


def test_each_device_has_its_own_loaded_model() -> None:
    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

    load = loaded_once(Model)
    first = load("a")
    assert load("a") is first
    with use_device("cpu"):
        assert load("a") is not first
