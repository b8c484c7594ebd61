"""The run that hard negatives come from, where the user has none: BM25 over the collection."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rankwell.core import Document, Queries, Run
from rankwell.index import Index, IndexWriter
from rankwell.rank import BM25


def bm25_run(
    documents: Iterable[Document],
    queries: Queries,
    depth: int,
    query_field: str | None = None,
    folder: Path | None = None,
) -> Run:
    """The `depth` best documents of each query, by an index that is made for this (in `folder`) and thrown away."""
    with tempfile.TemporaryDirectory(prefix=".rankwell-", dir=folder) as temporary:
        path = Path(temporary) / "index"
        with IndexWriter(path) as writer:
            writer.add_all(documents)
        stage = BM25(Index.open(path), k=depth, query_field=query_field, threads=os.cpu_count() or 1)
        found = stage(queries)
    return Run(found.qids, found.offsets, found.docnos, found.scores, found.tag, queries)
