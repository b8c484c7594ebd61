"""The judging page: it shows a passage, saves the grade, and shows the next."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Path, Request
from starlette.responses import Response

from rankwell.apps.assess.site import FRAGMENT, Site, lay_out, only_ends_named, site_of
from rankwell.judging.judging import LONGEST_NOTE, Task
from rankwell.judging.people import Account

UNSURE, NOTE = "unsure", "note"  # answers of a form other than grades
LARGEST = 2**31 - 1  # the largest id of a database
DAY = 24 * 3600 * 1000  # milliseconds

Number = Annotated[int, Path(ge=1, le=LARGEST)]
router = APIRouter(default_response_class=Response)


@router.post("/begin")
def begin(request: Request) -> Response:
    """Assign queries to the assessor."""
    site = site_of(request)
    account = site.assessor(request)
    if not site.store.judging.begin(account.name):
        return site.show(request, "nothing_left.html", account)
    return _next(request, site, account)


@router.get("/judge")
def judge(request: Request) -> Response:
    """The passage to judge next."""
    site = site_of(request)
    return _next(request, site, site.assessor(request))


@router.get("/judge/{assignment}/{position}")
def judge_again(request: Request, assignment: Number, position: Number) -> Response:
    """A passage that was judged before, to view it again."""
    site = site_of(request)
    account = site.assessor(request)
    task = site.store.judging.task(account.name, assignment, position)
    if task is None:
        raise HTTPException(404)
    return _passage(request, site, account, task)


@router.post("/judge/{assignment}/{position}")
def answer(  # noqa: PLR0917 -- FastAPI passes them by name
    request: Request,
    assignment: Number,
    position: Number,
    answer: Annotated[str, Form(max_length=20)],
    note: Annotated[str | None, Form(max_length=2 * LONGEST_NOTE)] = None,
    milliseconds: Annotated[int | None, Form(ge=0, le=DAY)] = None,
) -> Response:
    """Save an answer or a note to the disk, and show the next passage."""
    site = site_of(request)
    account = site.assessor(request)
    note = None if note is None else note.replace("\r\n", "\n")  # browsers send CRLF
    if answer == NOTE:
        site.store.judging.note(account.name, assignment, position, note or "")
        return _there(request, site, account, assignment, position)
    grade = None if answer == UNSURE else _grade(answer)
    judging = site.store.judging
    if FRAGMENT not in request.headers:
        judging.give(account.name, assignment, position, grade, milliseconds=milliseconds, note=note)
        return site.go("/judge")
    task = judging.give_and_go_on(account.name, assignment, position, grade, milliseconds=milliseconds, note=note)
    return _shown(request, site, account, task, saved=answer)


@router.post("/undo")
def undo(request: Request) -> Response:
    """Undo the last answer, and show its passage."""
    site = site_of(request)
    account = site.assessor(request)
    task = site.store.judging.undo(account.name)
    if task is None:
        return _next(request, site, account)
    if FRAGMENT in request.headers:
        return _passage(request, site, account, task, undone=True)
    return site.go(f"/judge/{task.assignment}/{task.position}")


def _grade(answer: str) -> int:
    try:
        return int(answer)
    except ValueError:
        raise HTTPException(422) from None


def _there(request: Request, site: Site, account: Account, assignment: int, position: int) -> Response:
    if FRAGMENT not in request.headers:
        return site.go(f"/judge/{assignment}/{position}")
    task = site.store.judging.task(account.name, assignment, position)
    return _next(request, site, account) if task is None else _passage(request, site, account, task)


def _next(request: Request, site: Site, account: Account) -> Response:
    """The next passage: directly for our script, by a redirect for a plain form, so that a reload is harmless."""
    if request.method == "POST" and FRAGMENT not in request.headers:
        return site.go("/judge")
    return _shown(request, site, account, site.store.judging.task(account.name))


def _shown(request: Request, site: Site, account: Account, task: Task | None, *, saved: str | None = None) -> Response:
    if task is None:
        done = sum(query.state == "done" for query in site.store.judging.queries(account.name))
        return site.show(request, "round_done.html", account, done=done)
    return _passage(request, site, account, task, saved=saved)


def _passage(
    request: Request, site: Site, account: Account, task: Task, *, saved: str | None = None, undone: bool = False
) -> Response:
    study = site.store.study
    return site.show(
        request,
        "judge.html",
        account,
        task=task,
        reading=lay_out(task.passage, task.query, mark=study.mark_terms),
        can_undo=task.answered > 0 or task.query_number > 1,
        only_ends=only_ends_named((point.grade, point.name) for point in study.scale),
        guidelines=site.guidelines,
        saved={str(point.grade): point.name for point in study.scale}.get(saved or "", saved),
        undone=undone,
        longest_note=LONGEST_NOTE,
    )
