"""Reading and writing runs in any format."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from rankwell.collections.formats.msmarco_run import MsMarcoCandidates, MsMarcoRun
from rankwell.collections.formats.trec_run import TrecRun
from rankwell.collections.guess import Format, for_writing, guessed, named
from rankwell.collections.reading import Reading
from rankwell.core.run import Run


class RunFormat(Format, Protocol):
    """A format of runs."""

    def read(self, path: Path, reading: Reading) -> Run:
        """The run."""

    def write(self, path: Path, run: Run) -> None:
        """Write it."""


RUN_FORMATS: tuple[RunFormat, ...] = (MsMarcoCandidates(), TrecRun(), MsMarcoRun())


def read_run(path: Path | str, format: str | None = None, *, reading: Reading | None = None) -> Run:
    """The run in a file."""
    path = Path(path)
    known = named(format, RUN_FORMATS, "runs") if format else guessed(path, RUN_FORMATS, "runs")
    return known.read(path, reading or Reading())


def write_run(path: Path | str, run: Run, format: str | None = None) -> None:
    """Write a run in the named format, or in the one that files of this ending have."""
    path = Path(path)
    for_writing(path, format, RUN_FORMATS, "a run").write(path, run)
