"""Sets of documents as SQL conditions, and metadata columns: filters and facets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankwell.clickhouse.tables import metadata_columns
from rankwell.clickhouse.values import Name, Sql, joined, sql
from rankwell.index.columns import Facet, facet_of_counts
from rankwell.index.protocol import EMPTY, TEXT, Mask

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

    def facet(self, among: Mask, most: int = 10) -> Facet:
        """The distribution of the values over some documents."""
        selection = self.index.mask(among)
        whole, chosen = self._counts(), self._counts(selection)
        counts = {value: (number, chosen.get(value, 0)) for value, number in whole.items()}
        return facet_of_counts(counts, selection.sum() - sum(chosen.values()), most)

    def is_facet(self, documents: int) -> bool:
        """Whether its values are shared by documents."""
        counts = self._counts()
        if self.kind != TEXT:
            return any(math.isfinite(value) for value in counts)
        return 0 < len(counts) <= max(2, min(sum(counts.values()), documents) // 2)

    def _counts(self, among: Selection | None = None) -> dict[Any, int]:
        """The number of these documents with each value."""
        if self.kind == EMPTY:
            return {}
        index = self.index
        value = sql("assumeNotNull({name})", name=self._name) if self.kind == TEXT else self._name
        statement = sql(
            "SELECT {value} AS value, count() AS documents FROM {all} WHERE {live} AND {there} GROUP BY value",
            value=value,
            all=index.tables.all("documents"),
            live=index.where(among),
            there=self._there,
        )
        found = index.ask(statement)
        values = found.get("value", [])
        names = values if isinstance(values, list) else values.tolist()
        return dict(zip(names, map(int, found.get("documents", ())), strict=True))

    @property
    def _name(self) -> Sql:
        number, text = metadata_columns(self.place)
        return sql("{name}", name=Name(text if self.kind == TEXT else number))

    @property
    def _there(self) -> Sql:
        if self.kind == TEXT:
            return sql("isNotNull({name})", name=self._name)
        return sql("NOT isNaN({name})", name=self._name)

    def _where(self, condition: Sql) -> Selection:
        if self.kind == EMPTY:
            return Selection(NOTHING, self.index)
        statement = sql(
            "document IN (SELECT document FROM {documents} WHERE {there} AND {condition})",
            documents=self.index.tables.own("documents"),
            there=self._there,
            condition=condition,
        )
        return Selection(statement, self.index)
