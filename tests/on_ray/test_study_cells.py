"""A study whose cells are done by others. Workers are in this process; a test with Ray is beside these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from travelling import Here

from rankwell.core import RankwellError
from rankwell.ray import CellsOn
from rankwell.ray.searching import StudyCells
from rankwell.studies import run_study
from rankwell.studies.run.runner import check_libraries, libraries
from small_study import NO_PICTURES, begun, told


@pytest.fixture(autouse=True)
def come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker goes to the folder where its study was begun, and here it is in the process of the tests."""
    monkeypatch.chdir(Path.cwd())


def test_a_study_done_by_others_has_the_same_numbers(tmp_path: Path) -> None:
    here, there = begun(tmp_path / "here", NO_PICTURES), begun(tmp_path / "there", NO_PICTURES)
    plan, work = run_study(there, others=CellsOn(Here()), quiet=True)
    assert work.cells == len(plan.cells)
    assert told(there)["tables"] == told(here)["tables"]
    assert not list(there.store.folder.glob(".shared-*"))


def test_what_a_lost_worker_had_finished_is_not_done_again(tmp_path: Path) -> None:
    folder = begun(tmp_path, NO_PICTURES)
    cell = next(iter(folder.plan().cells.values()))
    folder.store.folder.mkdir()
    (folder.store.folder / ".shared").touch()
    work = StudyCells(folder.store.folder, ".shared", tmp_path, libraries()).open(1)
    work(cell)
    record = folder.store.record(cell.key)
    work(cell)
    assert folder.store.record(cell.key) == record


def test_cells_need_the_folder_the_data_and_the_libraries_that_they_were_planned_with(tmp_path: Path) -> None:
    folder = begun(tmp_path, NO_PICTURES)
    task = StudyCells(folder.store.folder, ".shared", tmp_path, libraries())
    with pytest.raises(RankwellError, match="expected a folder that this machine shares"):
        task.open(1)
    plan = folder.plan()
    corpus = tmp_path / "data" / "diseases" / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + "\n" + json.dumps({"_id": "new", "title": "", "text": "gout"}))
    cells = CellsOn(Here())(list(plan.cells.values()), folder.store)
    with pytest.raises(RankwellError, match=r"Diseases: index .*diseases: expected the same as where the study was"):
        list(cells)
    with pytest.raises(RankwellError, match=r"numpy: expected 0\.1 as where the study was begun, found"):
        check_libraries({**libraries(), "numpy": "0.1"})
