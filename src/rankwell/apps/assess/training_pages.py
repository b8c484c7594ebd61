"""The training round: a question, the feedback to its answer, and the result."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Path, Query
from starlette.responses import Response

from rankwell.apps.assess.judging_pages import UNSURE, lay_out, only_ends_named
from rankwell.apps.assess.site import Visit, check_assessor

MOST = 10_000

Number = Annotated[int, Path(ge=1, le=MOST)]
router = APIRouter(prefix="/training", default_response_class=Response, dependencies=[Depends(check_assessor)])


@router.get("")
def training(visit: Visit, again: Annotated[str, Query(max_length=5)] = "") -> Response:
    """The next question, or the result."""
    state = visit.store.training.state(visit.me.name, again=bool(again))
    if state.following is None or state.passed:
        return visit.show("training_result.html", state=state)
    question = state.following
    return visit.show(
        "training.html",
        state=state,
        question=question,
        reading=lay_out(question.passage, question.query, mark=visit.study.mark_terms),
        only_ends=only_ends_named((point.grade, point.name) for point in visit.study.scale),
        guidelines=visit.site.guidelines,
    )


@router.post("/{attempt}/{number}")
def answer(visit: Visit, attempt: Number, number: Number, answer: Annotated[str, Form(max_length=20)]) -> Response:
    """Save an answer, and show the feedback to it."""
    try:
        grade = None if answer == UNSURE else int(answer)
    except ValueError:
        raise HTTPException(422) from None
    visit.store.training.answer(visit.me.name, attempt, number, grade)
    return visit.go(f"/training/{attempt}/{number}")


@router.get("/{attempt}/{number}")
def feedback(visit: Visit, attempt: Number, number: Number) -> Response:
    """The feedback to an answer."""
    feedback = visit.store.training.feedback(visit.me.name, attempt, number)
    return visit.show(
        "training_feedback.html",
        feedback=feedback,
        state=visit.store.training.state(visit.me.name),
        names={point.grade: point.name for point in visit.study.scale},
        reading=lay_out(feedback.question.passage, feedback.question.query, mark=visit.study.mark_terms),
    )
