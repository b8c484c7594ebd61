"""The judging page: it shows a passage, saves the grade, and shows the next."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Path
from starlette.responses import Response

from rankwell.apps.assess.site import Visit, check_assessor, lay_out, only_ends_named
from rankwell.judging.judging import LONGEST_NOTE, Task

UNSURE, NOTE = "unsure", "note"  # answers of a form other than grades
LARGEST = 2**31 - 1  # the largest id of a database
DAY = 24 * 3600 * 1000  # milliseconds

Number = Annotated[int, Path(ge=1, le=LARGEST)]
router = APIRouter(default_response_class=Response, dependencies=[Depends(check_assessor)])


@router.post("/begin")
def begin(visit: Visit) -> Response:
    """Assign queries to the assessor."""
    if not visit.store.judging.begin(visit.me.name):
        return visit.show("nothing_left.html")
    return _next(visit)


@router.get("/judge")
def judge(visit: Visit) -> Response:
    """The passage to judge next."""
    return _next(visit)


@router.get("/judge/{assignment}/{position}")
def judge_again(visit: Visit, assignment: Number, position: Number) -> Response:
    """A passage that was judged before, to view it again."""
    task = visit.store.judging.task(visit.me.name, assignment, position)
    if task is None:
        raise HTTPException(404)
    return _passage(visit, task)


@router.post("/judge/{assignment}/{position}")
def answer(  # noqa: PLR0917 -- FastAPI passes them by name
    visit: Visit,
    assignment: Number,
    position: Number,
    answer: Annotated[str, Form(max_length=20)],
    note: Annotated[str | None, Form(max_length=2 * LONGEST_NOTE)] = None,
    milliseconds: Annotated[int | None, Form(ge=0, le=DAY)] = None,
) -> Response:
    """Save an answer or a note to the disk, and show the next passage."""
    judging, name = visit.store.judging, visit.me.name
    note = None if note is None else note.replace("\r\n", "\n")  # browsers send CRLF
    if answer == NOTE:
        judging.note(name, assignment, position, note or "")
        if not visit.wants_fragment:
            return visit.go(f"/judge/{assignment}/{position}")
        task = judging.task(name, assignment, position)
        return _next(visit) if task is None else _passage(visit, task)
    try:
        grade = None if answer == UNSURE else int(answer)
    except ValueError:
        raise HTTPException(422) from None
    if not visit.wants_fragment:
        judging.give(name, assignment, position, grade, milliseconds=milliseconds, note=note)
        return visit.go("/judge")
    task = judging.give_and_go_on(name, assignment, position, grade, milliseconds=milliseconds, note=note)
    return _shown(visit, task, saved=answer)


@router.post("/undo")
def undo(visit: Visit) -> Response:
    """Undo the last answer, and show its passage."""
    task = visit.store.judging.undo(visit.me.name)
    if task is None:
        return _next(visit)
    if visit.wants_fragment:
        return _passage(visit, task, undone=True)
    return visit.go(f"/judge/{task.assignment}/{task.position}")


def _next(visit: Visit) -> Response:
    """The next passage: directly for our script, by a redirect for a plain form, so that a reload is harmless."""
    if visit.request.method == "POST" and not visit.wants_fragment:
        return visit.go("/judge")
    return _shown(visit, visit.store.judging.task(visit.me.name))


def _shown(visit: Visit, task: Task | None, *, saved: str | None = None) -> Response:
    if task is None:
        done = sum(query.state == "done" for query in visit.store.judging.queries(visit.me.name))
        return visit.show("round_done.html", done=done)
    return _passage(visit, task, saved=saved)


def _passage(visit: Visit, task: Task, *, saved: str | None = None, undone: bool = False) -> Response:
    names = {str(point.grade): point.name for point in visit.study.scale}
    return visit.show(
        "judge.html",
        task=task,
        reading=lay_out(task.passage, task.query, mark=visit.study.mark_terms),
        can_undo=task.answered > 0 or task.query_number > 1,
        only_ends=only_ends_named((point.grade, point.name) for point in visit.study.scale),
        guidelines=visit.site.guidelines,
        saved=names.get(saved or "", saved),
        undone=undone,
        longest_note=LONGEST_NOTE,
    )
