"""The numbers of fields in `postings`: each is given once, and written on every server before a row has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.native import numbers, texts
from rankwell.clickhouse.tables import Tables


@dataclass
class Fields:
    """The fields that have a number so far: their place in `names`, from 1; 0 is all of them together."""

    engine: Engine
    tables: Tables
    names: tuple[str, ...]

    @classmethod
    def read(cls, engine: Engine, tables: Tables, last: Commit | None) -> Fields:
        """What any server knows, be it of a writer that died before its commit."""
        statement = sql("SELECT place, name FROM {fields}", fields=tables.own("fields"))
        found: dict[int, str] = {}
        for answer in engine.ask_each(statement):
            found |= dict(zip(map(int, answer.get("place", ())), answer.get("name", ()), strict=True))
        before = () if last is None else last.fields
        later = tuple(found[place] for place in sorted(found) if place > len(before))
        return cls(engine, tables, (*before, *later))

    @property
    def spaces(self) -> dict[str, int]:
        """The number of each, and of all together."""
        return {"": 0, **{name: place for place, name in enumerate(self.names, 1)}}

    def give(self, names: Iterable[str]) -> None:
        """Numbers for those that have none."""
        new = [name for name in dict.fromkeys(names) if name not in self.names]
        if not new:
            return
        first = len(self.names) + 1
        columns = {"place": numbers("UInt16", range(first, first + len(new))), "name": texts(new)}
        self.engine.insert_each(self.tables.own("fields"), columns)
        self.names = (*self.names, *new)
