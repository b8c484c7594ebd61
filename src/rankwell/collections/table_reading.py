"""How a table is read: what each column is and becomes. It prints itself, and is kept with an index as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rankwell.collections.dates import DateForm
from rankwell.collections.numbers import NumberForm

WIDTH = 80
LONGEST_NAME, LONGEST_EXAMPLE = 24, 30
MOST_COLUMNS = 40  # shown
BY_CONTENT = "made from each row's content"


@dataclass(frozen=True)
class ColumnReading:
    """What a column holds (`kind`), and what it becomes: the id, a searchable field, metadata to filter by."""

    name: str
    kind: str
    id: bool = False
    field: str | None = None
    metadata: bool = False
    html: bool = False
    decimal: str = ""  # the sign before decimals, of a column of numbers
    unit: str = ""
    order: str = ""  # of day and month, of a column of dates
    example: str = ""

    @property
    def use(self) -> str:
        """What the column becomes, in words."""
        parts = ["id"] * self.id
        if self.field is not None:
            parts.append("title" if self.field == "title" else "searchable")
        parts += [f"filter ({self._written})" if self._written else "filter"] * self.metadata
        return ", ".join(parts) + (", HTML tags dropped" if self.html else "") or "not used"

    @property
    def _written(self) -> str:
        """How its values are written, where that is not obvious."""
        if self.kind == "number":
            return (
                "number"
                + (", decimal comma" if self.decimal == "," else "")
                + (f" in {self.unit}" if self.unit else "")
            )
        return f"date, {self.order}" if self.order else self.kind if self.kind in ("date", "url") else ""


@dataclass(frozen=True)
class TableReading:
    """How one table is read: where it is, its columns, how it makes ids, and what could be read otherwise."""

    where: str
    columns: tuple[ColumnReading, ...]
    id: str | None = None  # a column or a template; None: made from the content
    details: tuple[str, ...] = ()  # such as "csv", "cp1252", "semicolon"
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnReading | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)

    def spellings(self) -> dict[str, Callable[[str], Any]]:
        """Functions that read numbers and dates as the columns write them; None for other text."""
        numbers = {c.name: NumberForm(c.decimal, c.unit).read for c in self.columns if c.decimal}
        dates = {c.name: DateForm(c.order).read for c in self.columns if c.kind == "date"}
        return {**numbers, **dates}

    def lines(self) -> list[str]:
        """The reading as lines of at most 80 characters: one for each column, then ids, notes and doubts."""
        count = f"{len(self.columns)} column{'s' * (len(self.columns) != 1)}"
        lines = _wrapped(f"{self.where}: {', '.join((*self.details, count))}", "  ")
        rows = [
            (cut(c.name, LONGEST_NAME), cut(c.example, LONGEST_EXAMPLE), c.use) for c in self.columns[:MOST_COLUMNS]
        ]
        wide = [max((len(row[place]) for row in rows), default=0) for place in (0, 1)]
        for name, example, use in rows:
            lines += _wrapped(f"  {name:{wide[0]}}  {example:{wide[1]}}  {use}", " " * (6 + sum(wide)))
        if more := len(self.columns) - len(rows):
            lines.append(f"  and {more} more columns (--json shows all)")
        if self.id is None or self.column(self.id) is None:
            lines.append(f"  ids: {BY_CONTENT if self.id is None else self.id}")
        for note in self.notes:
            lines += _wrapped(f"  {note}", "    ")
        for doubt in self.doubts:
            lines += _wrapped(f"  not sure: {doubt}", "    ")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def for_json(self) -> dict[str, Any]:
        """The reading as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TableReading:
        """The reading that `for_json` gave; a ValueError where it is not one."""
        try:
            columns = tuple(ColumnReading(**column) for column in values["columns"])
            lists = {name: tuple(values.get(name, ())) for name in ("details", "doubts", "notes")}
            return cls(str(values["where"]), columns, values.get("id"), **lists)
        except (KeyError, TypeError) as error:
            raise ValueError(f"a table's reading ({error})") from error


@dataclass
class TableReadings:
    """The tables that were read, in order, and those of an index that the next ones must agree with.

    An index that keeps no tables has at least its `fields`: columns of these names are read as before.
    """

    read: list[TableReading] = field(default_factory=list)
    kept: Sequence[TableReading] = ()
    fields: Sequence[str] = ()

    def alike(self, names: Sequence[str]) -> TableReading | None:
        """The kept table with the most of these columns."""
        return max(self.kept, key=lambda table: sum(table.column(name) is not None for name in names), default=None)


def cut(text: str, longest: int) -> str:
    """Text on one line, cut where it is too long."""
    line = " ".join(text[: 4 * longest].split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _wrapped(line: str, indent: str) -> list[str]:
    """A line broken at spaces; the following parts are indented."""
    lines = []
    while len(line) > WIDTH and (at := line.rfind(" ", len(indent) + 1, WIDTH + 1)) > 0:
        lines.append(line[:at].rstrip())
        line = indent + line[at + 1 :]
    return [*lines, line.rstrip()]
