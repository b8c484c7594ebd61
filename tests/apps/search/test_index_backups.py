"""`rankwell backup`: an index and its judgments in one file, whole or refused."""

from __future__ import annotations

import tarfile
import threading
from io import BytesIO
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankwell.apps.search.backup import restore_backup, write_backup
from rankwell.apps.search.judgments import JudgmentsFile, judgments_beside
from rankwell.cli import app
from rankwell.core import Document, RankwellError
from rankwell.index import Index, IndexWriter


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    with IndexWriter(folder) as writer:
        writer.add_all(Document(f"d{number}", {"text": f"fever {number}"}) for number in range(20))
    Index.open(folder).delete("d3")
    judgments = JudgmentsFile(judgments_beside(folder))
    judgments.add("fever", "d1", 1)
    judgments.close()
    return folder


@pytest.mark.parametrize("name", ["papers.tar", "papers.tar.gz"])
def test_an_index_comes_back_with_its_judgments(papers: Path, tmp_path: Path, name: str) -> None:
    with judgments_beside(papers).open("ab") as file:
        file.write(b'{"query": "half a li')  # as it is while a server writes
    made = CliRunner().invoke(app, ["backup", str(papers), str(tmp_path / name)])
    assert made.exit_code == 0, made.output
    assert "19 documents, 1 judgments" in made.output
    restored = CliRunner().invoke(app, ["restore", str(tmp_path / name), str(tmp_path / "again")])
    assert restored.exit_code == 0, restored.output
    before, after = Index.open(papers), Index.open(tmp_path / "again")
    assert after.fingerprint() == before.fingerprint()
    assert list(after.documents) == list(before.documents)
    judgments = JudgmentsFile(judgments_beside(tmp_path / "again"))
    assert judgments.grade("fever", "d1") == 1
    judgments.close()
    with IndexWriter(tmp_path / "again") as writer:
        writer.add(Document("new", {"text": "more"}))
    assert len(Index.open(tmp_path / "again")) == 20


def test_vectors_come_along(papers: Path, tmp_path: Path) -> None:
    vectors = papers / "vectors" / "mine"
    vectors.mkdir(parents=True)
    from rankwell.vectors.rows import Manifest

    Manifest("model", {}, "made", 4).write(vectors)
    write_backup(papers, tmp_path / "papers.tar")
    restore_backup(tmp_path / "papers.tar", tmp_path / "again")
    assert (tmp_path / "again" / "vectors" / "mine" / "manifest").read_bytes() == (vectors / "manifest").read_bytes()


def test_a_backup_is_one_commit_while_another_process_commits_and_merges(papers: Path, tmp_path: Path) -> None:
    enough = threading.Event()

    def go_on() -> None:
        number = 100
        while not enough.is_set():
            with IndexWriter(papers) as writer:
                writer.add(Document(f"d{number}", {"text": "fever"}))
                writer.merge()
            number += 1

    writing = threading.Thread(target=go_on)
    writing.start()
    try:
        for number in range(5):
            write_backup(papers, tmp_path / f"{number}.tar")
    finally:
        enough.set()
        writing.join()
    for number in range(5):
        assert restore_backup(tmp_path / f"{number}.tar", tmp_path / f"again-{number}").documents >= 19


def test_a_damaged_backup_leaves_nothing(papers: Path, tmp_path: Path) -> None:
    write_backup(papers, tmp_path / "whole.tar")
    whole = (tmp_path / "whole.tar").read_bytes()
    with tarfile.open(tmp_path / "whole.tar") as tar:
        place = max(tar.getmembers(), key=lambda entry: entry.size).offset_data + 100
    damaged = {
        "cut": whole[: len(whole) // 2],
        "changed": whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :],
        "empty": b"",
        "another file": b"qid docno\n" * 100,
        "outside": _tar({"index/../../escaped": b"x"}),
        "absolute": _tar({"/tmp/escaped": b"x"}),  # noqa: S108 -- refused
        "no list": _tar({"index/manifest": b"x"}),
    }
    for what, content in damaged.items():
        (tmp_path / "bad.tar").write_bytes(content)
        with pytest.raises(RankwellError, match=r"bad\.tar: expected a") as told:
            restore_backup(tmp_path / "bad.tar", tmp_path / "again")
        assert "\n" not in str(told.value), what
        assert not (tmp_path / "again").exists(), what
        assert not list(tmp_path.glob(".*")), what
    assert not (tmp_path / "escaped").exists()


def _tar(files: dict[str, bytes]) -> bytes:
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))
    return out.getvalue()


def test_nothing_is_overwritten(papers: Path, tmp_path: Path) -> None:
    write_backup(papers, tmp_path / "papers.tar")
    with pytest.raises(RankwellError, match=r"papers\.tar: expected a new file, found one: .*--replace"):
        write_backup(papers, tmp_path / "papers.tar")
    write_backup(papers, tmp_path / "papers.tar", replace=True)
    with pytest.raises(RankwellError, match="papers: expected nothing here, found something"):
        restore_backup(tmp_path / "papers.tar", papers)
    with pytest.raises(RankwellError, match="expected an index, found nothing there"):
        write_backup(tmp_path / "nowhere", tmp_path / "other.tar")
