"""All records in the order of the ranking, to look around in and to find one again."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from rankwell.reviews.screening.answers import Answer
from rankwell.reviews.screening.app.paging import part_of
from rankwell.reviews.screening.app.site import site_of
from rankwell.reviews.screening.app.standing import Standing, standing_of

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
    """A filtered part of the ranked list."""
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
    """What waits stands in the order of the ranking, what is decided with the last decision first."""
    if show == UNDECIDED:
        return standing.waiting
    decided = list(standing.decisions.values())[::-1]
    if show == ALL:
        return [*standing.waiting, *(decision.record for decision in decided)]
    return [decision.record for decision in decided if decision.answer == show]
