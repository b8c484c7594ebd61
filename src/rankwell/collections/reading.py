"""How to read: in which encoding, what to do with bad records, whom to tell how far we are."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field

from rankwell.collections.problems import Problems
from rankwell.core.errors import ParameterError
from rankwell.core.progress import SILENT, Progress


@dataclass
class Place:
    """Where a reader is, so that a mistake that is found later (an id that comes again) can be shown with its line."""

    line: int | None = None


@dataclass(frozen=True)
class Reading:
    """Passed through every reader; the defaults are strict UTF-8, stop at the first bad record, and no display."""

    encoding: str = "utf-8"
    problems: Problems = field(default_factory=Problems)
    progress: Progress = SILENT
    place: Place = field(default_factory=Place)

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
        """Whether files need no decoding where bytes will do."""
        return codecs.lookup(self.encoding).name == "utf-8"

    @property
    def unseen(self) -> Reading:
        """For a pass over a file that is read again: bad records are passed over, to be told of the other time."""
        return Reading(self.encoding, Problems(skip=True))
