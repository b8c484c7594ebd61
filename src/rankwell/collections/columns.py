"""Choose the columns of a table that hold the id, texts and metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankwell.core import NOTHING, Document, ParameterError, RankwellError, shown

IDS = ("_id", "id", "docno", "doc_id", "docid", "document_id", "pid", "cord_uid", "record_id", "pmid", "key", "uid")
TEXTS = (
    "title",
    "abstract",
    "body",
    "text",
    "contents",
    "content",
    "description",
    "summary",
    "headline",
    "question",
    "answer",
    "docstring",
)
MOST_NAMES = 20  # in an error
WORDS_OF_A_TEXT = 4.0  # a column with more words than this on average is a text, not a label

# A named tuple's own constructor takes twice as long, which matters for millions of documents.
_quick = tuple.__new__


@dataclass(frozen=True)
class ColumnChoice:
    """The user's choice of columns; None is guessed (`choose_columns`)."""

    id: str | None = None
    fields: Mapping[str, str] | None = None
    metadata: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, id_column: str | None, fields: str | None, metadata: str | None) -> ColumnChoice:
        """Parse the options of a command: `--id ID --fields title,body=Content --metadata year,source`."""
        return cls(
            id_column, None if fields is None else _pairs(fields), None if metadata is None else tuple(_pairs(metadata))
        )


@dataclass(frozen=True)
class Columns:
    """A mapping from a table's columns to a document.

    `id` is the id's column (None: rows are numbered from 1). `fields` maps field names to columns. `metadata` names the
    columns to keep as metadata; None keeps every other column. A column `metadata` that holds an object is unfolded.
    """

    id: str | None
    fields: Mapping[str, str]
    metadata: tuple[str, ...] | None = None

    @cached_property
    def document(self) -> Callable[[Mapping[str, Any], int], Document]:
        """A function from a row and its number to a document; it raises ValueError for an invalid row.

        A closure, because whole collections are read through it: it is faster than a method that
        looks up attributes, and strings, the most frequent values, need no call.
        """
        id_column, pairs, metadata = self.id, tuple(self.fields.items()), self._metadata
        is_all = self._taken.issuperset if self.metadata is None else lambda _: False

        def made(row: Mapping[str, Any], number: int) -> Document:
            value = str(number) if id_column is None else row.get(id_column)
            docno = value if type(value) is str and value and not value.isspace() else identifier(value, id_column)
            fields = {}
            for name, column in pairs:
                value = row.get(column)
                if value:
                    fields[name] = value if type(value) is str else plain_text(value)
            if is_all(row):  # nothing is left to be metadata
                return _quick(Document, (docno, fields, NOTHING))
            return Document(docno, fields, metadata(row))

        return made

    @cached_property
    def _taken(self) -> frozenset[str | None]:
        return frozenset((self.id, *self.fields.values()))

    def _metadata(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        flat = unfolded(row)
        names = [name for name in flat if name not in self._taken] if self.metadata is None else self.metadata
        return {name: flat[name] for name in names if flat.get(name) not in (None, "")} or NOTHING


def unfolded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with the entries of its object `metadata` as further columns."""
    inner = row.get("metadata")
    if not isinstance(inner, dict):
        return row
    return {**inner, **{name: value for name, value in row.items() if name != "metadata"}}


def identifier(value: Any, column: str | None) -> str:
    """An id as text: a non-empty string or a whole number."""
    if isinstance(value, str) and value and not value.isspace():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"an id in {column!r}")


def plain_text(value: Any) -> str:
    """A field's text: a string as it is, a list of strings as paragraphs, a number as it is written."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    if isinstance(value, (int, float)):
        return str(value)
    raise ValueError("text in every field")


def listed(names: Sequence[str]) -> str:
    """Names of columns for an error: on one line, and not too many."""
    parts = [shown(name)[1:-1] for name in names[:MOST_NAMES]] + ["…"] * (len(names) > MOST_NAMES)
    return ", ".join(parts) or "none"


def choose_columns(rows: Sequence[Mapping[str, Any]], choice: ColumnChoice, where: str) -> Columns:
    """The columns that the user named; the rest guessed from the first rows by usual names and by their texts."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    _check_named(choice, list(dict.fromkeys(name for row in rows for name in unfolded(row))), where)
    by_lower = {name.lower(): name for name in reversed(names)}
    id_column = choice.id or next((by_lower[known] for known in IDS if known in by_lower), None)
    if choice.fields:
        return Columns(id_column, choice.fields, choice.metadata)
    taken = {id_column, *(choice.metadata or ())}
    texts = [name for name in names if name not in taken and _is_text(name, [row.get(name) for row in rows])]
    if not texts:
        raise RankwellError(f"{where}: expected a column with text, found {listed(names)}: name it with --fields")
    return Columns(id_column, _title_first({name.lower(): name for name in texts}), choice.metadata)


def _check_named(choice: ColumnChoice, names: Sequence[str], where: str) -> None:
    for name in (choice.id, *(choice.fields or {}).values(), *(choice.metadata or ())):
        if name is not None and name not in names:
            raise RankwellError(f"{where}: expected a column {name!r}, found {listed(names)}")


def _pairs(text: str) -> dict[str, str]:
    """`title,body=Content` as {title: title, body: Content}."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not parts:
        raise ParameterError("columns", expected="names separated by commas", found=text)
    return {name.strip(): (column or name).strip() for name, _, column in parts}


def _is_text(name: str, values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str) and value]
    if not texts:  # a column that is still empty has only its name
        return name.lower() in TEXTS and not any(values)
    return name.lower() in TEXTS or sum(len(text.split()) for text in texts) / len(texts) > WORDS_OF_A_TEXT


def _title_first(fields: Mapping[str, str]) -> dict[str, str]:
    """The fields with known names in reading order, then the others in their own order."""
    known = [name for name in TEXTS if name in fields]
    return {name: fields[name] for name in [*known, *(name for name in fields if name not in known)]}
