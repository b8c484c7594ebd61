"""The administrator's pages: progress, assessors, invitations; and the results so far, with random names only."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path as File
from tempfile import TemporaryDirectory
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Form, HTTPException, Path, Query
from starlette.responses import Response

from rankwell.apps.assess.site import Visit, check_administrator
from rankwell.apps.web.visits import part_of
from rankwell.collections import write_qrels
from rankwell.judging.agreement import measure_agreement
from rankwell.judging.export import FORMATS, Adjudicated, Answered, Noted, exported
from rankwell.judging.labels import GRADED, LabelRules, make_labels, thresholds_of
from rankwell.judging.sign_in import MOST_PLACES, VALID_DAYS
from rankwell.judging.store import Store

QUERIES, NOTES = 200, 100  # on one page
LARGEST = 2**31 - 1
LONGEST_DAYS = 3650
ROWS = {"answers": Answered, "notes": Noted, "adjudications": Adjudicated}

T = TypeVar("T")
Name = Annotated[str, Path(max_length=32)]
PageNumber = Annotated[int, Query(ge=1, le=100_000)]
router = APIRouter(prefix="/admin", default_response_class=Response, dependencies=[Depends(check_administrator)])


@router.get("")
def progress(visit: Visit, page: PageNumber = 1) -> Response:
    """The study's progress by query."""
    progress = visit.store.progress()
    shown, pages = items_on(progress.queries, page, QUERIES)
    watched = len({remark.assessor for remark in visit.store.watch().remarks})
    here = {"page": page, "page_count": pages}
    return visit.show("admin_progress.html", progress=progress, shown=shown, watched=watched, **here)


@router.get("/assessors")
def assessors(visit: Visit) -> Response:
    """The list of assessors by their random names."""
    return visit.show("admin_assessors.html", assessors=visit.store.progress().assessors, watch=visit.store.watch())


@router.get("/assessors/{name}")
def assessor(visit: Visit, name: Name) -> Response:
    """One assessor; only this page shows their address."""
    who = visit.store.people.account(name)
    if who is None:
        raise HTTPException(404)
    return visit.show("admin_assessor.html", who=who, address=visit.store.people.address(name))


@router.post("/assessors/{name}/pause")
def pause(visit: Visit, name: Name) -> Response:
    """Pause an assessor."""
    visit.store.people.pause(name, by=visit.me.name)
    return visit.go(f"/admin/assessors/{name}")


@router.post("/assessors/{name}/resume")
def resume(visit: Visit, name: Name) -> Response:
    """Let a paused assessor grade again."""
    visit.store.people.resume(name, by=visit.me.name)
    return visit.go(f"/admin/assessors/{name}")


@router.post("/assessors/{name}/delete")
def delete(visit: Visit, name: Name, sure: Annotated[str, Form(max_length=10)] = "") -> Response:
    """Delete an assessor's data, after a confirmation."""
    if not sure:
        return assessor(visit.refuse("Nothing was deleted: tick the box if you are sure."), name)
    visit.store.people.delete(name, by=visit.me.name)
    return visit.go("/admin/assessors")


@router.post("/assessors/{name}/adjudicate")
def make_adjudicator(visit: Visit, name: Name) -> Response:
    """Let an assessor decide where grades differ."""
    visit.store.people.make_adjudicator(name, by=visit.me.name)
    return visit.go(f"/admin/assessors/{name}")


@router.post("/assessors/{name}/adjudicate-no-more")
def make_no_adjudicator(visit: Visit, name: Name) -> Response:
    """Let an adjudicator only grade."""
    visit.store.people.make_no_adjudicator(name, by=visit.me.name)
    return visit.go(f"/admin/assessors/{name}")


