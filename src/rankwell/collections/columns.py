"""The columns of a table that make a document: its id, texts and metadata."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import Any

from rankwell.collections.dates import ORDERS
from rankwell.collections.html_text import html_to_text
from rankwell.core import NOTHING, Document, ParameterError, shown

MOST_NAMES = 20  # in an error
ROW = "row"  # the number of a row, in the template of an id
CONTENT = "{content}"  # the id that is made from the content of a row

# A named tuple's own constructor takes twice as long, which matters for millions of documents.
_quick = tuple.__new__

MOST_REMEMBERED = 65_536
MOST_COLUMNS = 200  # that are worth a function of their own

Pairs = list[tuple[str, int]]


class ReadValues(dict[str, Any]):
    """Texts of a column as numbers or ISO dates, or as they are; the last ones are remembered, because they repeat."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        if len(self) > MOST_REMEMBERED:
            self.clear()
        value = self._read(text)
        self[text] = value = text if value is None else value
        return value


@dataclass(frozen=True)
class ColumnChoice:
    """The user's choice of columns; None is guessed.

    `id` is a column, a template such as `{file}-{row}`, or `{content}` for ids that are made from the content. `dates`
    is the order of day and month: "dmy" or "mdy".

    >>> Index.build("chosen", "papers.csv", columns=ColumnChoice(id="id", fields={"body": "abstract"}))
    """

    id: str | None = None
    fields: Mapping[str, str] | None = None
    metadata: tuple[str, ...] | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        if self.dates is not None and self.dates not in ORDERS:
            raise ParameterError("dates", expected="dmy (day first) or mdy (month first)", found=self.dates)

    @classmethod
    def parse(
        cls, id_column: str | None, fields: str | None, metadata: str | None, dates: str | None = None
    ) -> ColumnChoice:
        """Parse the options of a command: `--id ID --fields title,body=Content --metadata year,source`."""
        columns = None if fields is None else _pairs(fields)
        return cls(id_column, columns, None if metadata is None else tuple(_pairs(metadata)), dates)


