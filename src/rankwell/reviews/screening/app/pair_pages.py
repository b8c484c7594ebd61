"""Where two things are compared: records that may be one publication, and reviewers who differ."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Form, HTTPException, Query, Request
from starlette.responses import Response

from rankwell.reviews.screening.agreement import agreement
from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.app.paging import part_of
from rankwell.reviews.screening.app.screening_pages import Number, Reason, check_reason
from rankwell.reviews.screening.app.site import site_of

PAGE = 20
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]
router = APIRouter(default_response_class=Response)


@router.get("/duplicates")
def duplicates(request: Request, page: PageNumber = 1) -> Response:
    """Pairs, those first that wait for somebody."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    pairs, part = part_of(site.project.duplicates.all(), page, PAGE)
    numbers = sorted({number for pair in pairs for number in (pair.record, pair.original)})
    records = {record.id: record for record in site.project.records.several(numbers)}
    sources = site.project.records.came_from()
    return site.show(request, "duplicates.html", reviewer, pairs=pairs, part=part, records=records, sources=sources)


@router.post("/duplicates/{record}")
def judge_duplicate(
    request: Request, record: Number, verdict: Annotated[Literal["same", "different"], Form()], page: PageNumber = 1
) -> Response:
    """Set a record aside, or keep both."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    if not site.project.duplicates.judge(reviewer.id, record, same=verdict == "same"):
        raise HTTPException(404)
    return site.go(f"/duplicates?page={page}")


@router.get("/conflicts")
def conflicts(request: Request, page: PageNumber = 1) -> Response:
    """Records about which both have decided, and differently."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    outcomes = site.project.outcomes.all().values()
    found = sorted((outcome for outcome in outcomes if outcome.conflict), key=lambda one: not one.open_conflict)
    shown, part = part_of(found, page, PAGE)
    records = {record.id: record for record in site.project.records.several([outcome.record for outcome in shown])}
    pairs = [
        (answers[0].answer.value, answers[1].answer.value)
        for outcome in outcomes
        if len(answers := list(outcome.decisions.values())) > 1
    ]
    return site.show(
        request,
        "conflicts.html",
        reviewer,
        conflicts=shown,
        part=part,
        records=records,
        names=dict(site.project.reviewers()),
        still_open=sum(outcome.open_conflict for outcome in found),
        agreement=agreement(pairs),
    )


@router.post("/conflicts/{record}")
def resolve(
    request: Request,
    record: Number,
    answer: Annotated[Answer | Literal["reopen"], Form()],
    reason: Reason = "",
    page: PageNumber = 1,
) -> Response:
    """Settle a conflict, or take that back."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    check_reason(site, reason)
    outcomes = site.project.outcomes
    done = (
        outcomes.resolve(reviewer.id, record, answer, reason) if isinstance(answer, Answer) else outcomes.reopen(record)
    )
    if not done:
        raise HTTPException(404)
    return site.go(f"/conflicts?page={page}")
