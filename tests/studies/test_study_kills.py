from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rankwell.studies import read_numbers, run_study, write_report
from rankwell.studies.run.runner import Machine, StudyFolder
from small_study import ALONE, begun

pytestmark = pytest.mark.slow


def resumed(folder: StudyFolder, jobs: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "rankwell", "study", "resume", str(folder.path), "--jobs", str(jobs), "--quiet"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_study_killed_at_random_moments_ends_with_the_same_numbers(jobs: int, tmp_path: Path) -> None:
    undisturbed, killed = begun(tmp_path / "a"), begun(tmp_path / "b")
    write_report(undisturbed, run_study(undisturbed, ALONE, quiet=True)[0])
    moments = random.Random(jobs)  # noqa: S311 -- moments that can be repeated
    for _ in range(6):
        process = resumed(killed, jobs)
        try:
            process.wait(timeout=moments.uniform(0.5, 4.0))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)  # its workers must leave by themselves
            process.wait()
    last = resumed(killed, jobs)
    assert last.wait(timeout=300) == 0
    assert read_numbers(killed.path)["tables"] == read_numbers(undisturbed.path)["tables"]
    assert not list(killed.store.folder.glob("*.part"))


def test_workers_leave_with_the_process_that_started_them(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    process = resumed(folder, 2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.parent.parent.parent.exists():
        pytest.skip("no /proc here")
    found: list[str] = []
    for _ in range(200):
        found = children.read_text().split() if children.exists() else []
        if len(found) >= 2 or process.poll() is not None:
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(200):
        if not any(Path(f"/proc/{child}").exists() for child in found):
            return
        time.sleep(0.05)
    raise AssertionError(found)


def test_two_processes_give_the_numbers_of_one(tmp_path: Path) -> None:
    alone, together = begun(tmp_path / "a"), begun(tmp_path / "b")
    write_report(alone, run_study(alone, ALONE, quiet=True)[0])
    write_report(together, run_study(together, Machine(jobs=2, threads=2), quiet=True)[0])
    assert read_numbers(together.path)["tables"] == read_numbers(alone.path)["tables"]


def test_ctrl_c_says_how_to_go_on_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    command = [sys.executable, "-m", "rankwell", "study", "resume", str(folder.path), "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not folder.store.folder.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (0, 3)  # it may have been quicker
    assert "Traceback" not in said
    if process.returncode == 3:
        assert "run the same command again" in said
