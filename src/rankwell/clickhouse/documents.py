"""The stored documents of an index in ClickHouse, fetched some at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING

import orjson

from rankwell.clickhouse.literals import sql
from rankwell.core import Document

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex

TOGETHER = 64  # documents that are fetched at a time where it is known which will be wanted next
KEPT = 4096
EXPECTED = 100_000


class RemoteDocuments(Mapping[str, Document]):
    """Documents by id. Ids that a search has found are fetched with their neighbours in the ranking."""

    def __init__(self, index: ClickHouseIndex) -> None:
        self._index = index
        self._kept: OrderedDict[str, Document | None] = OrderedDict()
        self._expected: list[str] = []
        self._places: dict[str, int] = {}
        self._lock = Lock()

    def expect(self, docnos: Iterable[str]) -> None:
        """These will probably be asked for, in this order."""
        with self._lock:
            self._expected = list(dict.fromkeys(docnos))[:EXPECTED]
            self._places = {docno: place for place, docno in enumerate(self._expected)}

    def __getitem__(self, docno: str) -> Document:
        found = self._find(docno)
        if found is None:
            raise KeyError(docno)
        return found

    def __contains__(self, docno: object) -> bool:
        return isinstance(docno, str) and self._find(docno) is not None

    def __iter__(self) -> Iterator[str]:
        index = self._index
        found = index.ask(
            sql("SELECT docno FROM {all} WHERE {live}", all=index.tables.all("documents"), live=index.where())
        )
        return iter(found.get("docno", []))

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"RemoteDocuments({len(self)} documents)"

    def _find(self, docno: str) -> Document | None:
        with self._lock:
            if docno in self._kept:
                self._kept.move_to_end(docno)
                return self._kept[docno]
            place = self._places.get(docno)
            wanted = [docno] if place is None else self._expected[place : place + TOGETHER]
            wanted = [other for other in wanted if other not in self._kept]
        fetched = self._fetched(wanted)
        with self._lock:
            for other in wanted:
                self._kept[other] = fetched.get(other)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return fetched.get(docno)

    def _fetched(self, docnos: Sequence[str]) -> dict[str, Document]:
        index = self._index
        statement = sql(
            "SELECT docno, body FROM {stored} WHERE docno IN {docnos} AND {live}",
            stored=index.tables.all("stored"),
            docnos=tuple(docnos),
            live=index.where(),
        )
        found = index.ask(statement)
        return {
            docno: Document(docno, *orjson.loads(body))
            for docno, body in zip(found.get("docno", ()), found.get("body", ()), strict=True)
        }
