"""Matching and filtering over a real index: several segments, deleted documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwell.analysis import Analyzer
from rankwell.core import Document, ParameterError, RankwellError
from rankwell.index import Index, IndexWriter
from rankwell.retrieve import Asked, filtered, match_ratios, matched

ANALYZER = Analyzer(stopwords="none", stemmer=False)
DOCUMENTS = (
    Document("a", {"title": "new york", "text": "the new hotels of york"}, {"year": 2019, "source": "PMC"}),
    Document("b", {"title": "york", "text": "new york new york"}, {"year": 2021}),
    Document("c", {"text": "hotels"}, {"source": "WHO"}),
    Document("d", {"text": "hotels york"}, {"year": 2021, "source": "PMC"}),
)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """The documents in several commits; d is deleted again."""
    for document in DOCUMENTS:
        with IndexWriter(tmp_path, ANALYZER, metadata=["year", "source"], positions=True) as writer:
            writer.add(document)
    with IndexWriter(tmp_path) as writer:
        writer.delete("d")
    return Index.open(tmp_path)


def named(index: Index, mask: np.ndarray) -> list[str]:
    return sorted(index.docnos(np.flatnonzero(mask)).tolist())


@pytest.mark.parametrize(
    ("match", "documents"),
    [
        ("or", ["a", "b", "c"]),
        ("and", ["a"]),
        ("expr:hotels", ["a", "c"]),
        ("expr:title:new", ["a"]),
        ("expr:unicorns", []),
        ("expr:NOT title:york", ["c"]),
        ('expr:"new york"', ["a", "b"]),
        ('expr:text:"new york"', ["b"]),
        ('expr:"new york new york"', ["b"]),
        ('expr:"york the"', []),  # not across fields
        ("and + expr:title:york", ["a", "b"]),
    ],
)
def test_live_documents_are_matched(index: Index, match: str, documents: list[str]) -> None:
    assert named(index, matched(match, Asked("york hotels"), index)) == documents


@pytest.mark.parametrize(
    ("condition", "documents"),
    [
        ("year>=2020", ["b"]),
        ("not year", ["c"]),
        ("source=PMC or year=2021", ["a", "b"]),
        ("source in (WHO, PMC)", ["a", "c"]),
    ],
)
def test_live_documents_are_filtered(index: Index, condition: str, documents: list[str]) -> None:
    assert named(index, filtered(condition, index)) == documents


def test_a_search_stays_within_a_filter(index: Index) -> None:
    hits = index.search("york hotels", within=filtered("year<2020", index))
    assert hits.docnos.tolist() == ["a"]


def test_an_unknown_column_is_refused(index: Index) -> None:
    with pytest.raises(ParameterError, match='expected one of the metadata columns year, source, found "journal"'):
        filtered("journal=Nature", index)


def test_the_match_ratio_is_over_live_documents(index: Index) -> None:
    ratios = match_ratios("and", {"1": Asked("york hotels"), "2": Asked("york"), "3": Asked("")}, index)
    assert ratios.per_query == pytest.approx({"1": 1 / 3, "2": 2 / 3, "3": 0})
    assert ratios.mean == pytest.approx(1 / 3)
    assert ratios.documents == 3


def test_a_phrase_needs_positions(tmp_path: Path) -> None:
    with IndexWriter(tmp_path, ANALYZER) as writer:
        writer.add_all(DOCUMENTS)
    index = Index.open(tmp_path)
    with pytest.raises(RankwellError, match="keeps no positions"):
        matched('expr:"new york"', Asked(""), index)
    assert named(index, matched('expr:"new"', Asked(""), index)) == ["a", "b"]
