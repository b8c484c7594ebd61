"""What validation said of a linear model's penalties."""

from __future__ import annotations

from rankwell.report import Column, Table
from rankwell.rerank import LinearModel


def penalty_table(model: LinearModel) -> Table:
    """A row for each penalty; the chosen one is marked."""
    rows = model.made["measures"]
    chosen = model.made["settings"]["penalty"]
    names = [name for name in rows[0] if name != "penalty"]
    columns = [Column("penalty", digits=4), *(Column(name, digits=4) for name in names), Column("", "left")]
    cells = [
        (row["penalty"], *(row[name] for name in names), "chosen" if row["penalty"] == chosen else "") for row in rows
    ]
    return Table(f"On {model.made['validation']['pairs']:,} validation pairs", columns, cells)
