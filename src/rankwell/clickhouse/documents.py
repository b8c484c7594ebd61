"""What an index in ClickHouse holds: sets of documents as SQL conditions, metadata columns, and stored documents."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import orjson

from rankwell.clickhouse.manifest import metadata_columns
from rankwell.clickhouse.values import Name, Sql, joined, sql
from rankwell.core import Document
from rankwell.index import Mask, columns, protocol

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex

EVERYTHING, NOTHING = Sql("1"), Sql("0")


@dataclass(frozen=True, eq=False)
class Selection:
    """The documents of an index that satisfy an SQL condition on their number; it is evaluated on demand.

    It is a `rankwell.index.Mask`.
    """

    condition: Sql
    index: ClickHouseIndex = field(repr=False)

    def __and__(self, other: Selection) -> Selection:
        return Selection(joined("AND", [self.condition, other.condition]), self.index)

    def __or__(self, other: Selection) -> Selection:
        return Selection(joined("OR", [self.condition, other.condition]), self.index)

    def __invert__(self) -> Selection:
        return Selection(sql("NOT ({condition})", condition=self.condition), self.index)

    def sum(self) -> int:
        """The number of documents in the set."""
        return self.index.count(self)

    def any(self) -> bool:
        """Whether the set has a document."""
        return self.sum() > 0

    def fingerprint(self) -> str:
        """A fingerprint of the condition and the commit."""
        return f"{self.index.fingerprint()}:{self.condition}"


@dataclass(frozen=True, eq=False)
class RemoteColumn:
    """A metadata column: `kind` is number, text, or none where no document has a value."""

    index: ClickHouseIndex = field(repr=False)
    place: int
    kind: str

    def present(self) -> Selection:
        """The documents with a value."""
        return self._where(Sql("1"))

    def compared(self, sign: str, value: str | float) -> Selection:
        """The documents whose value compares like this with another; `sign` is an operator of filters."""
        return self._where(sql("{column} " + sign + " {value}", column=self._name, value=value))

    def one_of(self, values: Sequence[str | float]) -> Selection:
        """The documents with one of these values."""
        return self._where(sql("{column} IN {values}", column=self._name, values=tuple(values)))

    def facet(self, among: Mask, most: int = 10) -> columns.Facet:
        """The distribution of the values over some documents."""
        selection = self.index.mask(among)
        whole, chosen = self._counts(), self._counts(selection)
        counts = {value: (number, chosen.get(value, 0)) for value, number in whole.items()}
        return columns.facet_of_counts(counts, selection.sum() - sum(chosen.values()), most)

    def is_facet(self, documents: int) -> bool:
        """Whether its values are shared by documents."""
        counts = self._counts()
        if self.kind != protocol.TEXT:
            return any(math.isfinite(value) for value in counts)
        return 0 < len(counts) <= max(2, min(sum(counts.values()), documents) // 2)

    def _counts(self, among: Selection | None = None) -> dict[Any, int]:
        """The number of these documents with each value."""
        if self.kind == protocol.EMPTY:
            return {}
        value = sql("assumeNotNull({name})", name=self._name) if self.kind == protocol.TEXT else self._name
        counts = self.index.ask(
            "SELECT {value} AS value, count() AS n FROM {all[documents]} WHERE {live} AND {there} GROUP BY value",
            value=value,
            live=self.index.where(among),
            there=self._there,
        )
        return dict(counts.rows("value", "n"))

    @property
    def _name(self) -> Sql:
        number, text = metadata_columns(self.place)
        return sql("{name}", name=Name(text if self.kind == protocol.TEXT else number))

    @property
    def _there(self) -> Sql:
        return sql("isNotNull({name})" if self.kind == protocol.TEXT else "NOT isNaN({name})", name=self._name)

    def _where(self, condition: Sql) -> Selection:
        if self.kind == protocol.EMPTY:
            return Selection(NOTHING, self.index)
        chosen = self.index.engine.sql(
            "document IN (SELECT document FROM {own[documents]} WHERE {there} AND {condition})",
            there=self._there,
            condition=condition,
        )
        return Selection(chosen, self.index)


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
        document = self._find(docno)
        if document is None:
            raise KeyError(docno)
        return document

    def __contains__(self, docno: object) -> bool:
        return isinstance(docno, str) and self._find(docno) is not None

    def __iter__(self) -> Iterator[str]:
        index = self._index
        return iter(index.ask("SELECT docno FROM {all[documents]} WHERE {live}", live=index.where()).column("docno"))

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
        rows = self._index.ask(
            "SELECT docno, body FROM {all[stored]} WHERE docno IN {docnos} AND {live}",
            docnos=tuple(docnos),
            live=self._index.where(),
        ).rows("docno", "body")
        return {docno: Document(docno, *orjson.loads(body)) for docno, body in rows}
