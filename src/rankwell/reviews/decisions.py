"""Ambiguous studies as a table that a person fills in, and what that person decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.lines import head
from rankwell.collections.reading import Reading
from rankwell.core import FormatError
from rankwell.core.errors import Phrase
from rankwell.reviews.matching import Match
from rankwell.reviews.normalise import comparable_title
from rankwell.reviews.review import Study

COLUMNS = (
    *("decision", "review", "label", "title", "year", "authors", "reason"),
    *("pmid", "candidate_title", "candidate_year", "candidate_authors", "title_similarity", "author_similarity"),
)
AMBIGUOUS, DECIDED = "ambiguous.csv", "decisions.csv"
YES, NO = ("yes", "y", "1", "same", "true"), ("no", "n", "0", "other", "false")

Decisions = Mapping[tuple[str, str], str]
"""(review id, title as it is compared) -> the PMID that was chosen, or an empty text where none is the study."""


def study_key(review: str, study: Study) -> tuple[str, str]:
    """How a decision names a study: a changed list of studies must not shift it to another one."""
    return review, comparable_title(study.title)


def write_ambiguous(path: Path | str, matches: Iterable[tuple[str, int, Match]]) -> None:
    """A row for each candidate of each ambiguous study (with its review and label); `decision` is left empty."""
    rows = (
        (
            "",
            review,
            label,
            match.study.title,
            match.study.year or "",
            match.study.authors,
            match.reason,
            near.candidate.id,
            near.candidate.fields.get("title", ""),
            near.candidate.metadata.get("year", ""),
            near.candidate.metadata.get("authors", ""),
            f"{near.title:.4f}",
            "" if near.authors is None else f"{near.authors:.4f}",
        )
        for review, label, match in matches
        for near in match.near
    )
    write_table(Path(path), COLUMNS, rows, ",")


def write_decisions(path: Path | str, decisions: Decisions) -> None:
    """What was decided so far, in a form that `read_decisions` reads."""
    rows = (("yes" if pmid else "no", review, title, pmid) for (review, title), pmid in decisions.items())
    write_table(Path(path), ("decision", "review", "title", "pmid"), rows, ",")


def decisions_in(folder: Path, given: Path | None = None) -> dict[tuple[str, str], str]:
    """Everything that was decided: before, in the build's own table of ambiguous studies, and in the given file.

    The build writes that table anew, so whatever a person filled into it must be taken first. Later ones win.
    """
    files = [folder / DECIDED, folder / AMBIGUOUS]
    found: dict[tuple[str, str], str] = {}
    for file in [*(file for file in files if file.is_file()), *([given] if given else [])]:
        found |= read_decisions(file)
    return found


def read_decisions(path: Path | str) -> dict[tuple[str, str], str]:
    """What stands in the filled-in table: `yes` beside the candidate that is the study, `no` beside the others.

    Rows without a decision stay open; a study whose candidates all have `no` is not found.
    """
    path = Path(path)
    found: dict[tuple[str, str], str] = {}
    open_studies: set[tuple[str, str]] = set()
    start = head(path)
    delimiter = max(",;\t", key=lambda mark: len(header(start, mark)))  # spreadsheets have their own idea of commas
    for number, row in table_rows(path, Reading(), delimiter):
        missing = [name for name in ("decision", "review", "title", "pmid") if name not in row]
        if missing:
            raise FormatError(path, 1, expected=f"a column {missing[0]}", found=Phrase(", ".join(row)))
        decision, key = row["decision"].strip().lower(), study_key(row["review"], Study(row["title"]))
        if decision in YES:
            if found.get(key):
                raise FormatError(
                    path, number, expected="one yes for a study", found=Phrase(f"another: {row['title']}")
                )
            found[key] = row["pmid"].strip()
        elif decision in NO:
            found.setdefault(key, "")
        elif decision:
            raise FormatError(path, number, expected="yes, no or nothing as a decision", found=row["decision"])
        else:
            open_studies.add(key)
    return {key: pmid for key, pmid in found.items() if pmid or key not in open_studies}
