"""Open an index by its address: a folder, or `SCHEME://...` for an index of a plugin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rankwell.collections import Reading
from rankwell.collections.collection import scan_documents
from rankwell.core import Document, ParameterError, Phrase, RankwellError
from rankwell.core.plugins import Plugins
from rankwell.index.index import Index
from rankwell.index.manifest import is_index
from rankwell.index.protocol import SearchIndex

SCHEME = re.compile(r"([A-Za-z][\w+.-]*)://")
# The opener of each scheme: a function from the whole address to a `SearchIndex`.
SCHEMES = Plugins(
    "rankwell.indexes",
    dict.fromkeys(("chdb", "clickhouse", "clickhouses"), "rankwell.clickhouse:ClickHouseIndex.open"),
)


def scheme_of(address: Path | str) -> str | None:
    """The scheme of an address (`clickhouse` of `clickhouse://host/papers`); None for a folder."""
    match = SCHEME.match(address) if isinstance(address, str) else None
    return match[1].lower() if match else None


def open_index(address: Path | str) -> SearchIndex:
    """Open the last commit of an index in a folder, or at an address such as `clickhouse://host/papers`.

    >>> open_index("papers").search("droplets", k=10)
    """
    scheme = scheme_of(address)
    if scheme is None:
        return Index.open(address)
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise ParameterError("index", expected=f"a folder, or an address with one of {known}", found=f"{scheme}://")
    index: SearchIndex = SCHEMES[scheme](str(address))
    return index


def as_index(index: SearchIndex | Path | str) -> SearchIndex:
    """Open an index given by its folder or address; return any other unchanged."""
    if isinstance(index, str | Path):
        return open_index(index)
    if not hasattr(index, "analyzer"):
        found = Phrase(f"{type(index).__name__}: make one with Index.build(folder, documents)")
        raise ParameterError("index", expected="an index, or its folder", found=found)
    return index


def in_folder(index: SearchIndex, what: str, instead: str) -> Index:
    """Return an index in a folder; raise for any other, where `what` needs a folder."""
    if isinstance(index, Index):
        return index
    raise RankwellError(
        f"{what}: expected an index in a folder, found {index.path}: {instead}, or search the folder that was pushed"
    )


def find_documents(source: str, wanted: frozenset[str], reading: Reading) -> Iterator[Document]:
    """The wanted documents: of an index by their ids, of any other collection by reading through it."""
    if not is_index(Path(source)):
        return scan_documents(source, wanted, reading)
    documents = Index.open(source).documents
    return (documents[docno] for docno in sorted(wanted) if docno in documents)
