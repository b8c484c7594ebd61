"""Reading and writing judgments in any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from rankwell.collections.formats.beir import BeirQrels
from rankwell.collections.formats.smart import CLASSIC_QRELS, CRANFIELD_QRELS
from rankwell.collections.formats.trec_qrels import TrecQrels
from rankwell.collections.guess import Format, for_writing, guessed, named
from rankwell.collections.reading import Reading
from rankwell.core.errors import FormatError, Phrase, shown
from rankwell.core.judgments import Judgment, Judgments


class QrelsFormat(Format, Protocol):
    """A format of judgments."""

    def read(self, path: Path, reading: Reading) -> Iterator[Judgment]:
        """The judgments."""

    def write(self, path: Path, judgments: Judgments) -> None:
        """Write them all."""


QRELS_FORMATS: tuple[QrelsFormat, ...] = (BeirQrels(), CRANFIELD_QRELS, CLASSIC_QRELS, TrecQrels())


def read_qrels(
    path: Path | str,
    format: str | None = None,
    *,
    drop_negative: bool = False,
    reading: Reading | None = None,
) -> Judgments:
    """The judgments of a file.

    A negative grade is kept (measures take it as not relevant) unless `drop_negative` says that it means "not judged",
    as the few -1 of TREC-COVID do. The same judgment twice counts once; two different grades are a problem.
    """
    path, reading = Path(path), reading or Reading()
    known = named(format, QRELS_FORMATS, "judgments") if format else guessed(path, QRELS_FORMATS, "judgments")
    rows = known.read(path, reading)
    return Judgments(consistent((row for row in rows if row.grade >= 0 or not drop_negative), path, reading))


def write_qrels(path: Path | str, judgments: Judgments, format: str | None = None) -> None:
    """Write judgments in the named format, or in the one that files of this ending have."""
    path = Path(path)
    for_writing(path, format, QRELS_FORMATS, "judgments").write(path, judgments)


def consistent(rows: Iterable[Judgment], where: Path | str, reading: Reading) -> Iterator[Judgment]:
    """The judgments; a second grade for the same document that differs from the first is a problem."""
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        before = seen.setdefault((row.qid, row.docno), row.grade)
        if before == row.grade:
            yield row
        else:
            expected = f"grade {before} again for query {shown(row.qid)} and document {shown(row.docno)}"
            reading.problems.add(
                FormatError(where, reading.place.line, expected=expected, found=Phrase(str(row.grade)))
            )
