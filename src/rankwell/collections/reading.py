"""Settings for reading files: encoding, treatment of bad records, progress."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

from rankwell.core import SILENT, FormatError, ParameterError, Progress

KEPT = 1000


@dataclass
class Problems:
    """Raises at the first bad record, or with `skip` counts them all and keeps the first thousand to show."""

    skip: bool = False
    count: int = 0
    found: list[FormatError] = field(default_factory=list)

    def add(self, problem: FormatError) -> None:
        """Raise the problem, or count it with `skip`."""
        if not self.skip:
            try:
                raise problem
            finally:
                del problem  # breaks the reference cycle with its frames and their open files
        self.count += 1
        if len(self.found) < KEPT:
            self.found.append(problem)


@dataclass
class CurrentLine:
    """The reader's current line, for problems that are found later, such as a repeated id."""

    line: int | None = None


@dataclass(frozen=True)
class Reading:
    """Settings of all readers; by default strict UTF-8, stop at the first bad record, no progress."""

    encoding: str = "utf-8"
    problems: Problems = field(default_factory=Problems)
    progress: Progress = SILENT
    place: CurrentLine = field(default_factory=CurrentLine)

    def __post_init__(self) -> None:
        try:
            suitable = "\n,".encode(self.encoding) == b"\n,"
        except LookupError:
            suitable = False
        if not suitable:  # files are split into lines before they are decoded
            expected = "an encoding that contains ASCII, such as utf-8, latin-1 or cp1252"
            raise ParameterError("encoding", expected=expected, found=self.encoding)

    @property
    def is_utf8(self) -> bool:
        """Whether the encoding is UTF-8."""
        return codecs.lookup(self.encoding).name == "utf-8"

    @property
    def unseen(self) -> Reading:
        """The same settings for a second pass over a file: bad records are ignored without a report."""
        return Reading(self.encoding, Problems(skip=True))
