"""The parser that reads a run in blocks, against one that reads it line by line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from collection_strategies import COLUMN_IDS, LONG_IDS, same_bits
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, read_run
from rankwell.collections.formats import trec_run
from rankwell.core import FormatError, Run


def naive(text: bytes) -> Run:
    scores: dict[str, dict[str, float]] = {}
    for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        parts = line.split()
        if parts and not parts[0].startswith(b"#"):
            scores.setdefault(parts[0].decode(), {})[parts[2].decode()] = float(parts[4])
    return Run.from_dict(scores)


SPACES = st.sampled_from([b" ", b"\t", b"  ", b" \t "])
ENDINGS = st.sampled_from([b"\n", b"\r\n", b" \n", b"\n\n", b"\n# a comment with six words here\n", b"\n \t\n"])
# Python's own spelling of a number, and others that people's programs write.
SPELLINGS: list[Callable[[float], str]] = [repr, "{:.6f}".format, "{:e}".format, "{:+.3E}".format]


@st.composite
def run_files(draw: st.DrawFn) -> bytes:
    """A well-formed run as somebody's program may write it, its queries in any order."""
    pairs = st.tuples(st.sampled_from(["1", "2", "query-ü", "q" * 30]), COLUMN_IDS | LONG_IDS)
    tidy = draw(st.booleans())
    lines = []
    for qid, docno in draw(st.lists(pairs, unique=True, max_size=12)):
        score = draw(st.sampled_from(SPELLINGS))(draw(st.floats(-(2.0**100), 2.0**100, width=32)))
        columns = [qid, "Q0", docno, str(draw(st.integers(0, 99))), score, "tag"]
        separator, ending = (b" ", b"\n") if tidy else (draw(SPACES), draw(ENDINGS))
        lines.append(separator.join(column.encode() for column in columns) + ending)
    text = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + b"".join(lines)
    return text if draw(st.booleans()) else text.removesuffix(b"\n")


@given(run_files(), st.sampled_from([1, 7, 64, 1000, 1 << 22]), st.booleans())
def test_blocks_give_the_run_that_lines_give(text: bytes, block: int, packed: bool) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec_run, "BLOCK", block)
        path = Path(folder) / "run"
        path.write_bytes(gzip.compress(text) if packed else text)
        assert same_bits(read_run(path, "trec"), naive(text))


@given(
    st.lists(
        st.sampled_from(
            [b"1 Q0 a 1 2.5 t", b"1 Q0 b 1 2.5 t", b"2 Q0 a 1 1 t", b"1 Q0 a 1", b"1 Q0 c 1 nan t", b"\xff Q0 a 1 1 t"]
        ),
        max_size=12,
    ),
    st.sampled_from([1, 40, 1 << 22]),
)
def test_bad_lines_are_all_found_whatever_the_block(lines: list[bytes], block: int) -> None:
    bad = {3, 4, 5}
    order = [b"1 Q0 a 1 2.5 t", b"1 Q0 b 1 2.5 t", b"2 Q0 a 1 1 t", b"1 Q0 a 1", b"1 Q0 c 1 nan t", b"\xff Q0 a 1 1 t"]
    seen, expected = set[bytes](), []
    for number, line in enumerate(lines, 1):
        if order.index(line) in bad or line in seen:
            expected.append(number)
        seen.add(line)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(trec_run, "BLOCK", block)
        path = Path(folder) / "run"
        path.write_bytes(b"\n".join(lines))
        reading = Reading(problems=Problems(skip=True))
        run = read_run(path, "trec", reading=reading)
    assert sorted(problem.line or 0 for problem in reading.problems.found) == expected
    assert len(run) == len(lines) - len(expected)


LINE = "1 Q0 {docno} 1 {score} tag\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1 Q0 d 1 2.5", 'expected 6 columns (qid Q0 docno rank score tag), found 5: "1 Q0 d 1 2.5"'),
        ("1 Q0 d d 1 2.5 t", 'expected 6 columns (qid Q0 docno rank score tag), found 7: "1 Q0 d d 1 2.5 t"'),
        ("1 Q0 d 1 nan t", 'expected a finite score, found "1 Q0 d 1 nan t"'),
        ("1 Q0 d 1 -inf t", 'expected a finite score, found "1 Q0 d 1 -inf t"'),
        ("1 Q0 d 1 1e39 t", 'expected a finite score, found "1 Q0 d 1 1e39 t"'),
        ("1 Q0 d 1 high t", 'expected a number as the score, not "high", found "1 Q0 d 1 high t"'),
        ("1 Q0 d\x00x 1 2 t", 'expected ids without control characters, found "1 Q0 d\\x00x 1 2 t"'),
        ("1 Q0 d\x1fx 1 2 t", 'expected ids without control characters, found "1 Q0 d\\x1fx 1 2 t"'),
        ("1 Q0 a 9 1.0 t", 'expected each document once for query "1", found "a" a second time'),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_bad_line_is_shown_with_its_number(tmp_path: Path, line: str, expected: str, ending: str) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(f"# a comment\n1 Q0 a 1 3.5 t\n\n2 Q0 a 1 3.5 t\n{line}{ending}1 Q0 z 3 1 t\n".encode())
    with pytest.raises(FormatError) as caught:
        read_run(path)
    assert str(caught.value) == f"{path}:5: {expected}"
    reading = Reading(problems=Problems(skip=True))
    assert read_run(path, reading=reading).to_dict() == {"1": {"a": 3.5, "z": 1.0}, "2": {"a": 3.5}}
    assert [str(problem) for problem in reading.problems.found] == [f"{path}:5: {expected}"]


