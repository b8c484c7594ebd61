"""What the index tests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rankwell import Analyzer, Document
from rankwell.index import Index, IndexWriter
from rankwell.index.compiled import kernels

PLAIN = Analyzer("english", stopwords="none", stemmer=False)

Build = Callable[..., Index]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Makes an index of texts (or fields) by id."""

    def make(documents: Mapping[str, str | Mapping[str, str]], analyzer: Analyzer = PLAIN, **settings) -> Index:
        folder = tmp_path / "index"
        with IndexWriter(folder, analyzer, **settings) as writer:
            for docno, text in documents.items():
                writer.add(Document(docno, {"text": text} if isinstance(text, str) else text))
        return Index.open(folder)

    return make


@pytest.fixture
def compiled() -> None:
    """The kernels are in memory, so that searches use them."""
    kernels()
