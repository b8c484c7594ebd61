"""A merge that runs beside the writer's other work, in a thread of the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rankwell.index.manifest import SegmentEntry
from rankwell.index.merging import merged
from rankwell.index.segment import Segment
from rankwell.index.segment_writer import SegmentWriter


class MergeJob:
    """Segments as they were at a commit, and the file that is made of them.

    `run` may take long and touches nothing but that file. It never removes it: the writer does, when it knows that the
    name is still this job's.
    """

    def __init__(
        self, sources: Sequence[Segment], file: SegmentWriter, metadata: Sequence[str], *, positions: bool
    ) -> None:
        self.sources = {segment.entry.name: segment for segment in sources}
        self.name = file.name
        self.entry: SegmentEntry | None = None  # of what was made
        self._file, self._metadata, self._positions = file, metadata, positions

    @property
    def documents(self) -> int:
        """How many documents it is about."""
        return sum(segment.entry.live for segment in self.sources.values())

    def run(self) -> None:
        """Make one segment of all."""
        try:
            segments = list(self.sources.values())
            contents = merged(segments, self._file.store, self._metadata, positions=self._positions)
            self.entry = self._file.finish(contents)
        finally:
            self._file.close()

    def died_since(self, now: Mapping[str, Segment]) -> set[str]:
        """The documents that were alive when the job began and are dead in the segments of now."""
        died: set[str] = set()
        for name, before in self.sources.items():
            dead = np.ones(before.documents, dtype=bool)  # of a segment that is gone, all have died
            if name in now:
                dead = _dead(now[name])
            died.update(before.docnos[number] for number in np.flatnonzero(dead & ~_dead(before)).tolist())
        return died


def _dead(segment: Segment) -> npt.NDArray[np.bool_]:
    return np.zeros(segment.documents, dtype=bool) if segment.dead is None else segment.dead
