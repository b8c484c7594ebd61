"""Results of a study so far: agreement, notes and exports, with random names only."""

from __future__ import annotations

import math
import re
from pathlib import Path as File
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from starlette.responses import Response

from rankwell.apps.assess.administration import items_on
from rankwell.apps.assess.site import Visit, check_administrator
from rankwell.collections import write_qrels
from rankwell.judging.agreement import measure_agreement
from rankwell.judging.export import FORMATS, Answered, Noted, exported
from rankwell.judging.labels import GRADED, LabelRules, make_labels, thresholds_of
from rankwell.judging.store import Store

PAGE = 100  # notes on one page
ROWS = {"answers": Answered, "notes": Noted}
router = APIRouter(prefix="/admin", default_response_class=Response, dependencies=[Depends(check_administrator)])


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
        formats=FORMATS,
        label_sets=[*thresholds, GRADED],
    )


@router.get("/notes")
def notes(visit: Visit, page: Annotated[int, Query(ge=1, le=100_000)] = 1) -> Response:
    """The assessors' notes on passages."""
    notes = visit.store.notes()
    shown, pages = items_on(notes, page, PAGE)
    texts = visit.store.query_texts()
    here = {"page": page, "page_count": pages, "count": len(notes)}
    return visit.show("admin_notes.html", notes=shown, queries=texts, formats=FORMATS, **here)


@router.get("/export/{name}")
def export(visit: Visit, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download an exported file: answers or notes in a format, or a label set."""
    content, _, kind = name.rpartition(".")
    if content in ROWS and kind in FORMATS:
        rows = visit.store.answers() if content == "answers" else visit.store.notes()
        text = exported(rows, kind, ROWS[content]).encode()
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
