"""How a source would be read, before anything is done: its format, the use of each column, an example."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rankwell.collections.collection import open_collection
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.encodings import AUTO
from rankwell.collections.reading import Problems, Reading
from rankwell.collections.table_reading import TableReading, cut
from rankwell.core import Document

EXAMPLES = 3
LONGEST_TEXT = 60
MOST_PROBLEMS = 3
CHANGE = "change it with --id, --fields, --metadata, --dates, --format, --encoding"


@dataclass(frozen=True)
class Preview:
    """How a source is read. `print(preview(path))` shows it; `tables` is empty for formats without tables."""

    source: str
    format: str
    tables: tuple[TableReading, ...]
    documents: tuple[Document, ...]  # the first ones
    problems: tuple[str, ...] = ()  # bad records before or among them

    @property
    def doubts(self) -> tuple[str, ...]:
        """What could be read otherwise."""
        return tuple(doubt for table in self.tables for doubt in table.doubts)

    def lines(self) -> list[str]:
        """The preview as lines of at most 80 characters."""
        lines = [line for table in self.tables for line in table.lines()]
        if not self.tables:
            lines.append(f"{self.source}: {self.format}")
        for document in self.documents[:1]:
            lines.append(f"first document: {cut(document.id, LONGEST_TEXT)}")
            lines += [f"  {cut(name, 20)}: {cut(text, LONGEST_TEXT - 8)}" for name, text in document.fields.items()]
            values = ", ".join(f"{name}={value}" for name, value in document.metadata.items())
            lines += [f"  {cut(values, LONGEST_TEXT + 15)}"] * bool(values)
        if not self.documents:
            lines.append("  no document was found")
        lines += [f"bad record: {problem}" for problem in self.problems[:MOST_PROBLEMS]]
        return [*lines, CHANGE] if self.tables else lines

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def for_json(self) -> dict[str, Any]:
        """The preview as plain values."""
        documents = [{"id": d.id, "fields": dict(d.fields), "metadata": dict(d.metadata)} for d in self.documents]
        return {
            "source": self.source,
            "format": self.format,
            "tables": [table.for_json() for table in self.tables],
            "documents": documents,
            "problems": list(self.problems),
        }


def preview(
    source: Path | str,
    format: str | None = None,
    *,
    columns: ColumnChoice | None = None,
    encoding: str = AUTO,
    parts: bool = False,
) -> Preview:
    """How a file, folder, database or named collection would be read; only its first rows are.

    >>> print(preview("papers.csv"))
    """
    reading = Reading(encoding, Problems(skip=True), parts=parts)
    collection = open_collection(source, format)
    documents = tuple(islice(collection.documents(reading, columns or ColumnChoice()), EXAMPLES))
    problems = tuple(map(str, reading.problems.found))
    return Preview(collection.name, collection.format, tuple(reading.tables.read), documents, problems)
