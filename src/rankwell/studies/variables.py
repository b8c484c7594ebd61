"""What varies: a row with `$model` and `$pooling` in it is a row for each model and each pooling."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rankwell.core import RankwellError
from rankwell.studies.problems import unknown

VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
MOST_ROWS = 1000


class VariableError(RankwellError):
    """A row whose variables make no sense."""


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, its pipeline line, and the values that its variables have here."""

    name: str
    line: str
    values: Mapping[str, str] = field(default_factory=dict)
    written: str = ""  # the name as it stands in the file


def expanded(name: str, line: str, vary: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows that one row of a file stands for: all combinations, the last variable changing fastest."""
    used = list(dict.fromkeys(VARIABLE.findall(name) + VARIABLE.findall(line)))
    for variable in used:
        if variable not in vary:
            raise VariableError(unknown("a variable of [vary]", variable, vary))
        if variable not in VARIABLE.findall(name) and len(vary[variable]) > 1:
            raise VariableError(f"expected ${variable} in the row's name too, because every row needs its own name")
    count = 1
    for variable in used:
        count *= len(vary[variable])
    if count > MOST_ROWS:
        raise VariableError(f"expected at most {MOST_ROWS:,} rows, found {count:,} combinations")
    rows = []
    for chosen in itertools.product(*(vary[variable] for variable in used)):
        values = dict(zip(used, chosen, strict=True))
        rows.append(Row(filled(name, values), filled(line, values), values, name))
    return rows


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables' values."""
    return VARIABLE.sub(lambda found: values[found[1]], text)
