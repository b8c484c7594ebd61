"""Metadata columns in ClickHouse: questions about them are conditions, and facets are counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwell.clickhouse.literals import Name, Sql, sql
from rankwell.clickhouse.selection import NOTHING, Selection
from rankwell.clickhouse.tables import metadata_columns
from rankwell.core.arrays import strings
from rankwell.index.facets import Facet, facet_of_counts

if TYPE_CHECKING:
    from rankwell.clickhouse.index import ClickHouseIndex

NUMBER, TEXT, NONE = "number", "text", "none"


@dataclass(frozen=True, eq=False)
class RemoteColumn:
    """A metadata column: `kind` is number, text, or none where no document has a value."""

    index: ClickHouseIndex = field(repr=False)
    place: int
    kind: str

    @property
    def sample(self) -> Any:
        """An empty array of the column's kind of value, by which what was written is read."""
        return strings([]) if self.kind == TEXT else np.zeros(0)

    def present(self) -> Selection:
        """The documents that have a value."""
        return self._where(Sql("1"))

    def compared(self, sign: str, value: str | float) -> Selection:
        """The documents whose value compares so with another; `sign` is one of the filters' own."""
        return self._where(sql("{column} " + sign + " {value}", column=self._name, value=value))

    def one_of(self, values: tuple[str | float, ...]) -> Selection:
        """The documents whose value is one of these."""
        return self._where(sql("{column} IN {values}", column=self._name, values=values))

    def facet(self, among: Selection, most: int = 10) -> Facet:
        """How the values spread over some documents (`rankwell.index.facet_of`)."""
        whole, chosen = self._counts(), self._counts(among)
        counts = {value: (number, chosen.get(value, 0)) for value, number in whole.items()}
        return facet_of_counts(counts, among.sum() - sum(chosen.values()), most)

    @cached_property
    def says_something(self) -> bool:
        """Whether its values say something about more than one document (`rankwell.index.is_facet`)."""
        counts = self._counts()
        if self.kind != TEXT:
            return any(math.isfinite(value) for value in counts)
        return 0 < len(counts) <= max(2, sum(counts.values()) // 2)

    def _counts(self, among: Selection | None = None) -> dict[Any, int]:
        """How many of these documents have each value."""
        if self.kind == NONE:
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
        if self.kind == NONE:
            return Selection(NOTHING, self.index)
        statement = sql(
            "document IN (SELECT document FROM {documents} WHERE {there} AND {condition})",
            documents=self.index.tables.own("documents"),
            there=self._there,
            condition=condition,
        )
        return Selection(statement, self.index)
