"""Makes a table of the zoo from its columns: CSV and the like, Excel, JSON, JSON lines, SQLite.

In a TOML file a column is a list of values, which are repeated as often as there are rows; or a list of lists, whose
values are put together to texts (`[["red", "blue"], ["door", "roof", "wall"]]` has six different ones); or a sequence:
`{ from = 100, step = 3, form = "T-%04d" }`, `{ date = 2023-01-05, step = 4, form = "%d.%m.%Y" }`. A dotted column of a
JSON file is inside of an object; the columns in `lists` are texts separated by `|`, written as lists.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from made_files import write_book

ROWS = 20


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write the table in the format of the path's ending."""
    names = list(table["columns"])
    rows = list(islice(zip(*map(_values, table["columns"].values()), strict=True), table.get("rows", ROWS)))
    ending = path.suffix
    if ending in (".json", ".jsonl"):
        _write_json(path, [_record(names, row, table.get("lists", ())) for row in rows], table.get("wrap"))
    elif ending == ".xlsx":
        before = [[line] for line in table.get("before", ())]
        write_book(path, {table.get("sheet", "Sheet1"): [*before, names, *rows]})
    elif ending == ".db":
        _write_database(path, table["table"], names, rows)
    else:
        text = io.StringIO()
        text.writelines(f"{line}\n" for line in table.get("before", ()))
        writer = csv.writer(text, delimiter=table.get("delimiter", ","), lineterminator=table.get("end", "\n"))
        writer.writerows(rows if table.get("no_header") else [names, *rows])
        path.write_bytes(text.getvalue().encode(table.get("encoding", "utf-8")))


def _values(column: Any) -> Iterator[Any]:
    if isinstance(column, dict):
        return _sequence(column)
    if column and isinstance(column[0], list):
        return map(" ".join, zip(*map(cycle, column), strict=False))
    return cycle(column)


def _sequence(column: Mapping[str, Any]) -> Iterator[Any]:
    step, form = column.get("step", 1), column.get("form")
    if "date" in column:
        dates = (column["date"] + datetime.timedelta(days=step * number) for number in count())
        return (date.strftime(form) if form else date for date in dates)
    return (form % number if form else number for number in count(column["from"], step))


def _record(names: Sequence[str], row: Sequence[Any], lists: Sequence[str]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, value in zip(names, row, strict=True):
        *outer, last = name.split(".")
        inner = record
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value.split("|") if name in lists else value
    return record


def _write_json(path: Path, records: Sequence[Mapping[str, Any]], wrap: str | None) -> None:
    if path.suffix == ".jsonl":
        text = "".join(f"{json.dumps(record, ensure_ascii=False, default=str)}\n" for record in records)
    else:
        whole = {"status": "ok", "total": len(records), wrap: records} if wrap else records
        text = json.dumps(whole, ensure_ascii=False, indent=2, default=str)
    path.write_text(text, encoding="utf-8")


def _write_database(path: Path, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"create table {table} ({', '.join(names)})")
    plain = [[str(value) if isinstance(value, datetime.date) else value for value in row] for row in rows]
    connection.executemany(f"insert into {table} values ({', '.join('?' * len(names))})", plain)  # noqa: S608
    connection.commit()
    connection.close()
