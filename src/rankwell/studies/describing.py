"""A study in words: what it asks, what it runs, and how far it is; and everything about one of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from rankwell.studies.cells import CellStore
from rankwell.studies.jobs import RUN
from rankwell.studies.plan import Plan
from rankwell.studies.reading import StudyFile
from rankwell.studies.variables import expanded


def described(file: StudyFile) -> Iterator[str]:
    """The study as its file says it."""
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
        told = ", ".join(f"at most {size:,} {what}" for what, size in sizes.items() if size)
        yield f"budget {name}: {told or 'less that varies'}"
    for table in study.table:
        yield ""
        after = f" (after {table.after})" if table.after else ""
        yield f"{table.name}: {table.title}{after}"
        width = max((len(row.name) for row in file.rows(table)), default=0)
        yield from (f"  {row.name:<{width}}  {row.line}" for row in file.rows(table))


def progress_of(plan: Plan, store: CellStore) -> Iterator[str]:
    """Which cells are finished, and for which rows."""
    done = sum(store.finished(key) for key in plan.cells)
    yield f"{done:,} of {len(plan.cells):,} cells are finished"
    for cell in plan.cells.values():
        yield f"{'done' if store.finished(cell.key) else 'to do':<6} {cell.short}  {cell.title}"
    for left in plan.left_out:
        yield f"left out: {left.row} on {left.collection}: {left.why}"


def described_cell(store: CellStore, record: dict[str, Any], seed: int) -> Iterator[str]:
    """Run file, configuration, data, seed, and the cells that it was made of."""
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