@pytest.mark.parametrize("column", [0, 2, 5])
def test_bytes_that_are_not_utf8_are_found_in_every_column(tmp_path: Path, column: int) -> None:
    parts = [b"1", b"Q0", b"d", b"1", b"2.5", b"t"]
    parts[column] = b"\xff"
    (tmp_path / "x.run").write_bytes(b"1 Q0 a 1 1 t\n" + b" ".join(parts) + b"\n")
    with pytest.raises(FormatError, match=r"x\.run:2: expected UTF-8 text"):
        read_run(tmp_path / "x.run")


def test_one_giant_id_does_not_make_every_id_giant(tmp_path: Path) -> None:
    giant = "g" * 100_000
    rows = [f"1 Q0 d{number} 1 {number} t\n" for number in range(20_000)]
    (tmp_path / "x.run").write_text("".join(rows) + LINE.format(docno=giant, score=-1))
    run = read_run(tmp_path / "x.run")  # as fixed-width columns this would be 2 GB, or 8 of wide characters
    assert len(run) == 20_001
    assert run["1"].docnos.tolist()[-1] == giant


def test_what_stands_after_the_tag_is_passed_over_as_trec_eval_does(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("1 Q0 a 1 1 t and more\n1 Q0 b 2 2 t\n")
    run = read_run(tmp_path / "x.run")
    assert run.to_dict() == {"1": {"b": 2.0, "a": 1.0}}
    assert run.tag == "t"


def test_the_order_of_lines_and_the_rank_column_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n1 Q0 b 7 2 t\n2 Q0 b 1 1 t\n")
    assert read_run(tmp_path / "x.run").to_dict() == {"1": {"b": 2.0, "a": 1.0}, "2": {"b": 1.0, "a": 1.0}}


def test_scores_are_rounded_to_32_bits_before_they_are_compared(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("1 Q0 a 1 1.00000001 t\n1 Q0 b 2 1.0 t\n")
    assert read_run(tmp_path / "x.run")["1"].docnos.tolist() == ["b", "a"]


def test_equal_hashes_alone_are_no_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trec_run, "_hashed", lambda column: np.zeros(len(column), dtype=np.uint64))
    (tmp_path / "x.run").write_text("1 Q0 a 1 1 t\n1 Q0 b 2 1.0 t\n2 Q0 a 1 1 t\n")
    assert len(read_run(tmp_path / "x.run")) == 3


def test_a_run_of_comments_is_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_text("# nothing\n\n")
    assert list(read_run(tmp_path / "x.run", "trec")) == []


def test_a_first_line_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.trec").write_text("301 Q0 FBIS3-10082 1 12.4\n")
    with pytest.raises(FormatError) as caught:
        read_run(tmp_path / "x.trec")
    expected = 'expected 6 columns (qid Q0 docno rank score tag), found 5: "301 Q0 FBIS3-10082 1 12.4"'
    assert str(caught.value) == f"{tmp_path / 'x.trec'}:1: {expected}"


def test_a_run_is_read_in_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_bytes("q\u00e4 Q0 d\u00a01 1 2.5 t\u00fc\nq\u00e4 Q0  d2 2 1.5 t\n".encode("latin-1"))
    run = read_run(tmp_path / "x.run", reading=Reading("latin-1"))
    assert run.to_dict() == {"q\u00e4": {"d\u00a01": 2.5, "d2": 1.5}}
    assert run.tag == "t\u00fc"
    with pytest.raises(FormatError, match=r"x\.run:1: expected UTF-8 text \(for another encoding use --encoding\)"):
        read_run(tmp_path / "x.run", reading=Reading("utf-8"))
    assert read_run(tmp_path / "x.run").to_dict() == run.to_dict()  # told from the file


def test_a_line_that_is_not_in_the_encoding_is_left_out_and_told(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_bytes(b"q Q0 d1 1 3 t\nq Q0 d\x81 2 2 t\nq Q0 d\xe4 3 1 t\n")
    reading = Reading("cp1252", Problems(skip=True))
    assert read_run(tmp_path / "x.run", reading=reading).to_dict() == {"q": {"d1": 3.0, "d\u00e4": 1.0}}
    said = "expected CP1252 text, found byte 0x81 at column 7; for another encoding use --encoding"
    assert [str(problem) for problem in reading.problems.found] == [f"{tmp_path / 'x.run'}:2: {said}"]


def test_a_document_twice_is_told_in_any_encoding(tmp_path: Path) -> None:
    (tmp_path / "x.run").write_bytes(b"q Q0 d\xe4 1 3 t\nq Q0 d\xe4 2 2 t\n")
    with pytest.raises(FormatError, match=r'x\.run:2: expected each document once .* found "d\u00e4" a second time'):
        read_run(tmp_path / "x.run", reading=Reading("latin-1"))
