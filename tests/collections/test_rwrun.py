"""Our own format of runs: what is written comes back, what is damaged is one line."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from collection_strategies import COLUMN_IDS, LONG_IDS, runs, same_bits
from hypothesis import given
from hypothesis import strategies as st

from commands import rankwell, succeeds
from rankwell.collections import read_run, write_run
from rankwell.collections.formats import rwrun
from rankwell.core import RankwellError, Run
from rankwell.core.text_column import TextColumn

SMALL = Run.from_dict({"q1": {"d1": 2.5, "d 2": 1.5}, "empty": {}, "q2": {"d1": 1.0}}, tag="my tag")


@given(runs(docnos=COLUMN_IDS | LONG_IDS))
def test_runs_come_back_to_the_last_bit(run: Run) -> None:
    with TemporaryDirectory() as folder:
        write_run(Path(folder) / "x.rwrun", run)
        assert same_bits(read_run(Path(folder) / "x.rwrun"), run)


def test_queries_without_documents_blanks_and_the_tag_come_back(tmp_path: Path) -> None:
    write_run(tmp_path / "x.rwrun", SMALL)
    run = read_run(tmp_path / "x.rwrun")
    assert (run, run.tag) == (SMALL, "my tag")


def test_only_the_ids_of_the_run_are_kept(tmp_path: Path) -> None:
    ids = TextColumn.of([b"document-%09d" % number for number in range(10_000)])
    docnos = TextColumn(ids.data, ids.starts, np.array([7, 3, 7]))
    write_run(tmp_path / "x.rwrun", Run.from_columns(["a", "b"], [0, 2, 3], docnos, [2.0, 1.0, 3.0]))
    assert (tmp_path / "x.rwrun").stat().st_size < 1000
    assert read_run(tmp_path / "x.rwrun")["b"].docnos.tolist() == ["document-000000007"]


@given(st.data())
def test_a_changed_byte_or_a_missing_end_is_told(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.rwrun"
        write_run(path, SMALL)
        whole = path.read_bytes()
        place = data.draw(st.integers(0, len(whole) - 1))
        path.write_bytes(whole[:place])
        with pytest.raises(RankwellError, match=r"x\.rwrun: "):
            read_run(path, "rwrun")
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert read_run(path, "rwrun") == SMALL  # a byte between two sections
        except RankwellError as error:
            assert "x.rwrun: " in str(error)  # noqa: PT017 -- both ends are good


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("offsets", 1, 99),
        ("offsets", 0, 1),
        ("scores", 0, float("nan")),
        ("rows", 0, 2),
        ("starts", 1, 0),
        ("starts", 2, 1000),
        ("ids", 0, 0),
        ("ids", 0, 0xFF),
        ("names", 0, ord("[")),
    ],
)
def test_a_file_that_lies_behind_good_checksums_is_refused(tmp_path: Path, name: str, place: int, value: float) -> None:
    ids = TextColumn.of([b"d1", b"d2"])
    docnos = TextColumn(ids.data, ids.starts, np.array([0, 1]))
    write_run(tmp_path / "x.rwrun", Run.from_columns(["a"], [0, 2], docnos, [2.0, 1.0]))
    data = bytearray((tmp_path / "x.rwrun").read_bytes())
    facts = list(rwrun.HEADER.unpack(data[: rwrun.HEADER.size]))
    number, start = list(rwrun.SECTIONS).index(name), len(rwrun._padded(bytes(rwrun.HEADER.size)))
    for size in facts[2 : 2 + 2 * number : 2]:
        start += size + -size % rwrun.ALIGNMENT
    section = np.frombuffer(data, rwrun.SECTIONS[name], offset=start, count=1 + place)
    section[place] = value
    size = facts[2 + 2 * number]
    facts[3 + 2 * number] = zlib.crc32(data[start : start + size])
    head = rwrun.HEADER.pack(*facts)[:-4]
    data[: rwrun.HEADER.size] = head + struct.pack("<I", zlib.crc32(head))
    (tmp_path / "x.rwrun").write_bytes(data)
    with pytest.raises(RankwellError, match=r"x\.rwrun: damaged: "):
        read_run(tmp_path / "x.rwrun")


def test_a_newer_file_asks_for_an_update(tmp_path: Path) -> None:
    write_run(tmp_path / "x.rwrun", SMALL)
    data = bytearray((tmp_path / "x.rwrun").read_bytes())
    data[8] = 2
    (tmp_path / "x.rwrun").write_bytes(data)
    with pytest.raises(RankwellError, match=r"newer Rankwell \(format 2"):
        read_run(tmp_path / "x.rwrun")


def test_commands_hand_it_to_each_other(tmp_path: Path) -> None:
    run, own, back = tmp_path / "run.trec", tmp_path / "run.rwrun", tmp_path / "back.trec"
    write_run(run, Run.from_dict({"q1": {"d1": 2.5, "d2": 1.5}}, tag="t"))
    (tmp_path / "qrels").write_text("q1 0 d2 1\n")
    succeeds("convert", run, own)
    succeeds("convert", own, back)
    assert back.read_bytes() == run.read_bytes()
    succeeds("fuse", own, run, "-o", tmp_path / "fused.rwrun", "--quiet")
    assert "0.5000" in succeeds("evaluate", tmp_path / "qrels", tmp_path / "fused.rwrun", "-m", "RR")
    own.write_bytes(own.read_bytes()[:-1])
    done = rankwell("evaluate", tmp_path / "qrels", own)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "run.rwrun: damaged: expected" in done.stderr
