from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from rankwell import Document
from rankwell.apps.search.judgments import JudgmentsFile, query_id
from rankwell.cli import app
from rankwell.collections import read_qrels, read_queries, write_qrels, write_queries
from rankwell.core import FormatError, ParameterError, RankwellError
from rankwell.index import IndexWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "thumbs.jsonl"


def test_what_was_kept_is_there_when_the_file_is_opened_again(path: Path) -> None:
    first = JudgmentsFile(path)
    first.add("fever in children", "d1", 1, who="anna")
    first.add("fever in children", "d2", 0, who="anna")
    first.close()
    again = JudgmentsFile(path)
    assert again.qrels().to_dict() == {query_id("fever in children"): {"d1": 1, "d2": 0}}
    assert again.queries().texts() == {query_id("fever in children"): "fever in children"}
    assert orjson.loads(path.read_bytes().splitlines()[0])["who"] == "anna"
    again.close()


def test_the_last_word_wins_and_can_be_taken_back(path: Path) -> None:
    kept = JudgmentsFile(path)
    kept.add("fever", "d1", 1)
    kept.add("fever", "d1", 0)
    assert kept.grade("fever", "d1") == 0
    assert kept.grades("fever") == {"d1": 0}
    kept.add("fever", "d1", None)
    assert kept.grade("fever", "d1") is None
    assert len(kept) == 0
    assert not kept.queries()
    kept.close()
    assert len(path.read_bytes().splitlines()) == 3  # nothing is ever changed in the file
    again = JudgmentsFile(path)
    assert len(again) == 0
    again.close()


@pytest.mark.parametrize(
    "other", ["FEVER  in\tChildren ", "fever\u00a0in children", "ﬁver in children".replace("ﬁ", "fe")]
)
def test_case_and_blanks_make_no_other_query(other: str) -> None:
    assert query_id(other) == query_id("fever in children")


def test_the_id_of_a_query_never_changes() -> None:
    assert query_id("fever in children") == "q6298476bdf76"


def test_grades_of_several_people_are_kept_side_by_side(path: Path) -> None:
    kept = JudgmentsFile(path)
    for who, grade in (("ann", 1), ("bob", 0), ("carl", 0)):
        kept.add("fever", "d1", grade, who=who)
    kept.add("fever", "d2", 3, who="ann")
    kept.add("fever", "d2", 4, who="bob")
    kept.add("Fever", "d1", None, who="dora")  # hers was never there
    kept.close()
    again = JudgmentsFile(path)
    assert [again.grade("fever", "d1", who=who) for who in ("ann", "bob", "carl", "dora")] == [1, 0, 0, None]
    assert again.grades("fever", who="ann") == {"d1": 1, "d2": 3}
    assert again.qrels().to_dict() == {query_id("fever"): {"d1": 0, "d2": 4}}  # the median, rounded up
    assert len(again) == 5
    again.close()


def test_files_of_older_versions_are_read_and_added_to(path: Path) -> None:
    old = [
        {"time": "2026-01-01T00:00:00+00:00", "qid": query_id("fever"), "query": "fever", "docno": "d1", "grade": 1},
        {"time": "2026-01-02T00:00:00+00:00", "qid": query_id("fever"), "query": "fever", "docno": "d1", "grade": 0},
        {"query": "fever", "docno": "d2", "grade": 1, "who": "loader"},
    ]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in old))
    kept = JudgmentsFile(path)
    assert kept.qrels().to_dict() == {query_id("fever"): {"d1": 0, "d2": 1}}
    kept.add("fever", "d1", 2, who="ann")
    assert [(row.docno, row.assessor, row.grade) for row in kept.by_person().rows()] == [
        ("d1", "ann", 2),
        ("d1", "unknown", 0),
        ("d2", "loader", 1),
    ]
    kept.close()


def test_agreement_is_measured_on_the_grades_of_several_people(path: Path, tmp_path: Path) -> None:
    kept = JudgmentsFile(path)
    for number in range(6):
        kept.add("fever", f"d{number}", number % 2, who="ann")
        kept.add("fever", f"d{number}", number % 3 % 2, who="bob")
    (tmp_path / "grades.tsv").write_bytes(kept.content("grades"))
    kept.close()
    done = CliRunner().invoke(app, ["assess", "agreement", str(tmp_path / "grades.tsv")])
    assert done.exit_code == 0, done.output
    assert "bob" in done.output


def test_half_a_line_of_a_crash_is_dropped_and_the_next_one_is_whole(path: Path) -> None:
    kept = JudgmentsFile(path)
    kept.add("fever", "d1", 1)
    kept.close()
    with path.open("ab") as file:
        file.write(b'{"query": "fever", "docno": "d2", "gra')
    again = JudgmentsFile(path)
    again.add("fever", "d3", 1)
    again.close()
    last = JudgmentsFile(path)
    assert last.grades("fever") == {"d1": 1, "d3": 1}
    last.close()


