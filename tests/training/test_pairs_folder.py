"""Folders of pairs: written in constant memory, whole or not there, split without a leak."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankwell.core import FormatError, ParameterError, RankwellError
from rankwell.models.learning.pairs import Pair, Pairs, open_pairs
from rankwell.models.learning.pairs_writer import ROW_GROUP, PairsWriter
from rankwell.models.learning.validation import pair_measures


def pair(query: int, document: int, label: float = 1.0) -> Pair:
    return Pair(f"q{query}", f"d{document}", f"query {query}", f"text of document {document}", label)


def written(folder: Path, pairs: Iterable[Pair], **how: object) -> Pairs:
    with PairsWriter(folder, made={"from": "a test"}, **how) as writer:  # type: ignore[arg-type]
        for one in pairs:
            writer.add(one)
    return writer.open()


def some(folder: Path, queries: int = 20, each: int = 5) -> Pairs:
    return written(
        folder, (pair(q, (7 * q + d) % 40, float(d == 0)) for q in range(queries) for d in range(each)), seed=1
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    given = [pair(1, 1), pair(1, 2, 0.25), Pair("q2", "d\u2028", "ünïcode \U0001f600", 'quotes " and\nlines', 0.0)]
    found = written(tmp_path / "pairs", given)
    assert list(found.rows()) == [one._replace(group=group) for one, group in zip(given, (0, 0, 1), strict=True)]
    assert found.column("label") == [1.0, 0.25, 0.0]
    assert found.table(["query_id", "label"]).column_names == ["query_id", "label"]


def test_the_record_says_how_they_were_made_and_what_there_is(tmp_path: Path) -> None:
    record = orjson.loads((some(tmp_path / "pairs").folder / "pairs.json").read_bytes())
    assert record["counts"] == {"pairs": 100, "queries": 20, "documents": 40, "positive": 20, "negative": 80}
    assert (record["made"], record["seed"]) == ({"from": "a test"}, 1)


def test_the_sample_shows_both_kinds_to_people(tmp_path: Path) -> None:
    sample = (some(tmp_path / "pairs").folder / "sample.txt").read_text()
    assert sample.startswith("20 of 100 pairs, drawn at random.")
    assert sample.count("label 1 ") == sample.count("label 0 ") == 10
    assert "document: text of document" in sample


def test_more_pairs_than_a_row_group_come_back_in_order(tmp_path: Path) -> None:
    count = ROW_GROUP + 10
    found = written(tmp_path / "pairs", (pair(number, number) for number in range(count)))
    assert len(found) == count
    assert found.column("query_id") == [f"q{number}" for number in range(count)]


def test_further_columns_are_kept(tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}, extra={"year": "int64"}) as writer:
        writer.add(pair(1, 1), year=1999)
    found = writer.open()
    assert found.columns[-1] == "year"
    assert found.column("year") == [1999]


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    one, same = some(tmp_path / "one"), some(tmp_path / "same")
    other = written(tmp_path / "other", [*one.rows()][:-1])
    assert one.fingerprint == same.fingerprint != other.fingerprint
    one.verify()


def test_parts_have_fingerprints_of_their_own(tmp_path: Path) -> None:
    found = some(tmp_path / "pairs")
    parts = [found, *found.split(0.2, 1), *found.split(0.2, 2), found.limit(30), found.take([1, 2]), found.take([1, 3])]
    assert len({part.fingerprint for part in parts}) == len(parts)
    assert found.split(0.2, 1)[0].fingerprint == open_pairs(found.folder).split(0.2, 1)[0].fingerprint


def test_a_changed_table_is_refused(tmp_path: Path) -> None:
    found, other = some(tmp_path / "pairs"), some(tmp_path / "other", queries=19)
    (other.folder / "pairs.parquet").replace(found.folder / "pairs.parquet")
    with pytest.raises(FormatError, match=r"pairs.parquet: expected 100 rows of query_id, .* found 95"):
        open_pairs(found.folder)


def test_changed_words_are_found_by_verify(tmp_path: Path) -> None:
    found = written(tmp_path / "pairs", [pair(1, 1)])
    other = written(tmp_path / "other", [pair(1, 2)])
    (other.folder / "pairs.parquet").replace(found.folder / "pairs.parquet")
    with pytest.raises(FormatError, match="expected pairs with the fingerprint"):
        open_pairs(found.folder).verify()


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    found = some(tmp_path / "pairs")
    (found.folder / "pairs.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FormatError, match="expected a Parquet file, found one that cannot be read"):
        open_pairs(found.folder)


def test_what_is_no_folder_of_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"expected a folder of pairs with a file pairs\.json, found nothing"):
        open_pairs(tmp_path / "nothing")
    (tmp_path / "pairs.json").write_text('{"format": "another"}')
    with pytest.raises(FormatError, match='expected "format": "rankwell pairs"'):
        open_pairs(tmp_path)


def test_a_folder_around_pairs_names_them(tmp_path: Path) -> None:
    some(tmp_path / "both" / "train")
    with pytest.raises(RankwellError, match="found train in it: name one of these"):
        open_pairs(tmp_path / "both")


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterable[Pair]:
        yield pair(1, 1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        written(tmp_path / "pairs", broken())
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    program = """
import random, resource, signal, sys
from rankwell.core import RankwellError
from rankwell.models.learning.pairs import Pair
from rankwell.models.learning.pairs_writer import PairsWriter
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing more is an error then, as on a full disk
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with PairsWriter(sys.argv[1], made={}) as writer:
        for number in range(20_000):
            writer.add(Pair(str(number), "d", random.randbytes(20).hex(), "document", 1.0))
