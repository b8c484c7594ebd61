"""The commands around an index, as users type them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import rankwell, succeeds
from rankwell.collections import read_run

PAPERS = """id,title,abstract,year,source
p1,Masks and droplets,"Masks stop large droplets, and some small ones.",2020,PMC
p2,Hand washing,Soap destroys the envelope of the virus.,2021,WHO
p3,Opening windows,Fresh air carries droplets away.,2022,PMC
"""


def ids(*words: str) -> list[str]:
    return [row["id"] for row in json.loads(succeeds("search", "index", *words, "--json"))]


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text(PAPERS)
    succeeds("index", "papers.csv", "--out", "index", "--positions", "--quiet")


def test_a_users_table_is_searched_with_filters_fields_and_expressions() -> None:
    assert ids("droplets") == ["p1", "p3"]
    assert ids("droplets", "--filter", "year>=2021 and source=PMC") == ["p3"]
    assert ids("droplets air", "--match", "and") == ["p3"]
    assert ids("droplets", "--weights", "title=1") == ["p1"]
    assert ids("--match", "expr:droplets AND NOT title:masks") == ["p3"]
    assert ids("--match", 'expr:"fresh air" OR soap') == ["p3", "p2"]
    assert ids("virus", "--match", "expr:source OR hand OR windows") == ["p2", "p3"]
    assert ids("droplets", "--rm3") == ["p1", "p3"]


def test_plain_words_are_never_parsed() -> None:
    assert ids('droplets AND "NOT (title:') == ["p1", "p3"]


def test_results_are_printed_with_marks_and_explained_term_by_term() -> None:
    printed = succeeds("search", "index", "large droplets", "--explain", "-k", "1")
    assert "[large] [droplets]" in printed
    row = json.loads(succeeds("search", "index", "large droplets", "--explain", "--json"))[0]
    assert sum(part["part"] for part in row["terms"]) == pytest.approx(row["score"], abs=1e-5)


def test_documents_are_added_replaced_read_and_deleted() -> None:
    Path("more.csv").write_text(
        "id,title,abstract,year,source\np1,Gloves,No word of it.,2023,PMC\np4,Droplets,Again.,2024,WHO\n"
    )
    succeeds("index", "more.csv", "--out", "index", "--append", "--quiet")
    assert ids("droplets") == ["p4", "p3"]
    assert json.loads(succeeds("get", "index", "p1"))["title"] == "Gloves"
    succeeds("delete", "index", "p4")
    assert ids("droplets") == ["p3"]
    succeeds("merge", "index")
    assert "3 documents: all is well" in succeeds("verify", "index")
    assert json.loads(succeeds("info", "index", "--json"))["documents"] == 3


def test_a_batch_of_queries_becomes_a_run_that_can_be_fused_and_tuned() -> None:
    Path("queries.tsv").write_text("q1\tdroplets\nq2\tsoap\nq3\tnothing of that\n")
    Path("qrels.txt").write_text("q1 0 p3 1\nq2 0 p2 1\n")
    succeeds("rank", "index", "queries.tsv", "-o", "run.trec", "--tag", "mine", "--quiet")
    run = read_run("run.trec")
    assert run.tag == "mine"
    assert [list(run[qid].docnos) for qid in ("q1", "q2")] == [["p1", "p3"], ["p2"]]
    succeeds("fuse", "run.trec", "run.trec", "-o", "fused.trec", "--weights", "0.5,0.5", "-k", "1", "--quiet")
    assert len(read_run("fused.trec")) == 2
    grid = ("--k1", "0.9", "--b", "0,1", "--weights", "title,abstract", "--steps", "1", "--folds", "2")
    printed = succeeds("tune", "index", "queries.tsv", "qrels.txt", *grid, "--quiet")
    assert "best on all queries: k1=0.9" in printed
    assert "options: --k1 0.9 --b " in printed
    lower = succeeds("tune", "index", "queries.tsv", "qrels.txt", *grid, "-m", "MFR@10", "--output", "csv", "--quiet")
    ranks = [float(line.split(",")[-2]) for line in lower.splitlines()[1:]]
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[-1]
    assert "without tuning: 0.8155; difference" in printed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["index", "papers.csv", "--out", "index"], "an index is here already"),
        (["index", "papers.csv", "--out", "new", "--analyzer", "klingon"], "language: expected one of"),
        (["search", "nowhere", "x"], "nowhere"),
        (["search", "papers.csv", "x"], "papers.csv"),
        (["search", "index", "x", "--weights", "titel=1"], "expected one of those in index"),
        (["search", "index", "x", "--weights", "title"], "--weights: expected fields with numbers"),
        (["search", "index", "x", "--match", "xor"], "match: expected or, and, ann:100, expr"),
        (["search", "index", "--match", "expr:a AND"], "expected"),
        (["search", "index", "x", "--filter", "yaer>1"], "yaer"),
        (["search", "index", "x", "--b", "2"], "b: expected a number from 0 to 1"),
        (["search", "index", "x", "-k", "0"], "k: expected a whole number from 1"),
        (["rank", "index", "papers.txt", "-o", "r"], "papers.txt"),
        (["get", "index", "p9"], "expected a document 'p9'"),
        (["delete", "index", "p1", "p9"], "none was deleted"),
        (["fuse", "papers.csv", "-o", "f"], "cannot tell the format of these runs"),
        (["tune", "index", "papers.csv", "papers.csv", "--dense"], "expected an option with several values"),
        (["search", "index", "x", "--vector-weight", "0.5"], "--vector-weight: expected --hybrid with it"),
        (["tune", "index", "papers.csv", "papers.csv", "--k1", "x"], "k1: expected a number"),
    ],
)  # fmt: skip
def test_a_users_mistake_is_one_line_and_exit_code_1(words: list[str], expected: str) -> None:
    done = rankwell(*words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_id_that_comes_twice_is_shown_with_both_lines() -> None:
    Path("twice.csv").write_text(PAPERS + "p1,Again,The same id.,2020,PMC\n")
    done = rankwell("index", "twice.csv", "--out", "twice", "--quiet")
    assert done.returncode == 1
    assert 'twice.csv:5: expected an id that was not there before, found "p1" again (first on line 2)' in done.stderr
    assert rankwell("search", "twice", "x").returncode == 1


def test_an_empty_query_finds_nothing_and_says_so() -> None:
    done = rankwell("search", "index", "the of and")
    assert done.returncode == 0
    assert "no terms" in done.stderr
    assert "nothing found" in done.stderr


def test_escape_codes_in_documents_do_not_reach_the_terminal() -> None:
    Path("hostile.jsonl").write_text(
        json.dumps({"id": "x", "title": "a\x1b[31mred", "text": "cat \x1b]0;owned\x07 here"}) + "\n"
    )
    succeeds("index", "hostile.jsonl", "--out", "hostile", "--quiet")
    printed = succeeds("search", "hostile", "cat")
    assert "\x1b" not in printed
    assert "\x07" not in printed


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", "", "none.csv:1: expected a header that names the columns, found an empty file"),
        ("none.csv", "id,title\n", "none.csv: expected documents, found none"),
        ("none.jsonl", "\n", "none.jsonl: expected documents, found none"),
    ],
)
@pytest.mark.parametrize("append", [[], ["--append"]])
def test_a_source_without_documents_is_a_mistake_and_changes_nothing(name, content, said, append) -> None:
    Path(name).write_text(content)
    done = rankwell("index", name, "--out", "index" if append else "new", *append)
    assert (done.returncode, done.stderr) == (1, f"rankwell: {said}\n")
    assert not Path("new").exists()
    assert ids("droplets") == ["p1", "p3"]


def test_bad_records_are_counted_where_nothing_else_was_found() -> None:
    Path("bad.jsonl").write_text("{]\n{]\n")
    done = rankwell("index", "bad.jsonl", "--out", "new", "--skip-bad", "--format", "jsonl")
    assert done.stderr == "rankwell: bad.jsonl: expected documents, found none (2 bad records left out)\n"


@pytest.mark.slow
@pytest.mark.parametrize("append", [[], ["--append"]])
def test_after_an_interruption_the_same_command_works(tmp_path: Path, append: list[str]) -> None:
    with Path("large.jsonl").open("w") as file:
        file.writelines(json.dumps({"id": str(n), "text": f"some words {n} " * 20}) + "\n" for n in range(60_000))
    folder = "index" if append else "new"
    command = [
        sys.executable,
        "-m",
        "rankwell",
        "index",
        "large.jsonl",
        "--out",
        folder,
        *append,
        "--quiet",
        "--fields",
        "text",
    ]
    before = set((tmp_path / folder).glob("*.segment"))
    job = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while set((tmp_path / folder).glob("*.segment")) == before:
        time.sleep(0.01)
        assert job.poll() is None
    job.send_signal(signal.SIGINT)
    _, said = job.communicate(timeout=30)
    assert job.returncode == 3, said
    assert "run the same command again" in said
    assert set((tmp_path / folder).glob("*.segment")) == before
    assert subprocess.run(command, check=False).returncode == 0
    assert json.loads(succeeds("info", folder, "--json"))["documents"] == (60_003 if append else 60_000)


def test_rank_refuses_the_id_of_a_query_that_no_run_can_have_before_it_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("queries.jsonl").write_text('{"_id": "q1", "text": "droplets"}\n{"_id": "q\\t2", "text": "air"}\n')
    monkeypatch.setattr("rankwell.pipelines.RankerOptions.ranker", lambda *_: pytest.fail("ranked"))
    done = rankwell("rank", "index", "queries.jsonl", "--out", "run.trec")
    rule = "a text of 1 to 512 bytes without control characters"
    assert (done.returncode, done.stderr.strip()) == (
        1,
        rf'rankwell: queries.jsonl:2: expected an id: {rule}, found "q\t2"',
    )


def test_ids_with_blanks_are_ranked_and_read_back() -> None:
    Path("files.csv").write_text("id,title\nSmith 2020.pdf,masks\na%20b,masks\n")
    succeeds("index", "files.csv", "--out", "files", "--quiet")
    Path("queries.jsonl").write_text('{"_id": "my query", "text": "masks"}\n')
    succeeds("rank", "files", "queries.jsonl", "--out", "run.trec", "--quiet")
    assert set(read_run("run.trec").to_dict()["my query"]) == {"Smith 2020.pdf", "a%20b"}
