"""What a search found, as a table and as a picture."""

from __future__ import annotations

from typing import Any

from rankwell.plots import Picture, bars
from rankwell.report import Column, Table
from rankwell.train.search import Searched, Tried


def search_table(found: Searched) -> Table:
    """A row a setting, the best first: its value, the spread between seeds, the difference to the best and its p."""
    names = list(dict.fromkeys(name for one in found.tried for name in one.setting))
    seeds, folds = (len({getattr(cell, what) for cell in found.best.cells}) for what in ("seed", "fold"))
    rows = []
    for place in _order(found):
        one = found.tried[place]
        difference, p = found.differences.get(place, (None, None))
        told = [_told(one.setting.get(name)) for name in names]
        rows.append([*told, one.value, one.spread, None if difference is None else difference.mean, p])
    columns = [
        *(Column(name) for name in names),
        Column(str(found.measure), digits=4),
        Column("between seeds", digits=4),
    ]
    columns += [Column("to the best", digits=4), Column("p", digits=4)]
    title = f"{len(found.tried)} settings, {seeds} seeds, {folds} folds, {len(found.best.per_query)} held-out queries"
    return Table(title, columns, rows)


def search_picture(found: Searched) -> Picture:
    """The settings as bars, the best first."""
    best_first = [found.tried[place] for place in _order(found)]
    values = {str(found.measure): [one.value for one in best_first]}
    return bars([setting_text(one) for one in best_first], values, title="Settings", x=str(found.measure), digits=3)


def setting_text(one: Tried) -> str:
    """`epochs=3, freeze=head`."""
    return ", ".join(f"{name}={_told(value)}" for name, value in one.setting.items()) or "as it is"


def _order(found: Searched) -> list[int]:
    sign = -1 if found.measure.higher_is_better else 1
    return sorted(range(len(found.tried)), key=lambda place: sign * found.tried[place].value)


def _told(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