except RankwellError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "pairs")], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{tmp_path / 'pairs'}: not written: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_no_pairs_are_an_error_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected pairs to write, found none"):
        written(tmp_path / "pairs", [])
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected Unicode text, found other for query 'q' and document 'd'"):
        written(tmp_path / "pairs", [Pair("q", "d", "\ud800", "text", 1.0)])


def test_a_label_that_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected a finite label, found nan for query 'q1' and document 'd1'"):
        written(tmp_path / "pairs", [pair(1, 1, float("nan"))])


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    (tmp_path / "pairs" / "thesis.txt").write_text("years of work")
    with pytest.raises(RankwellError, match=r"expected an empty folder or none, found 'thesis\.txt' in it"):
        some(tmp_path / "pairs")
    assert [file.name for file in (tmp_path / "pairs").iterdir()] == ["thesis.txt"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    assert len(some(tmp_path / "pairs")) == 100


@pytest.mark.slow
def test_a_kill_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    program = """
import sys
from rankwell.models.learning.pairs import Pair
from rankwell.models.learning.pairs_writer import PairsWriter
with PairsWriter(sys.argv[1], made={}) as writer:
    for number in range(10**9):
        writer.add(Pair(str(number), "d", "query", "document", 1.0))
        if number == 20_000:
            print("under way", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "pairs")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "under way\n"
        os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(RankwellError, match="found nothing"):
        open_pairs(tmp_path / "pairs")
    assert len(some(tmp_path / "pairs")) == 100


@given(st.integers(0, 1000), st.floats(0.01, 0.99))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_is_on_both_sides(tmp_path: Path, seed: int, share: float) -> None:
    found = open_pairs(tmp_path / "pairs") if (tmp_path / "pairs").exists() else some(tmp_path / "pairs")
    training, validation = found.split(share, seed)
    assert not set(training.column("query_id")) & set(validation.column("query_id"))
    assert sorted([*training.rows(), *validation.rows()]) == sorted(found.rows())
    assert len(set(validation.column("query_id"))) == min(max(round(share * 20), 1), 19)


@given(st.integers(0, 1000))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_document_is_on_both_sides_when_asked(tmp_path: Path, seed: int) -> None:
    found = open_pairs(tmp_path / "pairs") if (tmp_path / "pairs").exists() else some(tmp_path / "pairs")
    training, validation = found.split(0.1, seed, by="document")
    for name in ("query_id", "document_id"):
        assert not set(training.column(name)) & set(validation.column(name))
    assert validation.column("query_id") == found.split(0.1, seed)[1].column("query_id")


def test_the_leaking_split_is_there_by_name_only(tmp_path: Path) -> None:
    found = some(tmp_path / "pairs")
    training, validation = found.split(0.2, 0, by="pair")
    assert (len(training), len(validation)) == (80, 20)
    assert set(training.column("query_id")) & set(validation.column("query_id"))
    with pytest.raises(ParameterError, match="expected query or document or pair, found"):
        found.split(0.2, by="anything")


def test_pairs_made_within_folds_are_split_by_folds(tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}, extra={"fold": "int64"}) as writer:
        for number in range(40):
            writer.add(Pair(f"d{number}", f"d{(number + 10) % 40}", "title", "abstract", 1.0), fold=number % 10)
    training, validation = writer.open().split(0.3, 0)
    assert len(set(validation.column("fold"))) == 3
    ids = [{*side.column("query_id"), *side.column("document_id")} for side in (training, validation)]
    assert not ids[0] & ids[1]


def test_every_pair_is_in_one_validation_fold(tmp_path: Path) -> None:
    found = some(tmp_path / "pairs")
    folds = found.folds(3, seed=4)
    assert sorted(row for _, validation in folds for row in validation.rows()) == sorted(found.rows())
    assert all(not set(a.column("query_id")) & set(b.column("query_id")) for a, b in folds)


def test_parts_can_be_split_again(tmp_path: Path) -> None:
    rest, test = some(tmp_path / "pairs").split(0.2, 0)
    training, validation = rest.split(0.25, 0)
    assert [len(part) for part in (training, validation, test)] == [60, 20, 20]
    rows = [set(part.rows()) for part in (training, validation, test)]
    assert len(set.union(*rows)) == 100
    assert validation.table().num_rows == len(validation.labels()) == 20


def test_a_limit_keeps_whole_queries(tmp_path: Path) -> None:
    found = some(tmp_path / "pairs").limit(33, seed=2)
    assert len(found) == 30
    assert all(found.column("query_id").count(qid) == 5 for qid in found.column("query_id"))


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5])
def test_a_share_that_leaves_a_side_empty_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(ParameterError, match="expected a share above 0 and below 1"):
        some(tmp_path / "pairs").split(share)


def test_one_query_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match="expected at least 2 queries"):
        written(tmp_path / "pairs", [pair(1, 1), pair(1, 2)]).split()


def test_measures_take_the_best_passage_of_a_document(tmp_path: Path) -> None:
    found = written(tmp_path / "pairs", [pair(1, 1, 0), pair(1, 2, 1), pair(1, 2, 1), pair(1, 3, 0)])
    assert pair_measures(found, [0.5, 0.1, 0.9, 0.2], ["RR"]) == {"RR": 1.0}
    assert pair_measures(found, [0.5, 0.1, 0.3, 0.2], ["RR"]) == {"RR": 0.5}
