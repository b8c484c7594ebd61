"""The screening page: one record, an answer, saved as it is given; then the most promising of the rest."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Path, Request
from starlette.responses import Response

from rankwell.reviews.screening.answers import LONGEST_NOTE, LONGEST_REASON, Answer
from rankwell.reviews.screening.app.site import Site, site_of
from rankwell.reviews.screening.app.standing import Standing, standing_of
from rankwell.reviews.screening.exporting import WORDS
from rankwell.reviews.screening.store import Reviewer
from rankwell.web.fragments import wants_fragment

LARGEST = 2**31 - 1

Number = Annotated[int, Path(ge=1, le=LARGEST)]
Reason = Annotated[str, Form(max_length=LONGEST_REASON)]
router = APIRouter(default_response_class=Response)


@router.get("/screen")
def next_record(request: Request) -> Response:
    """The most promising record that is not decided."""
    site = site_of(request)
    return _next(request, site, site.reviewer(request))


@router.get("/screen/{record}")
def one_record(request: Request, record: Number) -> Response:
    """A record of one's choice: decided before, or not yet."""
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
    """Save an answer. When this returns, it is on the disk."""
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
    """Take the last answer back, and show its record."""
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
    """A reason is one of the list, so that they can be counted."""
    if reason and reason not in site.project.settings.reasons:
        raise HTTPException(422)


def _next(request: Request, site: Site, reviewer: Reviewer, said: str = "") -> Response:
    """The next record at once for our script; for a plain form by way of its address, so that a reload is harmless."""
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
