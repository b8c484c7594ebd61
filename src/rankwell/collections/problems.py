"""What happens to a record that cannot be read: it stops the work, or it is left out and listed."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankwell.core.errors import FormatError

KEPT = 1000


@dataclass
class Problems:
    """Raises at the first bad record, or with `skip` counts them all and keeps the first thousand to show."""

    skip: bool = False
    count: int = 0
    found: list[FormatError] = field(default_factory=list)

    def add(self, problem: FormatError) -> None:
        """Here is a bad record."""
        if not self.skip:
            try:
                raise problem
            finally:
                del problem  # else it would hold the frames, and their open files, that hold it
        self.count += 1
        if len(self.found) < KEPT:
            self.found.append(problem)
