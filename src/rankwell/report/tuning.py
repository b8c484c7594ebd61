"""What a tuner tried, as a table, the best first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwell.report.table import Cell, Column, Table

SHOWN = 20


def tuning_table(rows: Sequence[Mapping[str, Any]], measure: str) -> Table:
    """A row a setting: its parameters, its value on all queries, and in how many folds it was chosen."""
    names = list(rows[0])
    best = sorted(rows, key=lambda row: -float(row[measure]))[:SHOWN]
    columns = [Column(name, digits=4 if name == measure else None) for name in names]
    title = f"{len(rows)} settings" + (f", the best {SHOWN}" if len(rows) > SHOWN else "")
    return Table(title, columns, [[_cell(row[name]) for name in names] for row in best])


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={weight:g}" for name, weight in value.items())
    return value if isinstance(value, (int, float, str)) else str(value)
