"""An index by its address: a folder, or a place in ClickHouse."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from rankwell.clickhouse.address import is_address
from rankwell.clickhouse.columns import RemoteColumn
from rankwell.clickhouse.index import ClickHouseIndex
from rankwell.clickhouse.selection import Selection
from rankwell.clickhouse.vectors import RemoteEmbeddings, chosen_vectors
from rankwell.core import RankwellError
from rankwell.dense import Embeddings, remembered
from rankwell.dense import embeddings_of as embedded_embeddings_of
from rankwell.index import Index
from rankwell.index import facet_of as embedded_facet_of
from rankwell.index import is_facet as is_embedded_facet
from rankwell.index.columns import Column
from rankwell.index.facets import Facet

Mask = npt.NDArray[np.bool_]


def open_index(address: Path | str) -> Index:
    """The last commit of an index in a folder or in ClickHouse (`clickhouse://...`, `chdb:///...`).

    An index in ClickHouse is told as an `Index`, of which it has what stages use.
    """
    if isinstance(address, str) and is_address(address):
        return cast("Index", ClickHouseIndex.open(address))
    return Index.open(address)


def opened(index: Index | str) -> Index:
    """An index as it is; one that is named by its address, opened."""
    return open_index(index) if isinstance(index, str) else index


def is_remote(index: object) -> bool:
    """Whether an index lives in ClickHouse."""
    return isinstance(index, ClickHouseIndex)


def embedded_only(index: object, what: str, instead: str) -> None:
    """Raise where something works on an index in a folder alone; `instead` says what works everywhere."""
    if isinstance(index, ClickHouseIndex):
        raise RankwellError(
            f"{what}: expected an index in a folder, found one in ClickHouse ({index.path}): {instead}, or search the "
            "folder that was pushed"
        )


def facet_of(column: Column, among: Mask, most: int = 10) -> Facet:
    """The facet of a column over some documents, wherever the index is."""
    if isinstance(column, RemoteColumn):
        return column.facet(cast("Selection", among), most)
    return embedded_facet_of(column, among, most)


def is_facet(column: Column, documents: int) -> bool:
    """Whether a column's values say something about more than one document, wherever the index is."""
    return column.says_something if isinstance(column, RemoteColumn) else is_embedded_facet(column, documents)


def vectors_of(index: Index, name: str | None = None) -> Embeddings:
    """The vectors of that name, or the only ones, wherever the index is."""
    if isinstance(index, ClickHouseIndex):
        return cast("Embeddings", chosen_vectors(index, name))
    return remembered(index, name)


def all_vectors_of(index: Index) -> list[Embeddings]:
    """All vectors of an index, wherever it is."""
    if isinstance(index, ClickHouseIndex):
        return [cast("Embeddings", RemoteEmbeddings(index, about)) for about in index.vector_sets.values()]
    return embedded_embeddings_of(index)
