"""Lists of records, duplicates and conflicts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Path, Query, Request
from starlette.responses import Response

from rankwell.apps.screening.screening_pages import Number, Reason, Standing, check_reason, standing_of
from rankwell.apps.screening.site import site_of
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.files import STATUSES, csv_export, ris_export
from rankwell.reviews.screening.prisma import agreement

T = TypeVar("T")


class ListPart(NamedTuple):
    """The shown part of a list; numbers count from 1."""

    page: int
    pages: int
    first: int
    last: int
    total: int


def part_of(items: Sequence[T], page: int, size: int) -> tuple[Sequence[T], ListPart]:
    """The items of a page (the last page at most), and its place in the list."""
    pages = max(1, -(-len(items) // size))
    page = min(max(1, page), pages)
    shown = items[(page - 1) * size : page * size]
    first = (page - 1) * size
    return shown, ListPart(page, pages, first + 1 if shown else 0, first + len(shown), len(items))


PAGE = 50
MOST_WORDS = 20
ALL, UNDECIDED = "all", "undecided"
FILTERS = {
    UNDECIDED: "not decided",
    Answer.INCLUDE.value: "included",
    Answer.MAYBE.value: "maybe",
    Answer.EXCLUDE.value: "excluded",
    ALL: "all",
}
router = APIRouter(default_response_class=Response)


@router.get("/records")
def records(
    request: Request,
    show: Annotated[str, Query(max_length=20)] = UNDECIDED,
    words: Annotated[str, Query(max_length=300)] = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """A page of the filtered, ranked list."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    standing = standing_of(site, reviewer.id)
    show = show if show in FILTERS else UNDECIDED
    found = _filtered(standing, show)
    if wanted := words.split()[:MOST_WORDS]:
        matching = site.project.records.with_words(wanted)
        found = [record for record in found if record in matching]
    numbers, part = part_of(found, page, PAGE)
    return site.show(
        request,
        "records.html",
        reviewer,
        records=site.project.records.several(numbers),
        part=part,
        standing=standing,
        show=show,
        words=words,
        filters=FILTERS,
        query=urlencode({"show": show, "words": words}),
    )


def _filtered(standing: Standing, show: str) -> list[int]:
    """The filtered records: undecided ones in the order of the ranking, decided ones with the newest first."""
    if show == UNDECIDED:
        return standing.waiting
    decided = list(standing.decisions.values())[::-1]
    if show == ALL:
        return [*standing.waiting, *(decision.record for decision in decided)]
    return [decision.record for decision in decided if decision.answer == show]


PAIRS_A_PAGE = 20
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]


@router.get("/duplicates")
def duplicates(request: Request, page: PageNumber = 1) -> Response:
    """Pairs of duplicates, unconfirmed ones first."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    pairs, part = part_of(site.project.duplicates.all(), page, PAIRS_A_PAGE)
    numbers = sorted({number for pair in pairs for number in (pair.record, pair.original)})
    records = {record.id: record for record in site.project.records.several(numbers)}
    sources = site.project.records.came_from()
    return site.show(request, "duplicates.html", reviewer, pairs=pairs, part=part, records=records, sources=sources)


@router.post("/duplicates/{record}")
def judge_duplicate(
    request: Request, record: Number, verdict: Annotated[Literal["same", "different"], Form()], page: PageNumber = 1
) -> Response:
    """Confirm or reject a duplicate."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    if not site.project.duplicates.judge(reviewer.id, record, same=verdict == "same"):
        raise HTTPException(404)
    return site.go(f"/duplicates?page={page}")


@router.get("/conflicts")
def conflicts(request: Request, page: PageNumber = 1) -> Response:
    """Records with conflicting decisions."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    outcomes = site.project.outcomes.all().values()
    found = sorted((outcome for outcome in outcomes if outcome.conflict), key=lambda one: not one.open_conflict)
    shown, part = part_of(found, page, PAIRS_A_PAGE)
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
    """Resolve a conflict, or reopen it."""
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


SELECTIONS: Mapping[str, tuple[str, ...]] = {
    "all": STATUSES,
    "included": ("included",),
    "maybe": ("maybe",),
    "excluded": ("excluded",),
}
KINDS = {"ris": "application/x-research-info-systems; charset=utf-8", "csv": "text/csv; charset=utf-8"}
MAKERS = {"ris": ris_export, "csv": csv_export}


@router.get("/results")
def results(request: Request) -> Response:
    """The PRISMA counts, and the list of downloads."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    return site.show(
        request, "results.html", reviewer, prisma=site.project.prisma(), selections=list(SELECTIONS), kinds=list(KINDS)
    )


@router.get("/export/{name}")
def export(request: Request, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download a file: `included.ris`, `all.csv`, ..., `prisma.json`."""
    site = site_of(request)
    site.reviewer(request)
    slug = re.sub(r"[^a-z0-9]+", "-", site.project.settings.title.lower()).strip("-")[:60] or "review"
    headers = {"content-disposition": f'attachment; filename="{slug}-{name}"'}
    if name == "prisma.json":
        text = json.dumps(site.project.prisma().to_dict(), ensure_ascii=False, indent=1) + "\n"
        return Response(text, media_type="application/json", headers=headers)
    selection, _, kind = name.partition(".")
    if selection not in SELECTIONS or kind not in KINDS:
        raise HTTPException(404)
    text = MAKERS[kind](site.project, SELECTIONS[selection])
    return Response(text.encode(errors="replace"), media_type=KINDS[kind], headers=headers)
