"""The screening page: it shows a record, saves the decision, and shows the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Annotated, NamedTuple, Self

from fastapi import APIRouter, Depends, Form, HTTPException, Path
from starlette.responses import Response

from rankwell.apps.screening.site import Visit, check_reviewer
from rankwell.reviews.screening.decisions import LONGEST_NOTE, LONGEST_REASON, Answer, Decision
from rankwell.reviews.screening.effort import Stopping, suggest_stopping
from rankwell.reviews.screening.files import WORDS
from rankwell.reviews.screening.ranking import Order

LEFT, RIGHT, TOP, BOTTOM = 34.0, 310.0, 12.0, 132.0
MOST_POINTS = 240


class ProgressCurve(NamedTuple):
    """A curve in a box from (LEFT, BOTTOM) to (RIGHT, TOP), and the counts at its end."""

    looked: int
    found: int
    path: str


def curve_of(kept: Sequence[bool]) -> ProgressCurve:
    """The curve of inclusions over screened records, with fewer points where it is long."""
    heights = [0, *accumulate(map(int, kept))]
    looked, included = len(kept), heights[-1]
    step = max(1, looked // MOST_POINTS)
    places = [*range(0, looked, step), looked]
    across = (RIGHT - LEFT) / max(looked, 1)
    up = (BOTTOM - TOP) / max(included, 1)
    points = [f"{LEFT + place * across:.1f} {BOTTOM - heights[place] * up:.1f}" for place in places]
    return ProgressCurve(looked, included, "M" + " L".join(points))


@dataclass(frozen=True)
class Standing:
    """A reviewer's current state; `decisions` are in the order of screening."""

    decisions: Mapping[int, Decision]
    aside: frozenset[int]
    order: Order

    @cached_property
    def waiting(self) -> list[int]:
        """The undecided records, most promising first."""
        done = self.decisions
        return [record for record in self.order.records if record not in done and record not in self.aside]

    def beginning_with(self, record: int) -> Self:
        """The same with this record next, because its decision was just undone."""
        records = (record, *(other for other in self.order.records if other != record))
        return replace(self, order=self.order._replace(records=records))

    @property
    def total(self) -> int:
        """Number of records to screen, without duplicates."""
        return len(self.waiting) + len(self.decisions)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of decisions by answer."""
        counts = Counter(decision.answer.value for decision in self.decisions.values())
        return {answer.value: counts[answer.value] for answer in Answer}

    @cached_property
    def kept(self) -> list[bool]:
        """For each screened record, whether it is kept: a maybe is, so that stopping is not suggested too soon."""
        return [decision.answer is not Answer.EXCLUDE for decision in self.decisions.values()]

    @cached_property
    def curve(self) -> ProgressCurve:
        """The curve of inclusions over screened records."""
        return curve_of(self.kept)

    @cached_property
    def stopping(self) -> Stopping:
        """The suggestion whether to stop."""
        return suggest_stopping(self.kept, self.total)

    def neighbours(self, record: int) -> tuple[int | None, int | None]:
        """The records before and after one: decided ones in their order, then undecided ones."""
        line = [*self.decisions, *self.waiting]
        place = line.index(record)
        before = line[place - 1] if place else None
        return before, line[place + 1] if place + 1 < len(line) else None


def standing_of(visit: Visit) -> Standing:
    """The reviewer's current state."""
    project, reviewer = visit.project, visit.reviewer.id
    return Standing(project.decisions.of(reviewer), project.duplicates.set_aside(), visit.site.ranking.order(reviewer))


LARGEST = 2**31 - 1

Number = Annotated[int, Path(ge=1, le=LARGEST)]
Reason = Annotated[str, Form(max_length=LONGEST_REASON)]
router = APIRouter(default_response_class=Response, dependencies=[Depends(check_reviewer)])


@router.get("/screen")
def next_record(visit: Visit) -> Response:
    """The page of the most promising undecided record."""
    return _next(visit)


@router.get("/screen/{record}")
def one_record(visit: Visit, record: Number) -> Response:
    """The page of one record, decided or not."""
    return _show(visit, record, standing_of(visit))


@router.post("/screen/{record}")
def decide(
    visit: Visit,
    record: Number,
    answer: Annotated[Answer, Form()],
    reason: Reason = "",
    note: Annotated[str, Form(max_length=2 * LONGEST_NOTE)] = "",
) -> Response:
    """Save an answer to the disk, and show the next record."""
    check_reason(visit, reason)
    note = note.replace("\r\n", "\n").strip()
    if not visit.project.decisions.decide(visit.reviewer.id, record, answer, reason, note):
        raise HTTPException(404)
    visit.site.ranking.changed()
    return _next(visit, said=f"Saved: {WORDS[answer]}.")


@router.post("/undo")
def undo(visit: Visit) -> Response:
    """Undo the last answer, and show its record."""
    record = visit.project.decisions.undo(visit.reviewer.id)
    visit.site.ranking.changed()
    if record is None or record in visit.project.duplicates.set_aside():
        return _next(visit)
    if visit.wants_fragment:
        return _show(visit, record, standing_of(visit).beginning_with(record), said="Undone.")
    return visit.go(f"/screen/{record}")


def check_reason(visit: Visit, reason: str) -> None:
    """Raise an error unless the reason is on the project's list."""
    if reason and reason not in visit.project.settings.reasons:
        raise HTTPException(422)


def _next(visit: Visit, said: str = "") -> Response:
    """The next record: directly for our script, by a redirect for a plain form, so that a reload is harmless."""
    if visit.request.method == "POST" and not visit.wants_fragment:
        return visit.go("/screen")
    standing = standing_of(visit)
    if standing.waiting:
        return _show(visit, standing.waiting[0], standing, said=said)
    if not standing.total:
        return visit.go("/import")
    return visit.show("finished.html", standing=standing, said=said)


def _show(visit: Visit, number: int, standing: Standing, *, said: str = "") -> Response:
    record = visit.project.records.get(number)
    if record is None or number in standing.aside:
        raise HTTPException(404)
    before, after = standing.neighbours(number)
    return visit.show(
        "screen.html",
        record=record,
        decision=standing.decisions.get(number),
        standing=standing,
        before=before,
        after=after,
        is_next=bool(standing.waiting) and standing.waiting[0] == number,
        longest_note=LONGEST_NOTE,
        said=said,
    )
