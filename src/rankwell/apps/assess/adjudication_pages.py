"""Passages whose grades differ: the queue, and the page on which a third person decides."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path, Query
from starlette.responses import Response

from rankwell.apps.assess.judging_pages import lay_out, only_ends_named
from rankwell.apps.assess.site import Visit, check_adjudicator
from rankwell.apps.web.visits import part_of
from rankwell.judging.adjudication import LONGEST_NOTE

CASES = 50  # on one page
LARGEST = 2**31 - 1
MOST_STEPS = 100

Number = Annotated[int, Path(ge=1, le=LARGEST)]
Least = Annotated[int, Query(ge=1, le=MOST_STEPS)]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]
router = APIRouter(prefix="/adjudicate", default_response_class=Response, dependencies=[Depends(check_adjudicator)])


@router.get("")
def queue(
    visit: Visit, least: Least = 1, page: PageNumber = 1, saved: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """The list of passages whose grades differ."""
    cases = visit.store.adjudication.queue(visit.me.name, least=least)
    shown, part = part_of(cases, page, CASES)
    return visit.show(
        "adjudicate_queue.html",
        cases=shown,
        part=part,
        waiting=sum(case.decided is None for case in cases),
        least=least,
        steps=range(1, visit.study.grades[-1] - visit.study.grades[0] + 1),
        saved=bool(saved),
    )


@router.get("/{query}/{passage}")
def look(
    visit: Visit, query: Number, passage: Number, least: Least = 1, saved: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """One passage, all its grades side by side, and the form."""
    case = visit.store.adjudication.one(visit.me.name, query, passage)
    return visit.show(
        "adjudicate.html",
        case=case,
        names={point.grade: point.name for point in visit.study.scale},
        reading=lay_out(case.passage, case.query, mark=visit.study.mark_terms),
        only_ends=only_ends_named((point.grade, point.name) for point in visit.study.scale),
        guidelines=visit.site.guidelines,
        longest_note=LONGEST_NOTE,
        least=least,
        saved=bool(saved),
    )


@router.post("/{query}/{passage}")
def decide(  # noqa: PLR0917 -- FastAPI passes them by name
    visit: Visit,
    query: Number,
    passage: Number,
    answer: Annotated[int, Form(ge=-LARGEST, le=LARGEST)],
    seen: Annotated[int, Form(ge=0)] = 0,
    note: Annotated[str, Form(max_length=2 * LONGEST_NOTE)] = "",
    least: Least = 1,
) -> Response:
    """Save a decision to the disk, and show the next passage that waits for one."""
    adjudication, name = visit.store.adjudication, visit.me.name
    adjudication.decide(name, query, passage, answer, note=note.replace("\r\n", "\n"), seen=seen)
    waiting = (case for case in adjudication.queue(name, least=least) if case.decided is None and not case.mine)
    following = next(waiting, None)
    here = "" if following is None else f"/{following.query_id}/{following.passage_id}"
    return visit.go(f"/adjudicate{here}?least={least}&saved=yes")


@router.post("/{query}/{passage}/withdraw")
def withdraw(visit: Visit, query: Number, passage: Number, least: Least = 1) -> Response:
    """Take a decision back."""
    visit.store.adjudication.withdraw(visit.me.name, query, passage)
    return visit.go(f"/adjudicate/{query}/{passage}?least={least}")
