"""Why a document stands where it does, in lines for the terminal."""

from __future__ import annotations

from rankwell.pipelines import Explanation
from rankwell.rank import TermPart
from rankwell.report.cells import one_line
from rankwell.rerank import Place


def explanation_lines(why: Explanation) -> list[str]:
    """The terms, the places after each stage, and the best of the passages that a model read."""
    lines = [_term(part) for part in why.terms]
    if len(why.places) > 1:
        lines.append(" -> ".join(_place(place) for place in why.places))
    if why.read is not None and why.read.best is not None:
        best, count = why.read.best, len(why.read.passages)
        of = f"best of {count} passages" if count > 1 else "read"
        lines.append(f"{of}, {best.probability:.3f}: {one_line(best.text)[:200]}")
    return lines


def _term(part: TermPart) -> str:
    field = f" in {part.field}" if part.field else ""
    about = f"{part.frequency}x, in {part.documents:,} documents, idf {part.idf:.3f}"
    return f"{part.part:.4f}  {part.term}{field} ({about})"


def _place(place: Place) -> str:
    if place.rank is None:
        return f"{place.stage}: not found"
    return f"{place.stage}: {place.rank}. ({place.score:.4f})"
