from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from collection_strategies import ANY_TEXT, COLUMN_IDS, LONG_IDS, ONE_LINE, runs, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwell.collections import read_run, write_run
from rankwell.core import Document, Queries, RankwellError, Run


@given(runs(docnos=COLUMN_IDS | LONG_IDS))
def test_trec_runs_come_back_to_the_last_bit(run: Run) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trec"
        write_run(path, run)
        assert same_bits(read_run(path, "trec"), run)


@pytest.mark.parametrize(
    "score", [3.4028235e38, -3.4028235e38, 1e-45, 1.17549435e-38, 0.1, 1 / 3, 16777217.0, 1e-7, 123456.789]
)
def test_odd_scores_come_back_to_the_last_bit(tmp_path: Path, score: float) -> None:
    run = Run.from_dict({"q": {"d": score}})
    write_run(tmp_path / "x.trec", run)
    assert same_bits(read_run(tmp_path / "x.trec"), run)


@given(st.integers(0, 2**32 - 1))
def test_every_32_bit_number_comes_back(bits: int) -> None:
    score = float(np.uint32(bits).view(np.float32))
    if not np.isfinite(score):
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trec"
        run = Run.from_dict({"q": {"d": score}})
        write_run(path, run)
        assert same_bits(read_run(path), run)


def test_a_run_is_written_as_trec_wants_it(tmp_path: Path) -> None:
    run = Run.from_dict({"301": {"d1": 1.0, "d2": 2.5}}, tag="my run")
    write_run(tmp_path / "x.trec", run)
    assert (tmp_path / "x.trec").read_text() == "301 Q0 d2 1 2.5 my_run\n301 Q0 d1 2 1.0 my_run\n"
    assert read_run(tmp_path / "x.trec").tag == "my_run"


def test_a_packed_run_is_a_run(tmp_path: Path) -> None:
    run = Run.from_dict({"301": {"d1": 1.0}})
    write_run(tmp_path / "x.run.gz", run)
    assert (tmp_path / "x.run.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert read_run(tmp_path / "x.run.gz") == run


@pytest.mark.parametrize("name", ["a\tb", "", "a\x00", "a\x1f"])
def test_ids_that_cannot_stand_in_a_column_are_refused(tmp_path: Path, name: str) -> None:
    for scores in ({"q": {name: 1.0}}, {name: {"d": 1.0}}):
        with pytest.raises(RankwellError, match="expected ids without control characters"):
            write_run(tmp_path / "x.trec", Run.from_dict(scores))
    assert list(tmp_path.iterdir()) == []


# MS MARCO's own runs hold ranks, not scores: the order comes back.
TABLE_IDS = ONE_LINE.filter(lambda text: text[0] != "\ufeff")


@given(runs(TABLE_IDS, TABLE_IDS))
def test_msmarco_runs_keep_the_order(run: Run) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.tsv"
        write_run(path, run)
        again = read_run(path, "msmarco")
    assert {qid: found.docnos.tolist() for qid, found in again.rankings()} == {
        qid: found.docnos.tolist() for qid, found in run.rankings()
    }


@given(runs(TABLE_IDS, TABLE_IDS), ONE_LINE, ONE_LINE)
def test_top1000_files_bring_order_queries_and_passages_back(run: Run, question: str, passage: str) -> None:
    documents = {docno: Document(docno, {"text": passage}) for docno in run.docnos.tolist()}
    full = Run(
        run.qids, run.offsets, run.docnos, run.scores, queries=Queries.of(dict.fromkeys(run, question)),
        documents=documents,
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        path = Path(folder) / "top1000.dev.tsv"
        write_run(path, full, "msmarco-top1000")
        again = read_run(path, "msmarco-top1000")
    assert again.queries is not None
    assert again.queries.texts() == dict.fromkeys(run, question)
    assert again.docnos.tolist() == run.docnos.tolist()


def test_runs_are_told_apart_by_content(tmp_path: Path) -> None:
    path = tmp_path / "unknown"
    for text, tag in (
        ("q\td\t1\n", "unknown"),
        ("q\tp\tsome query\tsome passage\n", "top1000"),  # six words, as a TREC run has
        ("q\tQ0\td\t1\t2.5\ttag\n", "tag"),
    ):
        path.write_text(text)
        assert read_run(path).tag == tag


def test_a_run_without_texts_cannot_be_written_with_them(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="this run has none, write it as trec or msmarco"):
        write_run(tmp_path / "top1000.tsv", Run.from_dict({"q": {"d": 1.0}}), "msmarco-top1000")


@pytest.mark.parametrize("scores", [{"q": {"a\tb": 1.0}}, {"q\n": {"d": 1.0}}, {"q": {"": 1.0}}])
def test_ids_with_tabs_cannot_stand_in_an_msmarco_run(tmp_path: Path, scores: dict[str, dict[str, float]]) -> None:
    with pytest.raises(RankwellError, match="expected ids without tabs and line breaks"):
        write_run(tmp_path / "x.tsv", Run.from_dict(scores))


@settings(max_examples=30)
@given(ANY_TEXT)
def test_any_tag_is_written_as_one_word_or_refused(tag: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.trec"
        try:
            write_run(path, Run.from_dict({"q": {"d": 1.0}}, tag=tag))
        except RankwellError:
            return
        assert read_run(path).tag == ("_".join(tag.split()) or "rankwell")


def test_writing_a_run_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        write_run(tmp_path / "x.trec", Run.from_dict({"q": {"d": 1.0}}))
    assert caplog.text == ""
