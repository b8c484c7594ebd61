"""A power cut loses nothing that was acknowledged, and leaves nothing half written."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path

import pytest

from needs import require
from power.replay import Cut, cuts, record, write_tree
from power.stores import STORES

# Moments of a quick look, of `make test-all`, and of `make test-long`, where each has about four outcomes.
QUICK, SOME, MANY = 12, 60, 400


def run(program: str, folder: Path) -> list[Cut]:
    (folder / "root").mkdir()
    records = record(["-c", program, str(folder / "root")], folder / "root", folder / "log")
    return list(cuts(folder / "root", records))


def cut_off(name: str, folder: Path, most: int) -> int:
    """Fill a store, cut it off at this many moments, and check what is left; how many outcomes there were."""
    root, count = folder / "root", 0
    root.mkdir()
    for cut in cuts(root, record(["-m", "power.stores", name, str(root)], root, folder / "log"), most):
        place = write_tree(folder / "cut", cut.tree)
        try:
            STORES[name].check(place, cut.acknowledged, root)
        except Exception as error:
            error.add_note(f"{name}, {cut.variant} of the unsynced after change {cut.moment}: {sorted(cut.tree)}")
            raise
        count += 1
    return count


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


@pytest.fixture(autouse=True)
def compiler() -> None:
    there = shutil.which("cc") is not None and sys.platform == "linux"
    require("cc", there=there, how="the recorder of writes needs Linux and a C compiler")


CARELESS = """
import os, sys
from pathlib import Path
from power.replay import acknowledge
root = Path(sys.argv[1])
with (root / "new").open("wb") as file:
    file.write(b"content")
    SYNC
os.replace(root / "new", root / "file")
FOLDER
acknowledge("written")
"""


def lost(program: str, folder: Path) -> set[object]:
    """What is at the place of the file after it was acknowledged."""
    return {cut.tree.get("file") for cut in run(program, folder) if cut.acknowledged}


def test_a_file_that_is_not_synced_may_be_empty_or_torn(tmp_path: Path) -> None:
    assert lost(CARELESS.replace("SYNC", "").replace("FOLDER", ""), tmp_path) == {None, b"", b"con", b"content"}


def test_a_rename_in_a_folder_that_is_not_synced_may_be_missing(tmp_path: Path) -> None:
    sync = "file.flush(); os.fsync(file.fileno())"
    assert lost(CARELESS.replace("SYNC", sync).replace("FOLDER", ""), tmp_path) == {None, b"content"}


def test_what_is_written_with_atomic_write_is_there(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from power.replay import acknowledge
from rankwell.core import atomic_write
for content in (b"old", b"new"):
    with atomic_write(Path(sys.argv[1]) / "a" / "b" / "file") as file:
        file.write(content)
    acknowledge(content.decode())
"""
    for cut in run(program, tmp_path):
        last = cut.acknowledged[-1][0].encode() if cut.acknowledged else None
        assert cut.tree.get("a/b/file") in {None: (None, b"old"), b"old": (b"old", b"new")}.get(last, (b"new",))


def test_memory_shared_with_a_file_is_seen_when_it_is_synced(tmp_path: Path) -> None:
    program = """
import mmap, os, sys
from power.replay import acknowledge
file = os.open(sys.argv[1] + "/file", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
os.fsync(os.open(sys.argv[1], os.O_RDONLY))
memory = mmap.mmap(file, 4096)
memory[:3] = b"abc"
memory.flush()
acknowledge()
"""
    assert all(cut.tree["file"][:3] == b"abc" for cut in run(program, tmp_path) if cut.acknowledged)


@pytest.mark.parametrize("name", ["index", "judgments"])
def test_some_cuts_lose_nothing(name: str, tmp_path: Path) -> None:
    assert cut_off(name, tmp_path, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", STORES)
def test_many_cuts_lose_nothing(name: str, tmp_path: Path) -> None:
    assert cut_off(name, tmp_path, SOME) > SOME / 2


@pytest.mark.long
@pytest.mark.parametrize("name", STORES)
def test_a_cut_at_every_moment_loses_nothing(name: str, tmp_path: Path) -> None:
    count = cut_off(name, tmp_path, MANY)
    print(f"{name}: {count:,} outcomes of power cuts")  # noqa: T201 -- for docs/security.md: pytest -s
    assert count > SOME