@router.get("/grades/{query}")
def grades(visit: Visit, query: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Every single grade of a query."""
    cases = visit.store.adjudication.grades_of(query)
    if not cases:
        raise HTTPException(404)
    names = {point.grade: point.name for point in visit.study.scale}
    decided = sum(case.decided is not None for case in cases)
    return visit.show("admin_grades.html", cases=cases, names=names, decided=decided)


@router.get("/invitations")
def invitations(visit: Visit) -> Response:
    """The list of invitations."""
    return _invitations(visit)


@router.post("/invitations")
def invite(
    visit: Visit,
    places: Annotated[int, Form(ge=1, le=MOST_PLACES)],
    days: Annotated[int, Form(ge=1, le=LONGEST_DAYS)] = VALID_DAYS,
    role: Annotated[str, Form(max_length=20)] = "assessor",
) -> Response:
    """Create an invitation; only the response shows its link."""
    administrator = role == "administrator"
    code = visit.store.invitations.invite(places, administrator=administrator, days=days, by=visit.me.name)
    return _invitations(visit, code)


@router.post("/invitations/{number}/withdraw")
def withdraw(visit: Visit, number: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Withdraw an invitation."""
    visit.store.invitations.withdraw(number, by=visit.me.name)
    return visit.go("/admin/invitations")


def _invitations(visit: Visit, code: str | None = None) -> Response:
    limits = {"days": VALID_DAYS, "most_places": MOST_PLACES}
    link = None if code is None else visit.site.invitation(code)
    return visit.show(
        "admin_invitations.html", invitations=visit.store.invitations.all(), code=code, link=link, **limits
    )


@router.get("/events")
def events(visit: Visit) -> Response:
    """The log of administrators' actions."""
    return visit.show("admin_events.html", events=visit.store.people.events())


@router.get("/results")
def results(visit: Visit) -> Response:
    """The agreement of assessors, and the list of exports."""
    grades, thresholds = visit.store.grades(), _thresholds(visit.store)
    agreement = measure_agreement(grades, thresholds)
    return visit.show(
        "admin_results.html",
        figures=[figure for figure in agreement.figures if figure.passages and not math.isnan(figure.value)],
        agreement=agreement,
        warnings=list(agreement.warnings()),
        answers=len(grades),
        notes=len(visit.store.notes()),
        adjudicated=len(visit.store.adjudications()),
        formats=FORMATS,
        label_sets=[*thresholds, GRADED],
    )


@router.get("/notes")
def notes(visit: Visit, page: PageNumber = 1) -> Response:
    """The assessors' notes on passages."""
    notes = visit.store.notes()
    shown, pages = items_on(notes, page, NOTES)
    texts = visit.store.query_texts()
    here = {"page": page, "page_count": pages, "count": len(notes)}
    return visit.show("admin_notes.html", notes=shown, queries=texts, formats=FORMATS, **here)


@router.get("/export/{name}")
def export(visit: Visit, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download an exported file: answers or notes in a format, or a label set."""
    content, _, kind = name.rpartition(".")
    if content in ROWS and kind in FORMATS:
        rows = {"answers": visit.store.answers, "notes": visit.store.notes, "adjudications": visit.store.adjudications}
        text = exported(rows[content](), kind, ROWS[content]).encode()
    elif kind == "qrels" and content in (*_thresholds(visit.store), GRADED):
        text = _labels(visit.store, content)
    else:
        raise HTTPException(404)
    slug = re.sub(r"[^a-z0-9]+", "-", visit.study.title.lower()).strip("-")[:60] or "study"
    media = "application/json" if kind == "json" else "text/plain; charset=utf-8"
    return Response(text, media_type=media, headers={"content-disposition": f'attachment; filename="{slug}-{name}"'})


def _thresholds(store: Store) -> dict[str, int]:
    grades = store.study.grades
    return thresholds_of(grades[0], grades[-1])


def _labels(store: Store, name: str) -> bytes:
    """Labels of the queries that have enough assessors."""
    study = store.study
    rules = LabelRules(study.grades[0], _thresholds(store), study.assessors_per_query)
    labels = make_labels(store.grades(finished=True), store.originals() or None, rules)
    with TemporaryDirectory() as folder:
        path = File(folder) / "labels.qrels"
        write_qrels(path, labels.sets[name], "trec")
        return path.read_bytes()


def items_on(items: Sequence[T], page: int, size: int) -> tuple[Sequence[T], int]:
    """The items on a page, and the number of pages; status 404 behind the last."""
    shown, part = part_of(items, page, size)
    if page > part.pages:
        raise HTTPException(404)
    return shown, part.pages
