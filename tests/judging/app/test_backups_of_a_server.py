"""Backups by command while `rankwell assess serve` runs, and backups that it makes itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from serving import running

from rankwell.judging.store import open_store
from studies import make_study
from waiting import wait_until

pytestmark = pytest.mark.slow


def rankwell(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankwell", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def grade_one(database: Path) -> None:
    with open_store(database) as store:
        name = store.invitations.redeem(store.invitations.invite(), "10.0.0.1").account.name
        store.people.consent(name)
        store.judging.begin(name)
        task = store.judging.task(name)
        store.judging.give(name, task.assignment, task.position, 3)


def test_a_study_is_backed_up_while_it_is_served_and_restored(tmp_path: Path) -> None:
    database, backup = tmp_path / "study.db", tmp_path / "study.jsonl.gz"
    make_study(database).close()
    with running(database, tmp_path / "log", "--backup-every", "1s", "--backups", "2"):
        grade_one(database)
        made = rankwell("assess", "backup", database, backup)
        assert (made.returncode, made.stdout) == (0, ""), made.stderr
        assert f"rows of {database}" in made.stderr
        again = rankwell("assess", "backup", database, backup)
        assert again.returncode == 1
        assert again.stderr.splitlines() == [
            f"rankwell: {backup}: expected a new file, found one: choose another name, or give --replace"
        ]
        own = tmp_path / "study.db.backups"
        first = wait_until(lambda: sorted(own.glob("judging-*.jsonl.gz")), "the first backup")
        wait_until(lambda: first[0] not in (left := list(own.glob("judging-*"))) and len(left) == 2, "the third")
        (tmp_path / "copy.db").write_bytes(database.read_bytes())
        looked = rankwell("assess", "status", tmp_path / "copy.db")
        assert "its log (copy.db-wal) is not here" in looked.stderr
    for _ in range(2):  # the server was stopped in order: nothing is missing
        assert "is not here" not in rankwell("assess", "status", database).stderr
    for source, name in ((backup, "one.db"), (max(own.iterdir()), "two.db")):
        restored = rankwell("assess", "restore", source, tmp_path / name)
        assert restored.returncode == 0, restored.stderr
        with open_store(tmp_path / name) as store:
            assert [row.grade for row in store.answers()] == [3]
    refused = rankwell("assess", "restore", backup, tmp_path / "one.db")
    assert refused.returncode == 1
    assert "one.db: expected a new file, found one" in refused.stderr
    with running(tmp_path / "one.db", tmp_path / "log") as server:
        assert server.process.poll() is None
