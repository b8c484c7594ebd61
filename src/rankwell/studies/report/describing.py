"""A study in words, and the differences between two runs of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from rankwell.report import Column, Table
from rankwell.report.table import Cell
from rankwell.studies.file.reading import ExperimentFile
from rankwell.studies.file.study import expanded
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.plan import Plan
from rankwell.studies.run.jobs import RUN


def described(file: ExperimentFile) -> Iterator[str]:
    """The lines that describe a study file."""
    study = file.study
    yield study.title
    yield from ([study.about] if study.about else [])
    yield ""
    for entry in study.collection:
        instead = f", instead of {entry.instead_of}" if entry.instead_of else ""
        taught = "" if entry.measured else ", to train on"
        yield f"collection {entry.name}: {entry.source}{instead}{taught}"
    for name, line in study.models.items():
        yield from (f"model {row.name}: {' '.join(row.line.split())}" for row in expanded(name, line, file.vary))
    for name, budget in study.budget.items():
        sizes = {"queries": budget.queries, "documents": budget.documents}
        limits = ", ".join(f"at most {size:,} {what}" for what, size in sizes.items() if size)
        yield f"budget {name}: {limits or 'less that varies'}"
    for table in study.table:
        yield ""
        after = f" (after {table.after})" if table.after else ""
        yield f"{table.name}: {table.title}{after}"
        width = max((len(row.name) for row in file.rows(table)), default=0)
        yield from (f"  {row.name:<{width}}  {row.line}" for row in file.rows(table))


def progress_of(plan: Plan, store: CellStore) -> Iterator[str]:
    """Lines on the finished and unfinished cells."""
    done = sum(store.finished(key) for key in plan.cells)
    yield f"{done:,} of {len(plan.cells):,} cells are finished"
    for cell in plan.cells.values():
        yield f"{'done' if store.finished(cell.key) else 'to do':<6} {cell.short}  {cell.title}"
    for left in plan.left_out:
        yield f"left out: {left.row} on {left.collection}: {left.why}"


def described_cell(store: CellStore, record: dict[str, Any], seed: int) -> Iterator[str]:
    """A cell's run file, configuration, data, seed, and the cells that it depends on."""
    folder = store.path(record["key"])
    yield f"cell:          {record['key']}"
    yield f"what:          {record['title']}"
    if (folder / RUN).is_file():
        yield f"run file:      {folder / RUN}"
        yield f"run:           {record['run']}"
    else:
        yield f"folder:        {folder}"
    yield f"data:          {record['configuration'].get('data', '-')}"
    yield f"seed:          {seed}"
    yield f"rankwell:      {record['rankwell']}, cells of version {record['cell_version']}"
    yield f"took:          {record['seconds']:.1f} s, {record['threads']} threads, finished {record['finished']}"
    yield "configuration: " + orjson.dumps(record["configuration"]).decode()
    for parent in record["parents"]:
        yield f"made of:       {parent[:20]}  {store.record(parent)['title']}"


SAME = 5e-5  # figures are shown with four digits


def differences(first: Mapping[str, Any], second: Mapping[str, Any], *, everything: bool = False) -> Table:
    """A row for each figure that differs; `everything`: for each figure that both have."""
    before, after = _figures(first), _figures(second)
    rows: list[list[Cell]] = []
    for place in [*before, *(place for place in after if place not in before)]:
        one, other = before.get(place), after.get(place)
        if one is None or other is None:
            rows.append([*place, one, other, None])
        elif everything or abs(other - one) > SAME:
            rows.append([*place, one, other, other - one])
    columns = [Column(name, "left") for name in ("table", "collection", "row", "column")]
    columns += [Column(name, digits=4) for name in ("first", "second", "difference")]
    same = len(before.keys() & after.keys()) - sum(1 for row in rows if row[-1] is not None)
    title = f"{len(rows):,} figures differ, {same:,} are the same" if not everything else f"{len(rows):,} figures"
    return Table(title, columns, rows)


def remarks(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Warnings about the comparison: different studies, data or versions."""
    different = [
        f"the {name} differs: {first.get(name)} and {second.get(name)}"
        for name in ("study", "budget", "seed")
        if first.get(name) != second.get(name)
    ]
    names = sorted(first["data"].keys() | second["data"].keys())
    different += [f"the data differ: {name}" for name in names if first["data"].get(name) != second["data"].get(name)]
    for name in sorted(first["versions"].keys() | second["versions"].keys()):
        one, other = first["versions"].get(name), second["versions"].get(name)
        if one != other:
            different.append(f"{name} was {one or 'not there'}, then {other or 'not there'}")
    return different


def _figures(numbers: Mapping[str, Any]) -> dict[tuple[str, str, str, str], float]:
    figures = {}
    for table in numbers["tables"]:
        for row in table["rows"]:
            for column, figure in row["figures"].items():
                if figure.get("value") is not None:
                    figures[table["table"], table["collection"], row["row"], column] = float(figure["value"])
    return figures
