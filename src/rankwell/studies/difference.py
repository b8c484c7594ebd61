"""Two runs of a study beside one another: which figures have changed, and which rows only one of them has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwell.report import Column, Table
from rankwell.report.table import Cell

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
    """What to know before comparing: other studies, other data, other versions."""
    found = [
        f"the {name} differs: {first.get(name)} and {second.get(name)}"
        for name in ("study", "budget", "seed")
        if first.get(name) != second.get(name)
    ]
    names = sorted(first["data"].keys() | second["data"].keys())
    found += [f"the data differ: {name}" for name in names if first["data"].get(name) != second["data"].get(name)]
    for name in sorted(first["versions"].keys() | second["versions"].keys()):
        one, other = first["versions"].get(name), second["versions"].get(name)
        if one != other:
            found.append(f"{name} was {one or 'not there'}, then {other or 'not there'}")
    return found


def _figures(numbers: Mapping[str, Any]) -> dict[tuple[str, str, str, str], float]:
    found = {}
    for table in numbers["tables"]:
        for row in table["rows"]:
            for column, figure in row["figures"].items():
                if figure.get("value") is not None:
                    found[table["table"], table["collection"], row["row"], column] = float(figure["value"])
    return found
