"""The screening page: it shows a record, saves the decision, and shows the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Annotated, NamedTuple, Self

from fastapi import APIRouter, Form, HTTPException, Path, Request
from starlette.responses import Response

from rankwell.apps.screening.site import Site, site_of
from rankwell.apps.web.responses import wants_fragment
from rankwell.reviews.screening.decisions import LONGEST_NOTE, LONGEST_REASON, Answer, Decision
from rankwell.reviews.screening.effort import Stopping, suggest_stopping
from rankwell.reviews.screening.files import WORDS
from rankwell.reviews.screening.ranking import Order
from rankwell.reviews.screening.store import Reviewer

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
    looked, found = len(kept), heights[-1]
    step = max(1, looked // MOST_POINTS)
    places = [*range(0, looked, step), looked]
    across = (RIGHT - LEFT) / max(looked, 1)
    up = (BOTTOM - TOP) / max(found, 1)
    points = [f"{LEFT + place * across:.1f} {BOTTOM - heights[place] * up:.1f}" for place in places]
    return ProgressCurve(looked, found, "M" + " L".join(points))


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
        found = Counter(decision.answer.value for decision in self.decisions.values())
        return {answer.value: found[answer.value] for answer in Answer}

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


def standing_of(site: Site, reviewer: int) -> Standing:
    """A reviewer's current state."""
    project = site.project
    return Standing(project.decisions.of(reviewer), project.duplicates.set_aside(), site.ranking.order(reviewer))


LARGEST = 2**31 - 1

Number = Annotated[int, Path(ge=1, le=LARGEST)]
Reason = Annotated[str, Form(max_length=LONGEST_REASON)]
router = APIRouter(default_response_class=Response)


@router.get("/screen")
def next_record(request: Request) -> Response:
    """The page of the most promising undecided record."""
    site = site_of(request)
    return _next(request, site, site.reviewer(request))


@router.get("/screen/{record}")
def one_record(request: Request, record: Number) -> Response:
    """The page of one record, decided or not."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    return _show(request, site, reviewer, record, standing_of(site, reviewer.id))


@router.post("/screen/{record}")
def decide(
    request: Request,
    record: Number,
    answer: Annotated[Answer, Form()],
    reason: Reason = "",
    note: Annotated[str, Form(max_length=2 * LONGEST_NOTE)] = "",
) -> Response:
    """Save an answer to the disk, and show the next record."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    check_reason(site, reason)
    note = note.replace("\r\n", "\n").strip()
    if not site.project.decisions.decide(reviewer.id, record, answer, reason, note):
        raise HTTPException(404)
    site.ranking.changed()
    return _next(request, site, reviewer, said=f"Saved: {WORDS[answer]}.")


@router.post("/undo")
def undo(request: Request) -> Response:
    """Undo the last answer, and show its record."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    record = site.project.decisions.undo(reviewer.id)
    site.ranking.changed()
    if record is None or record in site.project.duplicates.set_aside():
        return _next(request, site, reviewer)
    if wants_fragment(request):
        standing = standing_of(site, reviewer.id).beginning_with(record)
        return _show(request, site, reviewer, record, standing, said="Undone.")
    return site.go(f"/screen/{record}")


def check_reason(site: Site, reason: str) -> None:
    """Raise an error unless the reason is on the project's list."""
    if reason and reason not in site.project.settings.reasons:
        raise HTTPException(422)


def _next(request: Request, site: Site, reviewer: Reviewer, said: str = "") -> Response:
    """The next record: directly for our script, by a redirect for a plain form, so that a reload is harmless."""
    if request.method == "POST" and not wants_fragment(request):
        return site.go("/screen")
    standing = standing_of(site, reviewer.id)
    if standing.waiting:
        return _show(request, site, reviewer, standing.waiting[0], standing, said=said)
    if not standing.total:
        return site.go("/import")
    return site.show(request, "finished.html", reviewer, standing=standing, said=said)


def _show(
    request: Request, site: Site, reviewer: Reviewer, number: int, standing: Standing, *, said: str = ""
) -> Response:
    record = site.project.records.get(number)
    if record is None or number in standing.aside:
        raise HTTPException(404)
    before, after = standing.neighbours(number)
    return site.show(
        request,
        "screen.html",
        reviewer,
        record=record,
        decision=standing.decisions.get(number),
        standing=standing,
        before=before,
        after=after,
        is_next=bool(standing.waiting) and standing.waiting[0] == number,
        longest_note=LONGEST_NOTE,
        said=said,
    )
