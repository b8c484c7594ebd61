"""Pushing: what is there afterwards is what the index holds, whatever happened on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clickhouse_servers import need_chdb
from rankwell import Document
from rankwell.analysis import Analyzer
from rankwell.clickhouse import parse_address, push
from rankwell.clickhouse.engine import open_engine
from rankwell.clickhouse.writing import PushLock
from rankwell.core import RankwellError
from rankwell.core.arrays import Floats
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25, Dense
from rankwell.vectors import embed

TEXTS = {"a": "red fox", "b": "red dog", "c": "blue fox", "d": "blue whale", "e": "red red red"}


def index_of(folder: Path, texts: dict[str, str], **more: object) -> Index:
    with IndexWriter(folder, **more) as writer:
        writer.add_all(Document(docno, {"text": text}) for docno, text in texts.items())
    return Index.open(folder)


def agree(index: Index, address: str) -> None:
    """Same documents, same statistics, same rankings."""
    there = open_index(address)
    assert sorted(there.documents) == sorted(index.documents)
    for query in ("red fox", "blue", "whale red"):
        first, second = BM25(index)(query), BM25(there)(query)
        assert first.docnos.tolist() == second.docnos.tolist()
        assert first.scores.tolist() == pytest.approx(second.scores.tolist())


def test_a_second_push_sends_what_has_changed(tmp_path: Path, chdb: str) -> None:
    index = index_of(tmp_path, TEXTS)
    done = push(index, chdb)
    assert (done.added, done.deleted, done.commit) == (5, 0, 1)
    agree(index, chdb)
    done = push(index, chdb)
    assert (done.added, done.deleted, done.commit) == (0, 0, 1)
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("f", {"text": "green fox"}))
        writer.add(Document("b", {"text": "red whale"}))
        writer.delete("a")
    done = push(Index.open(tmp_path), chdb)
    assert (done.added, done.deleted, done.commit) == (2, 2, 2)
    agree(Index.open(tmp_path), chdb)


def test_a_document_may_be_replaced_or_deleted_before_it_is_committed(tmp_path: Path, chdb: str) -> None:
    with IndexWriter(tmp_path) as writer:
        writer.add_all(Document(docno, {"text": text}) for docno, text in TEXTS.items())
        writer.add(Document("a", {"text": "red whale"}))
        writer.delete("b")
    push(Index.open(tmp_path), chdb)
    agree(Index.open(tmp_path), chdb)


def test_a_merge_sends_nothing(tmp_path: Path, chdb: str) -> None:
    index_of(tmp_path, TEXTS)
    index = index_of(tmp_path, {"f": "green fox"})
    push(index, chdb)
    done = push(index.merge(), chdb)
    assert (done.added, done.deleted) == (0, 0)
    agree(Index.open(tmp_path), chdb)


def test_readers_keep_what_they_opened(tmp_path: Path, chdb: str) -> None:
    index = index_of(tmp_path, TEXTS)
    push(index, chdb)
    before = open_index(chdb)
    first = BM25(before)("red fox")
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("f", {"text": "red fox red fox"}))
        writer.delete("e")
    push(Index.open(tmp_path), chdb)
    again = BM25(before)("fox red")
    assert sorted(again.docnos.tolist()) == sorted(first.docnos.tolist())


def test_a_field_may_come_later(tmp_path: Path, chdb: str) -> None:
    push(index_of(tmp_path, TEXTS), chdb)
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("g", {"text": "red", "title": "fox fox"}))
    push(Index.open(tmp_path), chdb)
    agree(Index.open(tmp_path), chdb)
    weights = {"weights": {"title": 1.0, "text": 2.0}}
    ours, theirs = BM25(Index.open(tmp_path), **weights)("red fox"), BM25(open_index(chdb), **weights)("red fox")
    assert ours.docnos.tolist() == theirs.docnos.tolist()


def test_a_column_of_numbers_may_become_one_of_text(tmp_path: Path, chdb: str) -> None:
    with IndexWriter(tmp_path, metadata=["year"]) as writer:
        writer.add_all(Document(str(year), {"text": "fox"}, {"year": year}) for year in (2019, 2020))
    push(Index.open(tmp_path), chdb)
    assert BM25(open_index(chdb), filter="year>2019")("fox").docnos.tolist() == ["2020"]
    with IndexWriter(tmp_path) as writer:
        writer.add(Document("x", {"text": "fox"}, {"year": "2020-03"}))
    push(Index.open(tmp_path), chdb)
    for condition in ("year=2020", "year>2020", "year>=2019", "year in (2019, 2020-03)"):
        ours, theirs = (BM25(index, filter=condition)("fox") for index in (Index.open(tmp_path), open_index(chdb)))
        assert ours.docnos.tolist() == theirs.docnos.tolist(), condition


class Letters:
    """An encoder that counts three letters."""

    model, dimensions = "letters", 3

    def encode(self, texts: list[str], progress: object = None) -> Floats:  # noqa: ARG002 -- no time to show
        return self.encode_queries(texts)

    def encode_queries(self, texts: list[str]) -> Floats:
        return np.array([[text.count(letter) for letter in "reo"] for text in texts], dtype=np.float32)

    def fingerprint(self) -> str:
        return "letters"


def test_vectors_go_along_and_rank_the_same(tmp_path: Path, chdb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwell.models.base.load_text_encoder", lambda model, **settings: Letters())  # noqa: ARG005
    index = index_of(tmp_path, TEXTS)
    embed(index, Letters(), graph=False)
    assert push(index, chdb).vectors == 5
    index = index_of(tmp_path, {"f": "over there", "a": "order"})
    embed(index, Letters(), graph=False)
    assert push(index, chdb).vectors == 2
    for options in ({}, {"match": "or"}, {"k": 2}):
        ours, theirs = Dense(index, **options)("red fox"), Dense(open_index(chdb), **options)("red fox")
        assert ours.docnos.tolist() == theirs.docnos.tolist()
        np.testing.assert_allclose(ours.scores, theirs.scores, atol=1e-5)
    ours, theirs = BM25(index, match="ann:2")("red fox"), BM25(open_index(chdb), match="ann:2")("red fox")
    assert ours.docnos.tolist() == theirs.docnos.tolist()


@pytest.mark.parametrize("table", ["postings", "documents", "stored", "dead", "terms", "commits"])
def test_a_push_that_breaks_off_is_gone_on_with(
    tmp_path: Path, chdb: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each table the engine fails after the rows have arrived: the writer cannot know that they have."""
    push(index_of(tmp_path, TEXTS), chdb)
    index = index_of(tmp_path, {"f": "red whale", "a": "blue", "g": "green fox", "h": "red"})
    from rankwell.clickhouse.transport import EmbeddedEngine

    for name in ("insert", "copy_each"):
        monkeypatch.setattr(EmbeddedEngine, name, _failing(getattr(EmbeddedEngine, name), f"`{table}`"))
    with pytest.raises(RankwellError, match="broke"):
        push(index, chdb, load=2)
    monkeypatch.undo()
    if table != "commits":  # whose row is the commit itself
        assert sorted(open_index(chdb).documents) == sorted(TEXTS)  # readers see the commit before
    push(index, chdb, load=2)
    agree(index, chdb)
    documents = open_index(chdb).documents
    assert len(list(documents)) == len(set(documents)) == len(index)


