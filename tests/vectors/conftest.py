"""What the tests of dense search share: a small encoder that needs no model, and indexes to encode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hashing_encoder import HashingEncoder

from rankwell import Document
from rankwell.index import Index, IndexWriter

Build = Callable[..., Index]


@pytest.fixture
def encoder() -> HashingEncoder:
    """A fresh one, which remembers what it was asked to encode."""
    return HashingEncoder()


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Makes an index of texts (or fields) by id, or adds to it."""

    def make(
        documents: Mapping[str, str | Mapping[str, str]], delete: Sequence[str] = (), name: str = "index"
    ) -> Index:
        with IndexWriter(tmp_path / name) as writer:
            for docno, text in documents.items():
                writer.add(Document(docno, {"text": text} if isinstance(text, str) else text))
            for docno in delete:
                writer.delete(docno)
        return Index.open(tmp_path / name)

    return make
