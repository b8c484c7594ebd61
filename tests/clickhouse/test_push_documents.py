"""Filling ClickHouse straight from documents: as if they had been indexed and the index pushed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filling import SETTINGS, documents
from typer.testing import CliRunner

from clickhouse_servers import Cluster
from rankwell import Document
from rankwell.analysis import Analyzer
from rankwell.cli import app
from rankwell.clickhouse import parse_address, push, push_documents
from rankwell.clickhouse.engine import Tables, open_engine
from rankwell.clickhouse.values import sql
from rankwell.core import ParameterError, RankwellError
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25

FILLING = Path(__file__).with_name("filling.py")
QUERIES = {"1": "fever and cough", "2": "mice cell gene trial", "3": "blood"}


def index_of(folder: Path, given: list[Document]) -> Index:
    with IndexWriter(folder, metadata=["source", "year"], positions=True) as writer:
        writer.add_all(given)
    return Index.open(folder)


def agree(index: Index, address: str) -> None:
    there = open_index(address)
    assert len(there) == len(index)
    assert set(there.fields) == set(index.fields)
    assert there.average_lengths == index.average_lengths
    for options in (
        {},
        {"weights": {"title": 2.0, "text": 0.5}},
        {"match": 'expr:"fever cough" OR title:"blood virus" OR NOT cell'},
        {"filter": "year>=2003 and source=A"},
    ):
        first, second = BM25(index, **options)(QUERIES), BM25(there, **options)(QUERIES)
        assert first.docnos.tolist() == second.docnos.tolist(), options
        assert first.scores.tolist() == pytest.approx(second.scores.tolist(), abs=1e-5)


def rows(address: str, table: str) -> int:
    parsed = parse_address(address)
    own = Tables(parsed.database)[table]
    return int(open_engine(parsed).ask(sql("SELECT count() AS n FROM {own}", own=own))["n"][0])


def test_the_result_is_that_of_an_index_and_a_second_push_sends_what_has_changed(tmp_path: Path, chdb: str) -> None:
    done = push_documents(documents(120), chdb, load=50, **SETTINGS)
    assert (done.added, done.deleted, done.commit, done.documents) == (120, 0, 1, 120)
    index = index_of(tmp_path, documents(120))
    agree(index, chdb)
    again = push_documents(iter(documents(120)), chdb, load=70, **SETTINGS)
    assert (again.added, again.deleted, again.commit) == (0, 0, 1)
    assert push(index, chdb).added == 0  # documents are known by their content, wherever they come from
    changed = [*documents(100), Document("new", {"body": "fever", "text": "heart"}, {"year": 2001})]
    done = push_documents(changed, chdb, load=50, **SETTINGS)
    assert (done.added, done.deleted, done.documents) == (1, 20, 101)
    agree(index_of(tmp_path / "changed", changed), chdb)


def test_dead_rows_are_purged_and_nobody_sees_a_difference(tmp_path: Path, chdb: str) -> None:
    push_documents(documents(60), chdb, **SETTINGS)
    before = {table: rows(chdb, table) for table in ("documents", "stored", "postings")}
    push_documents(documents(40), chdb, **SETTINGS)
    assert {table: rows(chdb, table) for table in before} == before
    index = index_of(tmp_path, documents(40))
    done = push(index, chdb, purge=True)
    assert done.purged == 20
    assert rows(chdb, "documents") == rows(chdb, "stored") == 40
    assert rows(chdb, "postings") < before["postings"]
    agree(index, chdb)
    assert open_index(chdb).info()["deleted"] == 0
    assert push(index, chdb, purge=True).commit == done.commit  # nothing is left to do


@pytest.mark.slow
def test_loads_that_broke_off_are_purged_too(tmp_path: Path, chdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from rankwell.clickhouse.transport import EmbeddedEngine

    original = EmbeddedEngine.insert

    def failing(self: EmbeddedEngine, table: object, columns: dict[str, object]) -> None:
        original(self, table, columns)  # type: ignore[arg-type]  # as it comes
        if "`stored`" in str(table):
            raise RankwellError("the connection broke")

    monkeypatch.setattr(EmbeddedEngine, "insert", failing)
    with pytest.raises(RankwellError, match="broke"):
        push_documents(documents(30), chdb, **SETTINGS)
    monkeypatch.undo()
    assert rows(chdb, "documents") == 90  # sent three times, and never seen
    push_documents(documents(30), chdb, purge=True, **SETTINGS)
    assert rows(chdb, "documents") == rows(chdb, "stored") == 30
    agree(index_of(tmp_path, documents(30)), chdb)


def test_fields_keep_the_numbers_that_a_dead_push_gave_them(
    tmp_path: Path, chdb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first push met `title` before `text`, the second one the other way round."""
    from rankwell.clickhouse.writing import Writer

    given = [
        Document("a", {"title": "fever"}, {"source": "A"}),
        Document("b", {"text": "cough fever", "title": "blood"}, {"source": "A", "year": 2004}),
    ]
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "commit", lambda *_: exec("raise KeyboardInterrupt"))  # noqa: S102 -- at that moment
        with pytest.raises(KeyboardInterrupt):
            push_documents(given, chdb, **SETTINGS)
    assert push_documents(given[::-1], chdb, **SETTINGS).added == 0
    agree(index_of(tmp_path, given), chdb)


