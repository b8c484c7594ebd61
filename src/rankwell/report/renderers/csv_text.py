"""Tables as CSV (RFC 4180): numbers in full, nothing for what is not known."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from rankwell.report.cells import is_missing, unmarked

if TYPE_CHECKING:
    from rankwell.report.table import Table


def csv_text(table: Table) -> str:
    """A header and the rows. Text is data and stays as it is, even where a spreadsheet would see a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(column.name for column in table.columns)
    for row in table.rows:
        writer.writerow("" if is_missing(cell) else cell for cell in map(unmarked, row))
    return out.getvalue()
