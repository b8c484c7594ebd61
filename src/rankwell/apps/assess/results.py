"""Results of a study so far: agreement, notes and exports, with random names only."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as File
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query, Request
from starlette.responses import Response

from rankwell.apps.assess.site import site_of
from rankwell.collections import write_qrels
from rankwell.judging.agreement import measure_agreement
from rankwell.judging.export import FORMATS, exported, exported_notes
from rankwell.judging.labels import GRADED, LabelRules, make_labels, thresholds_of
from rankwell.judging.store import Store

PAGE = 100  # notes on one page
router = APIRouter(prefix="/admin", default_response_class=Response)


@router.get("/results")
def results(request: Request) -> Response:
    """The agreement of assessors, and the list of exports."""
    site = site_of(request)
    account = site.administrator(request)
    grades = site.store.grades()
    found = measure_agreement(grades, _thresholds(site.store))
    figures = [figure for figure in found.figures if figure.passages and not math.isnan(figure.value)]
    return site.show(
        request,
        "admin_results.html",
        account,
        figures=figures,
        agreement=found,
        warnings=list(found.warnings()),
        answers=len(grades),
        notes=len(site.store.notes()),
        formats=FORMATS,
        label_sets=[*_thresholds(site.store), GRADED],
    )


@router.get("/notes")
def notes(request: Request, page: Annotated[int, Query(ge=1, le=100_000)] = 1) -> Response:
    """The assessors' notes on passages."""
    site = site_of(request)
    account = site.administrator(request)
    found = site.store.notes()
    pages = max(1, -(-len(found) // PAGE))
    if page > pages:
        raise HTTPException(404)
    shown = found[(page - 1) * PAGE : page * PAGE]
    return site.show(
        request,
        "admin_notes.html",
        account,
        notes=shown,
        count=len(found),
        queries=site.store.query_texts(),
        formats=FORMATS,
        page=page,
        page_count=pages,
    )


@router.get("/export/{name}")
def export(request: Request, name: Annotated[str, Path(max_length=40)]) -> Response:
    """Download an exported file."""
    site = site_of(request)
    site.administrator(request)
    makers = exports(site.store)
    if name not in makers:
        raise HTTPException(404)
    slug = re.sub(r"[^a-z0-9]+", "-", site.store.study.title.lower()).strip("-")[:60] or "study"
    kind = "application/json" if name.endswith(".json") else "text/plain; charset=utf-8"
    disposition = f'attachment; filename="{slug}-{name}"'
    return Response(makers[name](), media_type=kind, headers={"content-disposition": disposition})


def exports(store: Store) -> Mapping[str, Callable[[], bytes]]:
    """The exports by file name."""
    answers = {f"answers.{kind}": partial(_answers, store, kind) for kind in FORMATS}
    notes = {f"notes.{kind}": partial(_notes, store, kind) for kind in FORMATS}
    return answers | notes | {f"{name}.qrels": partial(_labels, store, name) for name in (*_thresholds(store), GRADED)}


def _answers(store: Store, kind: str) -> bytes:
    return exported(store.answers(), kind).encode()


def _notes(store: Store, kind: str) -> bytes:
    return exported_notes(store.notes(), kind).encode()


def _thresholds(store: Store) -> dict[str, int]:
    grades = store.study.grades
    return thresholds_of(grades[0], grades[-1])


def _labels(store: Store, name: str) -> bytes:
    """Labels of the queries that have enough assessors."""
    study = store.study
    rules = LabelRules(study.grades[0], _thresholds(store), study.assessors_per_query)
    originals = store.originals()
    labels = make_labels(store.grades(finished=True), originals if len(originals) else None, rules)
    with TemporaryDirectory() as folder:
        path = File(folder) / "labels.qrels"
        write_qrels(path, labels.sets[name], "trec")
        return path.read_bytes()