def test_an_id_that_comes_twice_and_odd_settings_are_refused(chdb: str) -> None:
    twice = [Document("a", {"text": "fever"}), Document("a", {"text": "cough"})]
    with pytest.raises(RankwellError, match="an id of its own for each, found 'a' twice"):
        push_documents(twice, chdb, **SETTINGS)
    with pytest.raises(ParameterError, match="document id: expected a text of 1 to 512 bytes without control"):
        push_documents([Document("a\nb", {"text": "fever"})], chdb, **SETTINGS)
    with pytest.raises(RankwellError, match="an id of its own for each of 2 documents, found 1 ids"):
        push_documents(twice, chdb, load=1, **SETTINGS)
    with pytest.raises(ParameterError, match="workers"):
        push_documents([], chdb, workers=0)
    with pytest.raises(ParameterError, match="load"):
        push_documents([], chdb, load=0)
    push_documents(documents(3), chdb, **SETTINGS)
    for settings, what in (({"analyzer": Analyzer(stemmer=False)}, "analyzer"), ({"positions": False}, "positions")):
        with pytest.raises(RankwellError, match=f"another {what}"):
            push_documents(documents(3), chdb, **{**SETTINGS, **settings})


def test_the_command_takes_documents_in_place_of_an_index(
    tmp_path: Path, chdb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("papers.csv").write_text("id,title,year\np1,Masks stop droplets,2020\np2,Fresh air,2021\n")

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    run("index", "papers.csv", "--out", "index", "--positions", "--quiet")
    assert "commit 1, 2 documents (2 documents sent" in run("push", "papers.csv", chdb, "--positions")
    assert "(0 documents sent" in run("push", "index", chdb)
    words = ("droplets", "--match", 'expr:"stop droplets"', "--filter", "year=2020")
    assert run("search", chdb, *words) == run("search", "index", *words) != ""
    refused = CliRunner().invoke(app, ["push", "index", chdb, "--analyzer", "german"])
    assert isinstance(refused.exception, ParameterError)
    assert "documents that are still to be indexed" in str(refused.exception)


@pytest.mark.slow
def test_workers_on_a_cluster_make_the_same_index_also_when_one_dies(cluster: Cluster, tmp_path: Path) -> None:
    """The whole push is killed twice, and a worker once; then it is done."""
    address = cluster.address("workers")
    for killed in range(2):
        command = [sys.executable, str(FILLING), address, "1500", "100"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout is not None
            for _ in range(2 + 2 * killed):  # after so many loads
                process.stdout.readline()
            os.killpg(process.pid, signal.SIGKILL)
    done = push_documents(documents(1500), address, load=100, stale=0, **{**SETTINGS, "workers": 2})
    assert 0 < done.added < 1500  # what the dead ones had finished was kept
    names = list(open_index(address).documents)
    assert len(names) == len(set(names)) == 1500
    agree(index_of(tmp_path, documents(1500)), address)
