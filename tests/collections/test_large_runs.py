"""Compiled loops write, read, sort and evaluate a large run exactly as Python does."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from collection_strategies import same_bits
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, read_run, write_run
from rankwell.collections.formats import trec_lines
from rankwell.core import FormatError, Judgments, RankwellError, Run, run_lines, strings
from rankwell.core.arrays import TEXT
from rankwell.core.run import ranking_order
from rankwell.core.text_column import TextColumn
from rankwell.evaluation import evaluate

DOCNOS = st.text("aZ9é%\U0001f600", min_size=1, max_size=3)
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9, 2.5, -3.0]) | st.floats(-(2.0**100), 2.0**100, width=32)
RUNS = st.dictionaries(st.text("qé", min_size=1, max_size=2), st.dictionaries(DOCNOS, SCORES, max_size=9), max_size=5)


@pytest.fixture(scope="module", autouse=True)
def _every_run_is_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_lines, "WORTH_LOADING", 0)
        patch.setattr(trec_lines, "WORTH_READING", 0)
        patch.setattr(run_lines, "AT_ONCE", 5)
        yield


def small(write: object, *given_to: object, **options: object) -> object:
    """What a function gives for a run that is too small for the loops."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_lines, "WORTH_LOADING", 1 << 60)
        patch.setattr(trec_lines, "WORTH_READING", 1 << 60)
        return write(*given_to, **options)  # type: ignore[operator]


@given(RUNS, st.integers(1, 3))
def test_the_same_bytes_are_written_and_the_same_run_is_read(scores: dict[str, dict[str, float]], threads: int) -> None:
    run = Run.from_dict(scores, tag="t")
    with TemporaryDirectory() as folder:
        path, other = Path(folder) / "run", Path(folder) / "other"
        write_run(path, run, "trec", threads=threads)
        small(write_run, other, run, "trec")
        assert path.read_bytes() == other.read_bytes()
        found = read_run(path, "trec", reading=Reading(threads=threads))
        assert same_bits(found, Run.from_dict({qid: of_query for qid, of_query in scores.items() if of_query}))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_scores_have_the_fewest_digits_that_read_back_the_same(values: list[float]) -> None:
    scores = np.array(values, dtype=np.float32) + np.float32(0)
    run = Run(("q",), np.array([0, len(scores)]), strings(["d"] * len(scores)), scores)
    written = [bytes(block) for block in trec_lines.formatted(run, "Q0", "t", 1) or ()]
    cells = [line.split()[4].decode() for line in b"".join(written).splitlines()]
    assert np.array_equal(np.array(cells).astype(np.float32), scores)
    assert [len(cell) for cell in cells] == [len(cell) for cell in scores.astype(TEXT).tolist()]


@given(RUNS)
def test_ties_are_settled_alike(scores: dict[str, dict[str, float]]) -> None:
    offsets = np.cumsum([0, *map(len, scores.values())])
    docnos = [docno for of_query in scores.values() for docno in of_query]
    values = np.array([score for of_query in scores.values() for score in of_query.values()], dtype=np.float32) + 0
    column = TextColumn.of([docno.encode() for docno in docnos])
    order, expected = ranking_order(offsets, column, values), ranking_order(offsets, strings(docnos), values)
    rows = np.arange(len(docnos))
    assert (rows if order is None else order).tolist() == (rows if expected is None else expected).tolist()


def test_a_run_that_is_written_or_evaluated_never_becomes_strings(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("".join(f"q Q0 d{number} 1 {9 - number % 3} t\n" for number in range(9)))
    run = read_run(tmp_path / "run", "trec")
    write_run(tmp_path / "again", run, "trec")
    assert evaluate(Judgments([("q", "d3", 1)]), run, ["RR"]).mean("RR") == 1 / 2
    assert isinstance(run.docnos, TextColumn)
    assert "strings" not in vars(run.docnos)


@given(RUNS, st.dictionaries(st.text("qé", min_size=1, max_size=2), st.dictionaries(DOCNOS, st.integers(0, 2))))
def test_measures_are_the_same(scores: dict[str, dict[str, float]], grades: dict[str, dict[str, int]]) -> None:
    rows = [(qid, docno, grade) for qid, of_query in grades.items() for docno, grade in of_query.items()]
    plain = Run.from_dict(scores)
    large = Run(plain.qids, plain.offsets, TextColumn.of([d.encode() for d in plain.docnos.tolist()]), plain.scores)  # type: ignore[arg-type]
    judgments = Judgments(rows)
    if not set(judgments) & set(plain.qids):
        return
    ours, theirs = (evaluate(judgments, run, ["nDCG@3", "AP", "RR", "Judged@5"]) for run in (large, plain))
    assert [ours.array(measure).tolist() for measure in ours.measures] == [
        theirs.array(measure).tolist() for measure in theirs.measures
    ]


LINES = b"1 Q0 a 1 3.5 t\n2 Q0 a 1 1e-3 t\n1 Q0 b 2 12.345678901234567 t\n"


@pytest.mark.parametrize(
    "odd",
    [
        b"# a comment\n",
        b"1  Q0 c 1 1.0 t\n",
        b"1 Q0 c 1 1.0 t \n",
        b"1 Q0% c%20d 1 1.0 t\n",
        b"1 Q0 c 1 123456789012345678901 t\n",
        "1 Q0 é 1 1.0 t\n".encode(),
        "1 Q0 crème-brûlée 1 1.0 t\n".encode("latin-1"),
        b"\r\n",
        b"3 Q0 a 1 .5 t\n1 Q0 c 1 1 t",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_odd_lines_are_read_as_in_a_small_file(tmp_path: Path, odd: bytes, packed: bool) -> None:
    for text in (LINES + odd, odd + LINES if odd.endswith(b"\n") else odd):
        (tmp_path / "run").write_bytes(gzip.compress(text) if packed else text)
        assert read_run(tmp_path / "run", "trec") == small(read_run, tmp_path / "run", "trec")


@pytest.mark.parametrize(
    "bad", [b"1 Q0 c 1 t\n", b"1 Q0 c 1 nan t\n", b"1 Q0 c 1 one t\n", b"1 Q0 a 7 1.0 t\n", b"1 Q0 c 1 1e99 t\n"]
)
def test_bad_lines_are_reported_as_in_a_small_file(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "run").write_bytes(LINES + bad + LINES.replace(b"Q0 ", b"Q0 x"))
    with pytest.raises(FormatError) as ours:
        read_run(tmp_path / "run", "trec")
    with pytest.raises(FormatError) as theirs:
        small(read_run, tmp_path / "run", "trec")
    assert str(ours.value) == str(theirs.value)
    one, other = (Reading(problems=Problems(skip=True)) for _ in range(2))
    assert read_run(tmp_path / "run", "trec", reading=one) == small(read_run, tmp_path / "run", "trec", reading=other)
    assert [str(problem) for problem in one.problems.found] == [str(problem) for problem in other.problems.found]


def test_ids_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="ids without control characters"):
        write_run(tmp_path / "run", Run.from_dict({"q": {"a\tb": 1.0}}), "trec")
    assert not (tmp_path / "run").exists()
