"""Documents from anything in Python: a path, a collection, a data frame, dicts, documents, a dataset, an iterator."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from rankwell.collections.any_format import GUESS
from rankwell.collections.collection import Collection, open_collection
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.reading import Reading
from rankwell.collections.tables import documents_of_table
from rankwell.core import Document, ParameterError, Phrase
from rankwell.core.records import Query, is_frame

WHERE = "documents"
EXPECTED = "a path, a data frame, or documents (such as dicts with an id and texts)"
IDS = ("id", "_id", "docno", "doc_id", "docid")  # keys of one document that is given in place of several


def documents_of(given: Any, columns: ColumnChoice = GUESS, reading: Reading | None = None) -> Iterator[Document]:
    """The documents of anything that has some, one at a time.

        documents_of([{"id": "d1", "title": "Fever", "year": 2020}])
        documents_of({"d1": "a text", "d2": "another text"})

    Dicts, rows of a data frame and of a Hugging Face dataset are read as the rows of a table are: their values say
    which are the id, the texts and the metadata, unless `columns` does.
    """
    reading = reading or Reading()
    if isinstance(given, str | os.PathLike):
        return open_collection(os.fspath(given)).documents(reading, columns)
    if isinstance(given, Collection):
        return given.documents(reading, columns)
    if isinstance(getattr(given, "documents", None), Mapping):  # an index
        return iter(given.documents.values())
    if is_frame(given):
        return _of_rows(_frame_rows(given), columns, reading)
    if isinstance(given, Mapping):
        return _of_mapping(given, columns, reading)
    if isinstance(given, Document):
        raise _wrong("one document: put it into a list, [document]")
    if not isinstance(given, Iterable):
        raise _wrong(type(given).__name__)
    return _of_items(iter(given), columns, reading)


def _of_mapping(given: Mapping[Any, Any], columns: ColumnChoice, reading: Reading) -> Iterator[Document]:
    """Documents by id: texts, dicts or documents. One document and a set of splits are no such mapping."""
    if any(name in given for name in IDS):
        raise _wrong("one dict: put it into a list, [{...}]")
    split = next((name for name, value in given.items() if hasattr(value, "column_names")), None)
    if split is not None:
        raise _wrong(f"the splits {', '.join(map(str, given))}: choose one, such as dataset[{split!r}]")
    return _of_items((_with_id(docno, value) for docno, value in given.items()), columns, reading)


def _with_id(docno: Any, value: Any) -> Any:
    if isinstance(value, str):
        return Document(str(docno), {"text": value})
    return {"id": docno, **value} if isinstance(value, Mapping) else value


def _of_items(items: Iterator[Any], columns: ColumnChoice, reading: Reading) -> Iterator[Document]:
    """The first item says whether they are documents or rows."""
    first = next(items, None)
    if first is None:
        return iter(())
    everything = chain([first], items)
    if isinstance(first, Document):
        return _checked(everything)
    _row(first)  # says what is wrong, if it is no row
    return _of_rows(everything, columns, reading)


def _checked(documents: Iterable[Any]) -> Iterator[Document]:
    for number, document in enumerate(documents, 1):
        if not isinstance(document, Document):
            raise _wrong(f"{type(document).__name__} in place {number}: Document(id, {{'title': text}}) makes one")
        yield document


def _of_rows(rows: Iterable[Any], columns: ColumnChoice, reading: Reading) -> Iterator[Document]:
    numbered = ((number, _row(row)) for number, row in enumerate(rows, 1))
    return documents_of_table(WHERE, numbered, columns, reading, typed=True)


def _row(given: Any) -> dict[str, Any]:
    """A row with plain values, without those that are missing."""
    if isinstance(given, str):
        raise _wrong("a text without an id: give texts by id, {'d1': 'a text'}, or dicts")
    if isinstance(given, Query):
        raise _wrong("queries: documents come here, queries go to a stage, BM25(index)(queries)")
    if hasattr(given, "_asdict"):  # a named tuple, as ir_datasets has
        given = given._asdict()
    if not isinstance(given, Mapping):
        raise _wrong(f"{type(given).__name__} {given!r}"[:80])
    return {str(name): plain for name, value in given.items() if (plain := _plain(value)) is not None}


def _plain(value: Any) -> Any:
    """A value as JSON would have it; None for NaN and other marks of a missing value."""
    if value is None or isinstance(value, str | bool | int | list | dict):
        return value
    if hasattr(value, "isoformat") and isinstance(value, datetime.date):
        if value != value:  # noqa: PLR0124 -- pandas' NaT
            return None
        whole_day = isinstance(value, datetime.datetime) and value.time() == datetime.time()
        return value.date().isoformat() if whole_day and isinstance(value, datetime.datetime) else value.isoformat()
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value  # noqa: PLR0124 -- NaN
    return value if isinstance(value, str | bool | int | list | dict) else None if _is_missing(value) else str(value)


def _is_missing(value: Any) -> bool:
    return type(value).__name__ in ("NAType", "NaTType")


def _frame_rows(table: Any) -> Iterator[dict[str, Any]]:
    """The rows of a data frame; an index with a name is a column, too."""
    if table.index.name is not None and table.index.name not in table.columns:
        table = table.reset_index()
    names = [str(name) for name in table.columns]
    return (dict(zip(names, row, strict=True)) for row in table.itertuples(index=False, name=None))


def _wrong(found: str) -> ParameterError:
    return ParameterError(WHERE, expected=EXPECTED, found=Phrase(found))
