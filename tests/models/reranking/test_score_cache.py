from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from overlap_scorer import Overlap, a_run

from rankwell.core import RankwellError, home
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.scores import ScoreCache, clear_scores, kept_bytes, key

PAIR, OTHER = ("fever", "a document"), ("fever", "another")
RUN = a_run({"a": "x", "b": "fever cough", "c": "fever"})


def test_what_was_kept_is_there_again_to_the_last_bit(tmp_path: Path) -> None:
    score = 1 / 3
    with ScoreCache("model", tmp_path) as cache:
        cache.add({PAIR: score})
    with ScoreCache("model", tmp_path) as cache:
        assert cache.get([PAIR, OTHER]) == {PAIR: score}


def test_another_scorer_has_scores_of_its_own(tmp_path: Path) -> None:
    with ScoreCache("one", tmp_path) as cache:
        cache.add({PAIR: 1.0})
    with ScoreCache("two", tmp_path) as cache:
        assert cache.get([PAIR]) == {}


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_different_pairs_have_different_names(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (key(one) == key(other)) == (one == other)


def test_where_the_query_ends_is_part_of_a_name() -> None:
    assert key(("ab", "c")) != key(("a", "bc"))
    assert key(("\ud800", "half a character")) != key(("?", "half a character"))


def test_a_second_run_scores_nothing_and_is_the_same(scorer: Overlap) -> None:
    first, stage = CrossEncoder(scorer)(RUN), CrossEncoder(scorer)
    scorer.seen.clear()
    assert stage(RUN) == first == CrossEncoder(Overlap(), cache=False)(RUN)
    assert scorer.seen == []
    assert stage.tally.kept == 3
    assert "3 pairs (3 scored earlier)" in str(stage.tally)
    assert (home() / "scores" / f"{scorer.fingerprint()}.sqlite3").is_file()


def test_without_cache_nothing_is_kept(scorer: Overlap) -> None:
    CrossEncoder(scorer, cache=False)(RUN)
    assert not (home() / "scores" / f"{scorer.fingerprint()}.sqlite3").exists()


def test_scores_are_kept_in_the_folder_that_is_named(scorer: Overlap, tmp_path: Path) -> None:
    CrossEncoder(scorer, cache=tmp_path / "mine")(RUN)
    assert [file.stem for file in (tmp_path / "mine").iterdir()] == [scorer.fingerprint()]
    assert kept_bytes(tmp_path / "mine") > 0


def test_an_interrupted_run_goes_on_where_it_was(
    scorer: Overlap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwell.models.reranking.scores.CHUNK", 2)
    run, whole = a_run({f"d{place}": f"fever {place}" for place in range(9)}), Overlap.logits

    def interrupted(self: Overlap, pairs: list[tuple[str, str]], *others: object) -> object:
        if len(self.seen) >= 4:
            raise KeyboardInterrupt
        return whole(self, pairs, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(Overlap, "logits", interrupted)
    with pytest.raises(KeyboardInterrupt):
        CrossEncoder(scorer, cache=tmp_path)(run)
    monkeypatch.setattr(Overlap, "logits", whole)
    scorer.seen.clear()
    assert CrossEncoder(scorer, cache=tmp_path)(run) == CrossEncoder(Overlap(), cache=False)(run)
    assert len(scorer.seen) == 5


def test_a_file_that_is_something_else_is_refused_by_name(scorer: Overlap, tmp_path: Path) -> None:
    (tmp_path / f"{scorer.fingerprint()}.sqlite3").write_text("not a database, but long enough to be looked at" * 100)
    with pytest.raises(
        RankwellError, match=r"expected kept scores, found a damaged file \(file is not a database\): delete it"
    ):
        CrossEncoder(scorer, cache=tmp_path)(RUN)


def test_where_nothing_can_be_written_ranking_goes_on_and_it_is_said(
    scorer: Overlap, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert CrossEncoder(scorer, cache=tmp_path / "file" / "scores")(RUN)["1"].docnos.tolist() == ["b", "c", "a"]
    assert "no more scores are kept" in caplog.text


def test_a_full_file_keeps_what_it_has_and_ranking_goes_on(
    scorer: Overlap, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankwell.models.reranking.scores.LARGEST", "PRAGMA max_page_count = 6")
    run = a_run({f"d{place:04}": f"fever {place}" for place in range(900)})
    found = CrossEncoder(scorer, k=900, cache=tmp_path)(run)
    assert "no more scores are kept: database or disk is full" in caplog.text
    assert CrossEncoder(Overlap(), k=900, cache=False)(run) == found
    with ScoreCache(scorer.fingerprint(), tmp_path) as cache:
        assert 0 < len(cache.get([("fever cough", f"fever {place}") for place in range(900)])) < 900


def test_clearing_forgets_even_while_it_is_used(tmp_path: Path) -> None:
    with ScoreCache("model", tmp_path) as cache:
        cache.add({PAIR: 1.0})
        clear_scores(tmp_path)
        assert cache.get([PAIR]) == {}
        cache.add({PAIR: 2.0})
        assert cache.get([PAIR]) == {PAIR: 2.0}
    clear_scores(tmp_path / "nothing here")


def test_several_at_once_lose_nothing(tmp_path: Path) -> None:
    def work(number: int) -> None:
        with ScoreCache("model", tmp_path) as cache:
            for step in range(20):
                cache.add({(f"q{number}", str(step)): float(step), ("shared", str(step)): float(step)})
                assert cache.get([("shared", str(step))]) == {("shared", str(step)): float(step)}

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ScoreCache("model", tmp_path) as cache:
        wanted = [(f"q{number}", str(step)) for number in range(4) for step in range(20)]
        assert len(cache.get(wanted)) == 80


WRITER = """
import sys
from rankwell.models.reranking.scores import ScoreCache
with ScoreCache("model", sys.argv[1]) as cache:
    for step in range(100_000):
        cache.add({("query", f"{step} {place}"): float(step) for place in range(50)})
        print(step, flush=True)
"""


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    for kept in (1, 7, 20):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            last = next(int(line) for line in writer.stdout if int(line) >= kept)
            writer.kill()
        with ScoreCache("model", tmp_path) as cache:
            wanted = [("query", f"{step} {place}") for step in range(last + 1) for place in range(50)]
            assert len(cache.get(wanted)) == len(wanted)
        connection = sqlite3.connect(next(tmp_path.glob("*.sqlite3")))
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


def test_kept_scores_hold_no_text(scorer: Overlap, tmp_path: Path) -> None:
    CrossEncoder(scorer, cache=tmp_path)(a_run({"a": "a patient's confidential letter"}))
    file = next(tmp_path.iterdir())
    assert b"confidential" not in file.read_bytes()
    assert stat.S_ISREG(file.stat().st_mode)
