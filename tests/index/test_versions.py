"""Versions of an index are closed when their last user drops them, and share what they have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankwell.core import Document, ParameterError
from rankwell.index import Index, IndexWriter
from rankwell.index import writer as writing
from rankwell.index.blocks import READ_WHOLE

MAPS = Path("/proc/self/maps")
needs_maps = pytest.mark.skipif(not MAPS.exists(), reason="this system does not list a process' files")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two segments, the first one large enough to be mapped."""
    with IndexWriter(tmp_path / "index", metadata=["year"]) as writer:
        words = (" ".join(f"word{number * step}" for step in range(30)) for number in range(500))
        writer.add_all(Document(f"d{n}", {"title": "fever", "text": text}, {"year": n}) for n, text in enumerate(words))
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(Document("late", {"title": "fever"}, {"year": 2000}))
    assert max(file.stat().st_size for file in (tmp_path / "index").iterdir()) > READ_WHOLE
    return tmp_path / "index"


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def mapped(folder: Path) -> int:
    """Number of the index's files that this process has mapped."""
    return len({line.split()[-1] for line in MAPS.read_text().splitlines() if str(folder) in line})


@needs_maps
@pytest.mark.usefixtures("no_collector")
def test_a_version_is_closed_when_its_last_user_drops_it(folder: Path) -> None:
    index = Index.open(folder)
    hits = index.search("fever", k=3)
    assert index.documents["d1"].metadata == {"year": 1}
    assert index.columns["year"].facet(index.live)
    assert index.holding("fever").sum() == 501
    assert mapped(folder) == 1
    del index
    assert mapped(folder) == 1  # the result has a user's hold on it
    assert len(hits.docnos) == 3
    del hits
    assert mapped(folder) == 0


@needs_maps
@pytest.mark.usefixtures("no_collector")
def test_a_writer_s_versions_are_closed_too(folder: Path) -> None:
    with IndexWriter(folder) as writer:
        for number in range(5):
            writer.add(Document("again", {"title": f"number {number}"}))
            writer.commit()
    del writer
    assert mapped(folder) == 0


def test_a_later_version_shares_the_segments_that_have_not_changed(folder: Path) -> None:
    first = Index.open(folder)
    with IndexWriter(folder) as writer:
        writer.add(Document("late", {"title": "fever again"}))  # replaces the only document of the second segment
    second = first.reopen()
    assert second.segments[0][0] is first.segments[0][0]
    assert second.documents["late"].fields == {"title": "fever again"}
    assert first.documents["late"].fields == {"title": "fever"}
    with IndexWriter(folder) as writer:
        writer.delete("d1")  # in the first segment
    third = second.reopen()
    assert third.segments[0][0] is not second.segments[0][0]
    assert ("d1" in third.documents, "d1" in second.documents) == (False, True)
    assert third.search("fever", k=600).docnos.tolist() == Index.open(folder).search("fever", k=600).docnos.tolist()


def test_an_index_has_at_most_a_thousand_fields(tmp_path: Path) -> None:
    with IndexWriter(tmp_path / "index") as writer:
        writer.add(Document("d1", {f"f{number}": "x" for number in range(1000)}))
        with pytest.raises(ParameterError, match="document 'd2': expected an index with at most 1,000 fields"):
            writer.add(Document("d2", {"one": "more"}))
        writer.add(Document("d3", {"f1": "x", "empty": ""}))  # the writer goes on
    assert set(Index.open(tmp_path / "index").documents) == {"d1", "d3"}
    with (
        IndexWriter(tmp_path / "index") as writer,
        pytest.raises(ParameterError, match=r"found 1,001"),
    ):
        writer.add(Document("d2", {"one": "more"}))
    with pytest.raises(ParameterError, match="fields: expected at most 1,000, found 1001"):
        IndexWriter(tmp_path / "other", fields=[f"f{number}" for number in range(1001)])


def test_a_document_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "LARGEST_DOCUMENT", 100)
    with IndexWriter(tmp_path / "index") as writer:
        with pytest.raises(ParameterError, match=r"document 'd1': expected at most 100 characters .*, found 120"):
            writer.add(Document("d1", {"title": "x" * 60, "text": "y" * 60}))
        writer.add(Document("d2", {"title": "x" * 60}))
    assert set(Index.open(tmp_path / "index").documents) == {"d2"}
