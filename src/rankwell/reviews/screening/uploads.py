"""Read the references of a file that somebody uploaded, in a process of its own (`rankwell.core.limited`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from rankwell.collections.references import Reference
from rankwell.core import RankwellError
from rankwell.core.limited import Limits, answer, lines_of

LIMITS = Limits()
MOST_RECORDS = 500_000
OFTEN = 500  # records between two reports


def read_upload(path: Path, told: Callable[[int], None] = lambda _: None) -> list[Reference]:
    """The references of a file, read by another process; `told` gets the number of records so far."""
    lines: list[bytes] = []
    for line in lines_of(__name__, path, limits=LIMITS):
        lines.append(line)
        if len(lines) % OFTEN == 0:
            told(len(lines))
    return [_reference(orjson.loads(line)) for line in lines]


def _reference(values: dict[str, Any]) -> Reference:
    more = tuple((str(tag), str(value)) for tag, value in values.pop("more"))
    plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return Reference(**plain, more=more)


def _lines(path: Path) -> Iterator[bytes]:
    from rankwell.reviews.screening.files import read_records

    references = read_records(path)
    if len(references) > MOST_RECORDS:
        raise RankwellError(f"{path}: expected at most {MOST_RECORDS:,} records, found {len(references):,}")
    for reference in references:
        yield orjson.dumps(asdict(reference), option=orjson.OPT_APPEND_NEWLINE)


def main(path: Path) -> int:
    """Write the references of a file to standard output, as lines of JSON."""
    import rankwell.reviews.screening.files  # noqa: F401 -- loaded before memory is limited

    return answer(path, _lines, LIMITS)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
