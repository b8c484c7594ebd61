"""The stored documents of an index in ClickHouse, and the numbers of its fields."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import orjson

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.tables import Tables
from rankwell.clickhouse.values import numbers, sql, texts
from rankwell.core import Document

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex


TOGETHER = 64  # documents fetched at once, where the next ones are known
KEPT = 4096
EXPECTED = 100_000


class RemoteDocuments(Mapping[str, Document]):
    """Documents by id. Ids from a search are fetched together with their neighbours in the ranking."""

    def __init__(self, index: ClickHouseIndex) -> None:
        self._index = index
        self._kept: OrderedDict[str, Document | None] = OrderedDict()
        self._expected: list[str] = []
        self._places: dict[str, int] = {}
        self._lock = Lock()

    def expect(self, docnos: Iterable[str]) -> None:
        """Announce the ids that will probably be read, in this order."""
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


@dataclass
class Fields:
    """The numbered fields: the position in `names`, from 1; 0 is all of them together."""

    engine: Engine
    tables: Tables
    names: tuple[str, ...]

    @classmethod
    def read(cls, engine: Engine, tables: Tables, last: Commit | None) -> Fields:
        """Read the fields that any server knows, including those of a writer that died before its commit."""
        statement = sql("SELECT place, name FROM {fields}", fields=tables.own("fields"))
        found: dict[int, str] = {}
        for answer in engine.ask_each(statement):
            found |= dict(zip(map(int, answer.get("place", ())), answer.get("name", ()), strict=True))
        before = () if last is None else last.fields
        later = tuple(found[place] for place in sorted(found) if place > len(before))
        return cls(engine, tables, (*before, *later))

    @property
    def spaces(self) -> dict[str, int]:
        """The number of each field, and of all together."""
        return {"": 0, **{name: place for place, name in enumerate(self.names, 1)}}

    def give(self, names: Iterable[str]) -> None:
        """Number the new fields."""
        new = [name for name in dict.fromkeys(names) if name not in self.names]
        if not new:
            return
        first = len(self.names) + 1
        columns = {"place": numbers("UInt16", range(first, first + len(new))), "name": texts(new)}
        self.engine.insert_each(self.tables.own("fields"), columns)
        self.names = (*self.names, *new)