def _failing(original: object, table: str) -> object:
    def failing(self: object, *given: object) -> None:
        original(self, *given)  # type: ignore[operator]
        if any(table in str(part) and "INSERT" not in str(part) for part in given if not isinstance(part, dict)):
            raise RankwellError("the connection broke")

    return failing


def test_one_push_at_a_time(tmp_path: Path, chdb: str) -> None:
    index = index_of(tmp_path, TEXTS)
    push(index, chdb)
    address = parse_address(chdb)
    engine = open_engine(address)
    with PushLock(engine).held(), pytest.raises(RankwellError, match="another push is writing"):
        push(index_of(tmp_path, {"z": "zebra"}), chdb)
    PushLock(engine).held().__enter__()  # and its process dies
    push(Index.open(tmp_path), chdb, stale=0)
    agree(Index.open(tmp_path), chdb)


def test_an_index_of_other_settings_is_refused(tmp_path: Path, chdb: str) -> None:
    push(index_of(tmp_path / "one", TEXTS), chdb)
    with pytest.raises(RankwellError, match="another analyzer"):
        push(index_of(tmp_path / "two", TEXTS, analyzer=Analyzer(stemmer=False)), chdb)
    with pytest.raises(RankwellError, match="another metadata"):
        push(index_of(tmp_path / "three", TEXTS, metadata=["year"]), chdb)


def test_an_empty_index_can_be_pushed(tmp_path: Path, chdb: str) -> None:
    index = index_of(tmp_path, {})
    push(index, chdb)
    assert len(BM25(open_index(chdb))("fox")) == 0
    push(index_of(tmp_path, TEXTS), chdb)
    agree(Index.open(tmp_path), chdb)


def test_another_folder_can_be_opened_when_nobody_uses_the_first(tmp_path: Path) -> None:
    """In a process of its own: this one's folder is in use."""
    program = f"""
from rankwell.clickhouse import push
from rankwell.index import open_index
from rankwell.core import RankwellError
from rankwell.index import Index
from rankwell.retrieve import BM25
index = Index.open({str(tmp_path / "index")!r})
for name in ("one", "two"):
    push(index, f"chdb://{{name}}")
    there = open_index(f"chdb://{{name}}")
    print(BM25(there)("whale").docnos.tolist())
    try:
        open_index("chdb://three")
    except RankwellError as error:
        print("one folder a process" in str(error))
    del there
"""
    need_chdb()
    index_of(tmp_path / "index", TEXTS)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['d']", "True"] * 2, done.stderr
