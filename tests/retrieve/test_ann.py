"""Matching by embedding, alone and together with words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rankwell import Document
from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress
from rankwell.index import Index, IndexWriter
from rankwell.retrieve import AllTerms, Asked, Intersection, Match, Nearest, Union, match_ratios, matched, parse_match
from rankwell.vectors import embed

# Two meanings, two words for each: a vector counts how often either is meant.
MEANINGS = {"car": 0, "automobile": 0, "fever": 1, "temperature": 1}
DOCUMENTS = {"a": "car car", "b": "automobile", "c": "fever temperature", "d": "car fever", "e": "nothing of it"}


class Meanings:
    """An encoder that knows four words."""

    model, dimensions = "meanings", 3

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> Floats:  # noqa: ARG002 -- no time to show
        return self.encode_queries(texts)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        counts = [np.bincount([MEANINGS.get(word, 2) for word in text.split()], minlength=3) for text in texts]
        return np.array(counts, dtype=np.float32)

    def fingerprint(self) -> str:
        return "meanings"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    monkeypatch.setattr("rankwell.models.base.load_text_encoder", lambda model, **settings: Meanings())  # noqa: ARG005
    with IndexWriter(tmp_path / "index") as writer:
        for docno, text in DOCUMENTS.items():
            writer.add(Document(docno, {"text": text}))
    return Index.open(tmp_path / "index")


def found(match: str, text: str, index: Index) -> list[str]:
    mask = matched(match, Asked(text), index)
    return sorted(index.docnos(np.flatnonzero(mask)).tolist())


@pytest.mark.parametrize("graph", [True, False])
def test_exactly_k_documents_match_and_they_are_the_nearest(index: Index, graph: bool) -> None:
    embed(index, Meanings(), graph=graph)
    assert found("ann:2", "automobile", index) == ["a", "b"]
    assert found("ann:3", "automobile", index) == ["a", "b", "d"]
    assert found("ann:1:5", "temperature", index) == ["c"]
    assert found("ann:100", "automobile", index) == ["a", "b", "c", "d", "e"]
    assert found("ann:2", " ", index) == []


def test_it_is_joined_with_words(index: Index) -> None:
    embed(index, Meanings())
    assert found("ann:2 + and", "car fever", index) == ["c", "d"]
    assert found("ann:2 + and", "fever", index) == ["c", "d"]
    assert found("ann:2 & and", "automobile", index) == ["b"]
    assert found("ann:3 & or + expr:nothing", "automobile", index) == ["b", "e"]


def test_a_deleted_document_makes_room_for_the_next(index: Index) -> None:
    embed(index, Meanings())
    with IndexWriter(index.path) as writer:
        writer.delete("a")
    assert found("ann:2", "automobile", Index.open(index.path)) == ["b", "d"]


def test_the_match_ratio_is_k_over_all(index: Index) -> None:
    embed(index, Meanings())
    ratios = match_ratios("ann:2", {"1": Asked("car"), "2": Asked("fever")}, index)
    assert ratios.per_query == {"1": 0.4, "2": 0.4}


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("ann:100", Nearest(100)),
        ("ann:100:1000", Nearest(100, 1000)),
        ("ann:100 + and", Union((Nearest(100), AllTerms()))),
        ("and & ann:5", Intersection((AllTerms(), Nearest(5)))),
    ],
)
def test_it_is_asked_for_by_name(text: str, function: Match) -> None:
    assert parse_match(text) == function


@pytest.mark.parametrize("text", ["ann", "ann:", "ann:x", "ann:0", "ann:-1", "ann:10:5", "ann:1:2:3", "ann:1.5"])
def test_a_wrong_number_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="match: expected ann:K or ann:K:WIDTH, as in ann:100 or ann:100:1000"):
        parse_match(text)


def test_an_index_without_vectors_says_how_to_make_them(index: Index) -> None:
    with pytest.raises(RankwellError, match="has no vectors: encode it first with `rankwell encode"):
        found("ann:3", "car", index)
