"""A file that somebody uploads is read beside the server, within limits."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rankwell.collections.tagged import write_ris
from rankwell.core import RankwellError
from rankwell.core.limited import unpack
from rankwell.reviews import Reference
from rankwell.reviews.screening.files import read_records
from rankwell.reviews.screening.uploads import read_upload

RECORD = b"TY  - JOUR\nTI  - Paper\nAB  - x\nER  - \n"


@pytest.mark.slow
def test_what_comes_back_is_what_was_read(tmp_path: Path) -> None:
    made = [
        Reference(
            title=f"Paper {n}", authors=("Doe J", "Roe R"), year=2000 + n, keywords=("a",), more=(("N1", "note"),)
        )
        for n in range(3)
    ]
    write_ris(tmp_path / "a.ris", made)
    (tmp_path / "a.ris.gz").write_bytes(gzip.compress((tmp_path / "a.ris").read_bytes()))
    assert read_upload(tmp_path / "a.ris") == read_upload(tmp_path / "a.ris.gz") == read_records(tmp_path / "a.ris")


@pytest.mark.slow
def test_progress_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes(RECORD * 1700)
    told: list[int] = []
    assert len(read_upload(tmp_path / "a.ris", told.append)) == 1700
    assert told == [500, 1000, 1500]


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes(b"\x00\x01 nothing")
    with pytest.raises(RankwellError, match=r"a\.ris") as told:
        read_upload(tmp_path / "a.ris")
    assert "\n" not in str(told.value)


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ris.gz").write_bytes(gzip.compress(RECORD * 100_000))
    with pytest.raises(RankwellError, match=r"a\.ris\.gz: expected at most 2 MB when unpacked, found more"):
        unpack(tmp_path / "a.ris.gz", 3_000_000)
    assert (tmp_path / "unpacked.ris").stat().st_size <= 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(gzip.compress(RECORD)), id="packed twice"),
        pytest.param(gzip.compress(RECORD)[:-9], id="cut off"),
        pytest.param(b"\x1f\x8bnothing", id="no gzip"),
    ],
)
def test_odd_packing_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.ris.gz").write_bytes(content)
    with pytest.raises(RankwellError, match=r"a\.ris\.gz: expected a (whole gzip file|file that is packed once)"):
        read_upload(tmp_path / "a.ris.gz")


@pytest.mark.slow
def test_two_hundred_megabytes_in_one_are_refused_and_the_server_stays_small(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.ris.gz", "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(RECORD * 100_000)
    with pytest.raises(RankwellError, match="expected at most 128 MB when unpacked"):
        read_upload(tmp_path / "a.ris.gz")


@pytest.mark.slow
def test_a_file_that_needs_too_much_memory_ends_its_own_process(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes(b"TY  - JOUR\n" + b"KW  - a\n" * 8_000_000 + b"ER  - \n")
    with pytest.raises(RankwellError, match=r"expected a file that is read in .*1,024 MB, found a larger one"):
        read_upload(tmp_path / "a.ris")