@dataclass(frozen=True)
class Columns:
    """A mapping from a table's columns to a document.

    `id` is the id's column or template (None: made from the content). `fields` maps field names to columns. `metadata`
    names the columns to keep as metadata; None keeps every other column, and those of `both`. A column `metadata` that
    holds an object is unfolded. `readers` turn text of metadata into numbers and dates, `html` names the fields whose
    tags are dropped, `about` has further names for a template.
    """

    id: str | None
    fields: Mapping[str, str]
    metadata: tuple[str, ...] | None = None
    both: frozenset[str] = frozenset()
    readers: Mapping[str, ReadValues] = field(default_factory=dict)
    html: frozenset[str] = frozenset()
    about: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def document(self) -> Callable[[Mapping[str, Any], int], Document]:
        """A function from a row and its number to a document; it raises ValueError for an invalid row.

        A closure, because whole collections are read through it: it is faster than a method that
        looks up attributes, and strings, the most frequent values, need no call.
        """
        id_column, pairs, metadata, html = self.id, tuple(self.fields.items()), self._metadata, self.html
        is_all = self._taken.issuperset if self.metadata is None else lambda _: False
        make_id = self._make_id if self.makes_ids else None

        def made(row: Mapping[str, Any], number: int) -> Document:
            value = make_id(row, number) if make_id is not None else row.get(id_column or "")
            docno = value if type(value) is str and value and not value.isspace() else identifier(value, id_column)
            fields = {}
            for name, column in pairs:
                value = row.get(column)
                if value:
                    fields[name] = value if type(value) is str else plain_text(value)
            if html:
                drop_tags(fields, html)
            if is_all(row):  # nothing is left to be metadata
                return _quick(Document, (docno, fields, NOTHING))
            return Document(docno, fields, metadata(row))

        return made

    def document_of_cells(self, names: Sequence[str]) -> Callable[[list[str], int], Document]:
        """The same for rows that are lists of texts, whose columns have these names."""
        place, pairs, plain, read = self._places(names)
        id_column, html, make_id = self.id, self.html, self._make_id
        id_place = None if self.makes_ids or id_column is None else place[id_column]

        def made(cells: list[str], number: int) -> Document:
            if id_place is None:
                docno = make_id(dict(zip(names, cells, strict=True)), number)
            else:
                docno = cells[id_place]
                if not docno or docno.isspace():
                    identifier(docno, id_column)
            fields = {name: cells[at] for name, at in pairs if cells[at]}
            if html:
                drop_tags(fields, html)
            metadata: dict[str, Any] = {name: cells[at] for name, at in plain if cells[at]}
            for name, at, values in read:
                if text := cells[at]:
                    metadata[name] = values[text]
            return _quick(Document, (docno, fields, metadata or NOTHING))

        return made

    def quick_document(self, names: Sequence[str]) -> Callable[[list[str]], Document | None] | None:
        """The same for rows without an empty cell; None for other rows, a ValueError for a row of another width.

        None where ids are made, tags dropped, or too many columns read. The function is made from source text, as
        Python's named tuples are, because one expression takes half the time of loops over columns. No name of a column
        is part of the source: names are values.
        """
        place, pairs, plain, read = self._places(names)
        if self.makes_ids or self.html or len(names) > MOST_COLUMNS or not (plain or read):
            return None
        cells = [f"c{number}" for number in range(len(names))]
        own = f"c{place[self.id or '']}"
        fields = ", ".join(f"f{number}: c{at}" for number, (_, at) in enumerate(pairs))
        metadata = [f"p{number}: c{at}" for number, (_, at) in enumerate(plain)]
        metadata += [f"n{number}: r{number}[c{at}]" for number, (_, at, _) in enumerate(read)]
        source = (
            f"def quick(cells):\n"
            f"    {', '.join(cells)}, = cells\n"
            f"    if {' and '.join(cells)} and not {own}.isspace():\n"
            f"        return new(Document, ({own}, {{{fields}}}, {{{', '.join(metadata)}}}))\n"
        )
        known: dict[str, Any] = {"new": _quick, "Document": Document}
        known |= {f"f{number}": name for number, (name, _) in enumerate(pairs)}
        known |= {f"p{number}": name for number, (name, _) in enumerate(plain)}
        for number, (name, _, reader) in enumerate(read):
            known |= {f"n{number}": name, f"r{number}": reader}
        exec(source, known)  # noqa: S102 -- made of numbers alone
        quick: Callable[[list[str]], Document | None] = known["quick"]
        return quick

    def _places(self, names: Sequence[str]) -> tuple[dict[str, int], Pairs, Pairs, list[tuple[str, int, ReadValues]]]:
        """The places of columns; names and places of fields, of metadata, and of metadata that is read as values."""
        place = {name: number for number, name in enumerate(names)}
        pairs = [(name, place[column]) for name, column in self.fields.items() if column in place]
        kept = [name for name in names if name not in self._taken] if self.metadata is None else self.metadata
        plain = [(name, place[name]) for name in kept if name in place and name not in self.readers]
        read = [(name, place[name], self.readers[name]) for name in kept if name in place and name in self.readers]
        return place, pairs, plain, read

    @property
    def makes_ids(self) -> bool:
        """Whether ids are made from the content or by a template, and are not a column."""
        return self.id is None or is_template(self.id)

    @cached_property
    def _taken(self) -> frozenset[str | None]:
        return frozenset((self.id, *self.fields.values())) - self.both

    def _make_id(self, row: Mapping[str, Any], number: int) -> str:
        return content_id(row) if self.id is None else filled(self.id, {**self.about, **row, ROW: number})

    def _metadata(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        flat, readers = unfolded(row), self.readers
        names = [name for name in flat if name not in self._taken] if self.metadata is None else self.metadata
        values = {name: flat[name] for name in names if flat.get(name) not in (None, "")}
        for name in readers.keys() & values.keys() if readers else ():
            if isinstance(text := values[name], str):
                values[name] = readers[name][text]
        return values or NOTHING


def content_id(row: Mapping[str, Any]) -> str:
    """An id that depends on the values of a row alone, not on its place: 80 bits as 16 letters and digits."""
    values = "\x1e".join(f"{name}\x1f{value}" for name, value in sorted(row.items()) if value not in (None, ""))
    digest = hashlib.blake2b(values.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return base64.b32encode(digest).decode().lower()


def is_template(text: str) -> bool:
    """Whether the id is a template with names in braces."""
    return "{" in text and "}" in text


def template_names(template: str) -> list[str]:
    """The names in the braces of a template."""
    try:
        return [name for _, name, _, _ in Formatter().parse(template) if name is not None]
    except ValueError as error:
        expected = "a column, or a template such as {file}-{row}"
        raise ParameterError("id", expected=expected, found=template) from error


def filled(template: str, values: Mapping[str, Any]) -> str:
    """The template with the values of a row; each must be there."""
    parts = []
    for text, name, _, _ in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            if values.get(name) in (None, ""):
                raise ValueError(f"a value in {name!r} for the id")
            parts.append(str(values[name]))
    return "".join(parts)


def drop_tags(fields: dict[str, str], html: frozenset[str]) -> None:
    """Replace the fields of these names by their words, without tags and entities."""
    for name in html:
        text = fields.get(name)
        if text and ("<" in text or "&" in text):
            fields[name] = html_to_text(text)
            if not fields[name]:
                del fields[name]


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


def _pairs(text: str) -> dict[str, str]:
    """`title,body=Content` as {title: title, body: Content}."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not parts:
        raise ParameterError("columns", expected="names separated by commas", found=text)
    return {name.strip(): (column or name).strip() for name, _, column in parts}
