"""More like this: documents that share telling words come first, and a document is not like itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell import Document
from rankwell.core import ParameterError
from rankwell.index import Index, IndexWriter
from rankwell.retrieve.similar import similar_documents, telling_terms

TEXTS = {
    "masks": "masks against droplets in trains",
    "cloth": "masks of cloth and droplets",
    "trains": "trains to the coast in winter",
    "coast": "the coast in winter and summer",
    "alone": "zebra",
}


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with IndexWriter(tmp_path / "index") as writer:
        writer.add_all(Document(docno, {"text": text}) for docno, text in TEXTS.items())
    return Index.open(tmp_path / "index")


def test_documents_that_share_telling_words_come_first(index: Index) -> None:
    assert [docno for docno, _ in similar_documents(index, "masks")] == ["cloth", "trains"]
    assert [docno for docno, _ in similar_documents(index, "masks", k=1)] == ["cloth"]
    assert similar_documents(index, "alone") == []  # nobody else has its word


def test_terms_of_nobody_else_and_common_ones_do_not_tell(index: Index) -> None:
    terms = telling_terms(index, "trains", most=2)
    assert set(terms) <= {"train", "coast", "winter"}
    assert len(terms) == 2


def test_an_unknown_document_is_named(index: Index) -> None:
    with pytest.raises(ParameterError, match="id: expected the id of a document"):
        similar_documents(index, "nobody")
