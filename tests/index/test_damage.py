# ruff: noqa: S311 -- damage may be foreseen

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rankwell import Analyzer, Document, RankwellError
from rankwell.index import Index, IndexWriter, Scoring
from rankwell.index.blocks import HEADER, MAGIC

QUERIES = ["common w1", "w3 w5 w90", "title", "w7"]


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """An index with everything: two segments, deletions, positions, columns, frequent and rare terms."""
    folder = tmp_path_factory.mktemp("damage") / "index"
    generator = random.Random(1)
    with IndexWriter(folder, positions=True, metadata=["year", "kind"]) as writer:
        for number in range(600):
            text = "common " + " ".join(f"w{generator.randrange(200)}" for _ in range(20))
            document = Document(f"d{number}", {"title": f"title {number}", "text": text}, {"year": number, "kind": "k"})
            writer.add(document)
            if number == 400:
                writer.commit()
        writer.delete("d3")
        writer.delete("d500")
    return folder


def everything(folder: Path) -> list[object]:
    """All that can be asked of an index."""
    index = Index.open(folder)
    found: list[object] = []
    for scoring in (Scoring(), Scoring(match="and"), Scoring(weights={"title": 1.0, "text": 2.0})):
        hits = index.search(QUERIES, 20, scoring)
        found += [hits.docnos.tolist(), hits.scores.tolist(), hits.offsets.tolist()]
    found += [index.documents.get(f"d{number}") for number in (0, 3, 450, 599)]
    found += [index.columns["year"].numbers.tolist(), index.columns["kind"].codes.tolist()]
    found += [index.holding_phrase("title 7").tolist(), index.info()]
    return found


def flipped(data: bytes, generator: random.Random) -> bytes:
    place = generator.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << generator.randrange(8))]) + data[place + 1 :]


def cut(data: bytes, generator: random.Random) -> bytes:
    return data[: generator.randrange(len(data))]


def replaced(data: bytes, generator: random.Random) -> bytes:
    return generator.randbytes(len(data))


@pytest.mark.parametrize("damage", [flipped, cut, replaced])
@pytest.mark.parametrize("with_kernels", [False, True])
def test_damage_gives_an_error_or_the_same_results(original, tmp_path, damage, with_kernels, monkeypatch) -> None:
    if not with_kernels:
        monkeypatch.setattr("rankwell.index.search.is_loaded", lambda: False)
    else:
        monkeypatch.setattr("rankwell.index.search.WORTH_LOADING", 0)
    expected = everything(original)
    expected[-1] = None  # the path
    generator, errors = random.Random(damage.__name__), 0
    files = [file for file in original.iterdir() if file.name != "write.lock"]
    assert {file.suffix for file in files} == {"", ".segment", ".dead"}
    for turn in range(80):
        copy = tmp_path / f"copy{turn}"
        shutil.copytree(original, copy)
        file = copy / files[turn % len(files)].name
        data = file.read_bytes()
        file.unlink()
        file.write_bytes(damage(data, generator))
        try:
            found = everything(copy)
        except RankwellError as error:
            assert str(copy) in str(error)  # noqa: PT017 -- either outcome is right
            errors += 1
        else:
            found[-1] = None
            assert found == expected
        with contextlib.suppress(RankwellError):
            Index.open(copy).verify()
            pytest.fail("damage that verify does not see")
        shutil.rmtree(copy)
    assert errors


def test_a_newer_version_is_named(original, tmp_path) -> None:
    folder = tmp_path / "newer"
    shutil.copytree(original, folder)
    manifest = (folder / "manifest").read_bytes()
    (folder / "manifest").write_bytes(manifest.replace(b"rankwell-index 1 ", b"rankwell-index 2 ", 1))
    with pytest.raises(RankwellError, match=r"newer Rankwell \(format 2, this one reads 1\)"):
        Index.open(folder)
    (folder / "manifest").write_bytes(manifest)
    segment = next(folder.glob("*.segment"))
    data = segment.read_bytes()
    segment.write_bytes(HEADER.pack(MAGIC, b"segment", 9) + data[HEADER.size :])
    with pytest.raises(RankwellError, match=r"newer Rankwell \(format 9"):
        Index.open(folder)


def test_an_index_of_older_terms_is_to_be_built_anew(tmp_path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankwell.analysis.analyzer.VERSION", 1)
        with IndexWriter(tmp_path / "old") as writer:
            writer.add(Document("d", {"text": "0.5 mg"}))
    for opened in (Index.open, IndexWriter, lambda path: IndexWriter(path, Analyzer())):
        with pytest.raises(RankwellError, match=r"old: analyzer version: expected 2, found 1: build the index anew$"):
            opened(tmp_path / "old")


def test_a_missing_file_is_named(original, tmp_path) -> None:
    folder = tmp_path / "missing"
    shutil.copytree(original, folder)
    segment = next(folder.glob("*.segment"))
    segment.unlink()
    with pytest.raises(RankwellError, match=f"{segment.name}: cannot be read: No such file"):
        Index.open(folder)


def test_a_file_of_another_index_is_noticed(original, tmp_path) -> None:
    folder, other = tmp_path / "swapped", tmp_path / "other"
    shutil.copytree(original, folder)
    with IndexWriter(other) as writer:
        writer.add(Document("d", {"text": "x"}))
    shutil.copy(next(other.glob("*.segment")), next(folder.glob("*.segment")))
    with pytest.raises(RankwellError, match="damaged"):
        Index.open(folder)


WRITER = """
import sys
from rankwell import Document
from rankwell.index import Index, IndexWriter
folder = sys.argv[1]
with IndexWriter(folder) as writer:
    writer.commit()
    index = Index.open(folder)
    count = int(index.documents["count"].text()) if "count" in index.documents else 0
    print(count, flush=True)
    while True:
        count += 1
        writer.add(Document("count", {"text": str(count)}))
        for part in range(5):
            writer.add(Document(f"d{count}-{part}", {"text": f"common w{count} " + "filler " * 50}))
        for part in range(5):
            writer.delete(f"d{count - 40}-{part}")
        if count % 6 == 0:
            writer.merge()
        else:
            writer.commit()
        print(count, flush=True)
"""


def expected_ids(count: int) -> set[str]:
    alive = range(max(1, count - 39), count + 1)
    return {"count"} | {f"d{number}-{part}" for number in alive for part in range(5)} if count else set()


def kill_writers(folder: Path, times: int, seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(times):
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(generator.random() * 0.3)
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
        child.stdout.close()
        child.wait()
        index = Index.open(folder)
        index.verify()
        count = int(index.documents["count"].text()) if "count" in index.documents else 0
        assert set(index.documents) == expected_ids(count)
        assert len(index.search("common", 1000)[0]) == len(expected_ids(count)) - bool(count)
        if rest:
            assert count - int(rest[-1]) in (0, 1)


def test_a_killed_writer_leaves_the_last_commit(tmp_path) -> None:
    kill_writers(tmp_path / "index", 3, seed=os.getpid())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_forty_killed_writers_leave_the_last_commit(tmp_path, seed) -> None:
    kill_writers(tmp_path / "index", 20, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_two_hundred_killed_writers_leave_the_last_commit(tmp_path, seed) -> None:
    kill_writers(tmp_path / "index", 20, seed)


def test_the_header_is_what_the_documentation_says() -> None:
    assert HEADER.size == 64
    assert struct.calcsize("<QQQII8s") == 40