def test_a_line_that_is_no_judgment_is_named(path: Path) -> None:
    path.write_text('{"query": "fever", "docno": "d1", "grade": 1}\n{"query": "fever"}\n')
    with pytest.raises(FormatError, match=r"thumbs\.jsonl:2: expected a judgment"):
        JudgmentsFile(path)


@pytest.mark.parametrize(
    ("query", "docno", "grade"),
    [
        ("", "d1", 1),
        ("  ", "d1", 1),
        ("fever", "", 1),
        ("fever", "a\nb", 1),
        ("fever", "x" * 513, 1),
        ("x" * 10_001, "d1", 1),
        ("fever", "d1", 101),
        ("fever", "d1", True),
        ("fever", "d1", 1.0),
        ("fever", "d1", "1"),
        ("half \ud800", "d1", 1),
        (None, "d1", 1),
    ],
)
def test_what_is_no_judgment_is_refused_and_leaves_no_trace(path: Path, query, docno, grade) -> None:
    kept = JudgmentsFile(path)
    with pytest.raises(ParameterError):
        kept.add(query, docno, grade)
    kept.close()
    assert path.read_bytes() == b""


def test_two_servers_do_not_share_a_file(path: Path) -> None:
    first = JudgmentsFile(path)
    with pytest.raises(RankwellError, match="another server adds judgments"):
        JudgmentsFile(path)
    first.close()
    JudgmentsFile(path).close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RankwellError, match=r"cannot keep judgments here: .*--no-judgments"):
        JudgmentsFile(tmp_path)  # a folder, not a file


def test_many_threads_lose_nothing(path: Path) -> None:
    kept = JudgmentsFile(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: kept.add(f"query {number % 7}", f"d{number}", number % 2), range(200)))
    kept.close()
    again = JudgmentsFile(path)
    assert again.qrels().count == 200
    again.close()


def test_a_full_disk_is_told_and_the_file_stays_whole(path: Path) -> None:
    program = f"""
import resource, signal
from rankwell.core import RankwellError
from rankwell.apps.search.judgments import JudgmentsFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kept = JudgmentsFile({str(path)!r})
kept.add("fever", "d1", 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (kept._size + 20, resource.RLIM_INFINITY))
try:
    kept.add("fever", "d2", 1)
except RankwellError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept.add("fever", "d3", 1)
print(kept.grades("fever"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "not kept: File too large: make room there" in done.stdout
    assert "{'d1': 1, 'd3': 1}" in done.stdout
    again = JudgmentsFile(path)
    assert again.grades("fever") == {"d1": 1, "d3": 1}
    again.close()


@pytest.mark.slow
def test_a_kill_loses_no_judgment_that_was_acknowledged(path: Path) -> None:
    program = f"""
from rankwell.apps.search.judgments import JudgmentsFile
kept = JudgmentsFile({str(path)!r})
for number in range(100_000):
    kept.add("fever", f"{{len(kept)}}", 1)
    print(len(kept), flush=True)
"""
    told = 0
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(50):
            told = int(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split(b"\n")[:-1]
        process.wait()
        process.stdout.close()
        told = int(rest[-1]) if rest else told
        kept = JudgmentsFile(path)
        assert len(kept) >= told
        kept.close()


def test_evaluate_reads_the_judgments_of_a_search_with_its_queries(path: Path, tmp_path: Path) -> None:
    kept = JudgmentsFile(path)
    kept.add("zinc against a cold", "d1", 1)
    kept.add("warm fever", "d2", 1)
    kept.add("warm fever", "d1", 0)
    write_qrels(tmp_path / "qrels.txt", kept.qrels())
    write_qrels(tmp_path / "qrels.tsv", kept.qrels())
    write_queries(tmp_path / "queries.jsonl", kept.queries())
    assert read_queries(tmp_path / "queries.jsonl").texts() == kept.queries().texts()
    with IndexWriter(tmp_path / "index") as writer:
        writer.add_all([Document("d1", {"text": "zinc helps"}), Document("d2", {"text": "a warm fever"})])
    index, queries, run = (str(tmp_path / name) for name in ("index", "queries.jsonl", "run.txt"))
    assert CliRunner().invoke(app, ["rank", index, queries, "-o", run]).exit_code == 0
    for name in ("qrels.txt", "qrels.tsv"):
        assert read_qrels(tmp_path / name).to_dict() == kept.qrels().to_dict()
        done = CliRunner().invoke(app, ["evaluate", str(tmp_path / name), run, "-m", "RR@10"])
        assert done.exit_code == 0, done.output
        assert "1.000" in done.output
    kept.close()
