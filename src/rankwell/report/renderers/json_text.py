"""Tables as JSON: a list of objects, one for each row, with the columns' names as keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rankwell.report.cells import machine_value

if TYPE_CHECKING:
    from rankwell.report.table import Table


def json_text(table: Table) -> str:
    """Numbers in full; null for what is not known, since JSON has no NaN."""
    names = [column.name for column in table.columns]
    objects = [dict(zip(names, map(machine_value, row), strict=True)) for row in table.rows]
    return json.dumps(objects, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
