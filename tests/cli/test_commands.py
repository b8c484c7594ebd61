"""The commands as users type them: what they print, what they leave behind, and how they fail."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import rankwell
from rankwell.collections import open_collection, read_qrels

PAPERS = """id,title,abstract,year
p1,Masks and droplets,"Masks stop large droplets, and some small ones.",2020
p2,Hand washing,Soap destroys the envelope of the virus.,2021
p3,Opening windows,,2021
"""
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n"
FIRST = "q1 Q0 d2 1 2.0 first\nq1 Q0 d1 2 1.0 first\nq2 Q0 d3 1 1.0 first\n"
SECOND = "q1 Q0 d1 1 2.0 second\nq1 Q0 d9 2 1.0 second\nq2 Q0 d3 1 1.0 second\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "papers.csv": PAPERS,
        "qrels.txt": QRELS,
        "first.trec": FIRST,
        "second.trec": SECOND,
        "empty.trec": "",
    }.items():
        Path(name).write_text(content)
    return tmp_path


def test_stats_describes_a_users_table_and_draws_it() -> None:
    done = rankwell("stats", "papers.csv", "--pictures", "pictures", "--html", "page.html", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "abstract          2   66.7" in done.stdout
    assert {"fields.png", "years.png"} <= {file.name for file in Path("pictures").iterdir()}
    assert Path("page.html").read_text().startswith("<!DOCTYPE html>")


def test_stats_as_json_is_json() -> None:
    found = json.loads(rankwell("stats", "papers.csv", "--output", "json", "--quiet").stdout)
    assert found["documents"] == 3


def test_convert_and_back_again_keeps_documents() -> None:
    assert rankwell("convert", "papers.csv", "papers.jsonl").returncode == 0
    assert rankwell("convert", "papers.jsonl", "again.csv").returncode == 0
    assert list(open_collection("again.csv").documents()) == list(open_collection("papers.csv").documents())


def test_convert_tells_what_a_file_holds_by_its_content() -> None:
    assert "3 judgments of 2 queries" in rankwell("convert", "qrels.txt", "qrels.tsv").stderr
    assert "a run of 2 queries" in rankwell("convert", "first.trec", "first.tsv", "--to", "msmarco").stderr
    assert read_qrels("qrels.tsv").to_dict() == read_qrels("qrels.txt").to_dict()


def test_convert_cuts_sub_collections() -> None:
    done = rankwell("convert", "rankwell:python", "parts", "--sample", "a:10:300", "--sample", "b:5:200", "--seed", "3")
    assert done.returncode == 0, done.stderr
    parts = [open_collection(Path("parts") / name) for name in ("a", "b")]
    ids = [{document.id for document in part.documents()} for part in parts]
    assert [len(part) for part in ids] == [300, 200]
    assert not ids[0] & ids[1]
    assert json.loads(Path("parts/a/sample.json").read_text())["seed"] == 3


def test_skip_bad_lists_what_was_left_out() -> None:
    Path("broken.jsonl").write_text(
        '{"id": "a", "text": "one two three four five"}\n{"id": \n{"id": "b", "text": "six"}\n'
    )
    stopped = rankwell("stats", "broken.jsonl", "--quiet")
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("rankwell: broken.jsonl:2: expected a JSON object")
    assert len(stopped.stderr.splitlines()) == 1
    going_on = rankwell("stats", "broken.jsonl", "--quiet", "--skip-bad")
    assert going_on.returncode == 0
    assert "broken.jsonl:2" in going_on.stderr
    assert "left out 1 bad record" in going_on.stderr


def test_evaluate_prints_means_and_what_to_be_careful_about() -> None:
    done = rankwell("evaluate", "qrels.txt", "first.trec", "second.trec", "-m", "RR@10", "-m", "P_1")
    assert done.returncode == 0, done.stderr
    assert "first   0.7500  0.5000" in done.stdout
    assert "second  1.0000  1.0000" in done.stdout
    assert "second 33%" in done.stderr


def test_judgments_may_be_those_of_a_collection() -> None:
    (Path("papers") / "qrels").mkdir(parents=True)
    (Path("papers") / "corpus.jsonl").write_text('{"_id": "d1", "text": "masks"}\n')
    (Path("papers") / "queries.jsonl").write_text('{"_id": "q1", "text": "masks"}\n')
    (Path("papers") / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    done = rankwell("evaluate", "papers", "first.trec", "-m", "RR@10")
    assert done.returncode == 0, done.stderr
    assert "first  0.5000" in done.stdout


def test_compare_writes_a_page_and_a_study() -> None:
    done = rankwell(
        *("compare", "qrels.txt", "first.trec", "second.trec", "-m", "nDCG@10"),
        *("--html", "page.html", "--assess-unjudged", "study.toml"),
    )
    assert done.returncode == 0, done.stderr
    assert "Compared with first" in done.stdout
    assert '"q1" = ["d9"]' in Path("study.toml").read_text()
    assert "second against first" in Path("page.html").read_text()


def test_the_page_of_compare_has_each_query_with_texts_from_a_collection_or_an_index() -> None:
    Path("texts.jsonl").write_text('{"id": "d1", "text": "Masks stop droplets."}\n{"id": "d9", "text": "A bicycle."}\n')
    Path("queries.tsv").write_text("q1\tdo masks help\nq2\tsoap\n")
    Path("groups.txt").write_text("q1 clothes\nq2 cleaning\n")
    assert rankwell("index", "texts.jsonl", "--out", "texts", "--quiet").returncode == 0
    given = ("--queries", "queries.tsv", "--groups", "groups.txt", "-m", "nDCG@10")
    for source in ("texts.jsonl", "texts"):
        done = rankwell(
            *("compare", "qrels.txt", "first.trec", "second.trec", *given),
            *("--collection", source, "--html", "page.html", "--quiet"),
        )
        assert done.returncode == 0, done.stderr
        page = Path("page.html").read_text()
        assert '["","Masks"," stop droplets."]' in page
        assert "do masks help" in page
        assert "clothes" in page
    wrong = rankwell("compare", "qrels.txt", "first.trec", "second.trec", "--groups", "no.txt", "--html", "page.html")
    assert wrong.stderr.splitlines()[-1] == "rankwell: no.txt: cannot be read: No such file or directory"


@pytest.mark.parametrize("test", ["t", "randomization", "bootstrap", "wilcoxon"])
def test_compare_takes_every_test(test: str) -> None:
    done = rankwell("compare", "qrels.txt", "first.trec", "second.trec", "--test", test, "--output", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("measure,run,mean")


def test_compare_takes_all_pairs_and_intervals_of_another_kind() -> None:
    Path("third.trec").write_text("q1 Q0 d2 1 2.0 r\nq2 Q0 d3 1 1.0 r\n")
    runs = ("first.trec", "second.trec", "third.trec")
    done = rankwell(
        "compare", "qrels.txt", *runs, "--all-pairs", "--interval", "bca", "-m", "RR@10", "--output", "json"
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["against"], row["run"]) for row in rows] == [
        ("first", "second"),
        ("first", "third"),
        ("second", "third"),
    ]
    assert all(0 <= row["Tukey p"] <= 1 for row in rows)
    wrong = rankwell("compare", "qrels.txt", *runs, "--interval", "z")
    assert "interval: expected bca or bootstrap or t" in wrong.stderr


def test_compare_writes_the_judgments_that_would_turn_the_verdict() -> None:
    Path("few.txt").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n")
    Path("known.trec").write_text("q1 Q0 d1 1 2.0 a\nq2 Q0 d3 1 1.0 a\n")
    Path("new.trec").write_text("q1 Q0 d2 1 2.0 b\nq1 Q0 d1 2 1.0 b\nq2 Q0 d3 1 1.0 b\n")
    words = ("compare", "few.txt", "known.trec", "new.trec", "-m", "P@2", "--assess-verdict", "verdict.toml")
    assert "not written, because there is nothing to judge that could turn" in rankwell(*words).stderr
    Path("new.trec").write_text("q1 Q0 u1 1 2.0 b\nq1 Q0 u2 2 1.0 b\nq2 Q0 d3 1 1.0 b\n")
    done = rankwell(*words)
    assert done.returncode == 0, done.stderr
    assert "-0.2500 could be -0.2500 to +0.2500; 2 judgments could turn its sign" in done.stderr
    assert '"q1" = ["u1", "u2"]' in Path("verdict.toml").read_text()


def test_sweep_follows_the_depth() -> None:
    Path("reranked.trec").write_text("q1 Q0 d1 1 2.0 r\nq1 Q0 d2 2 1.0 r\nq2 Q0 d3 1 1.0 r\n")
    done = rankwell(
        "sweep", "qrels.txt", "first.trec", "reranked.trec", "--depths", "1,2", "-m", "RR@10", "--output", "csv"
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.reader(done.stdout.splitlines()))
    assert [(row[1], float(row[2])) for row in rows[1:] if row] == [("", 0.75), ("1", 0.75), ("2", 1.0)]


def test_sweep_follows_any_number() -> None:
    done = rankwell(
        "sweep",
        "qrels.txt",
        "first.trec",
        "1=first.trec",
        "2=second.trec",
        "--name",
        "k1",
        "-m",
        "RR@10",
        "--output",
        "json",
    )
    assert done.returncode == 0, done.stderr
    assert [row["k1"] for row in json.loads(done.stdout)] == [None, 1, 2]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["stats", "nowhere.csv"], "nowhere.csv: no such file or folder"),
        (["stats", "papers.csv", "--fields", "titel"], "expected a column 'titel', found id, title, abstract, year"),
        (["stats", "papers.csv", "--format", "cvs"], "did you mean csv?"),
        (["stats", "rankwell:ruby"], "expected rankwell:python"),
        (["convert", "papers.csv", "papers.docx"], "cannot tell from this name how to write documents"),
        (["convert", "papers.csv", "out", "--kind", "poem"], "--kind: expected one of"),
        (["convert", "papers.csv", "out", "--sample", "train"], "expected NAME:QUERIES:DOCUMENTS"),
        (["evaluate", "qrels.txt", "papers.csv"], "papers.csv: cannot tell the format of these runs"),
        (["evaluate", "qrels.txt", "first.trec", "-m", "nDGC@10"], "nDCG"),
        (["evaluate", "qrels.txt", "first.trec", "--unjudged", "maybe"], "unjudged: expected zero or remove or bounds"),
        (["compare", "qrels.txt", "first.trec", "first.trec"], "expected different files"),
        (["compare", "qrels.txt", "first.trec", "second.trec", "--test", "z"], "test: expected t or"),
        (["sweep", "qrels.txt", "first.trec", "second.trec", "--depths", "a:b"], "--depths: expected"),
        (["sweep", "qrels.txt", "first.trec", "second.trec", "--depths", "50:10:10"], "--depths: expected"),
        (["sweep", "qrels.txt", "first.trec", "1=first.trec", "1=second.trec"], "expected one run at each number"),
        (["sweep", "qrels.txt", "first.trec", "nan=second.trec"], "expected one re-ranked run, or NUMBER=RUN"),
        (["sweep", "qrels.txt", "first.trec", "1=second.trec", "-m", "AUC"], "measure: expected a mean over queries"),
        (["evaluate", "qrels.txt", "empty.trec"], "run 'empty': expected a query in common with the judgments"),
        (["stats", "papers.csv", "--split", "test"], "papers.csv: expected judgments, found none"),
        (["models", "add", "no-such-model"], "expected one of minilm-l6"),
    ],
)  # fmt: skip
def test_a_users_mistake_is_one_line_and_exit_code_1(words: list[str], expected: str) -> None:
    done = rankwell(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("rankwell: ")


def test_bad_usage_is_exit_code_2() -> None:
    assert rankwell("stats").returncode == 2
    assert rankwell("no-such-command").returncode == 2


def test_version_and_help() -> None:
    assert rankwell("--version").stdout.startswith("rankwell 0.")
    assert "compare" in rankwell("--help").stdout


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m rankwell stats rankwell:python --quiet | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Collection\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_line_and_exit_code_1() -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-m", "rankwell", "evaluate", "qrels.txt", "first.trec"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "rankwell: output: No space left on device"
    assert "Traceback" not in done.stderr


def test_a_run_from_a_pipe_is_one_clear_line() -> None:
    words = [sys.executable, "-m", "rankwell", "evaluate", "qrels.txt", "/dev/stdin"]
    done = subprocess.run(words, input=FIRST, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "rankwell: /dev/stdin: cannot be read twice, as a pipe: write it to a file first\n"


@pytest.mark.parametrize("output", ["csv", "json"])
def test_tables_for_programs_have_no_empty_line_at_their_end(output: str) -> None:
    for words in (["evaluate", "qrels.txt", "first.trec"], ["compare", "qrels.txt", "first.trec", "second.trec"]):
        printed = rankwell(*words, "--output", output).stdout
        assert printed.endswith("\n")
        assert not printed.endswith("\n\n")


def test_bounds_are_shown_wherever_they_are_asked_for() -> None:
    asked = ["--unjudged", "bounds", "-m", "P@2", "--output", "json"]
    for words in (["evaluate", "qrels.txt", "second.trec"], ["compare", "qrels.txt", "first.trec", "second.trec"]):
        row = json.loads(rankwell(*words, *asked).stdout)[-1]
        assert (row["worst case"], row["best case"]) == (0.5, 0.75)
    rows = json.loads(rankwell("evaluate", "qrels.txt", "second.trec", *asked, "--per-query").stdout)
    assert [(row["query"], row["worst case"], row["best case"]) for row in rows] == [("q1", 0.5, 1.0), ("q2", 0.5, 0.5)]


def test_what_was_done_with_unjudged_documents_is_in_the_title() -> None:
    for words in (["evaluate", "qrels.txt", "second.trec"], ["compare", "qrels.txt", "first.trec", "second.trec"]):
        assert "unjudged documents removed" in rankwell(*words, "--unjudged", "remove").stdout.splitlines()[0]


def test_ctrl_c_is_exit_code_3_and_leaves_nothing_behind(folder: Path) -> None:
    with Path("large.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": str(n), "text": "some words of a text " * 20}) + "\n" for n in range(60_000))
    job = subprocess.Popen(
        [sys.executable, "-m", "rankwell", "convert", "large.jsonl", "out.csv"], stderr=subprocess.PIPE, text=True
    )
    while not list(folder.glob(".out.csv.*.part")):
        time.sleep(0.01)
        assert job.poll() is None
    os.kill(job.pid, signal.SIGINT)
    _, said = job.communicate(timeout=30)
    assert job.returncode == 3, said
    assert "interrupted" in said
    assert not list(folder.glob("*out.csv*"))
