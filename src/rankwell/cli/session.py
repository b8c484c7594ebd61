"""What a command that reads does around its work: show progress, and list the bad records it left out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rankwell.collections import Problems, Reading
from rankwell.core.progress import Progress


@contextlib.contextmanager
def reading(
    what: str, unit: str, *, encoding: str = "utf-8", skip_bad: bool = False, quiet: bool = False
) -> Iterator[Reading]:
    """A `Reading` with a progress display; afterwards the list of what was left out."""
    problems = Problems(skip=skip_bad)
    with Progress(what, unit=unit, quiet=quiet) as progress:
        yield Reading(encoding, problems, progress)
    if problems.count:
        for problem in problems.found:
            print(problem, file=sys.stderr)
        more = problems.count - len(problems.found)
        others = f" ({more:,} more are not shown)" if more else ""
        print(f"left out {problems.count:,} bad records{others}", file=sys.stderr)
