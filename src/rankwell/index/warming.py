"""Load or compile the kernels of search before the first search."""

from __future__ import annotations

import tempfile
from itertools import product

import numpy as np

from rankwell.core import Document
from rankwell.index.compiled import kernels
from rankwell.index.index import Index
from rankwell.index.scoring import MATCHES, Scoring
from rankwell.index.writer import IndexWriter

FEW = 16  # documents, enough for every way of searching


def warm_search() -> None:
    """Load or compile every kernel of search, by searching a small index.

    Afterwards no search compiles anything. Until then searches in other threads work without the kernels.
    """
    with kernels.reserve(), tempfile.TemporaryDirectory() as folder:
        kernels()
        with IndexWriter(folder) as writer:
            writer.add_all(Document(str(n), {"title": "one", "text": f"one word {n}"}) for n in range(FEW))
        index = Index.open(folder)
        for match, prune, weights, within in product(
            MATCHES, (True, False), (None, {"title": 2.0, "text": 1.0}), (None, np.arange(FEW))
        ):
            scoring = Scoring(match=match, weights=weights)
            index.search(["one word", "word"], 1, scoring, within=within, prune=prune)
        kernels.mark_complete()
