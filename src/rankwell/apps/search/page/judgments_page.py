"""Thumbs up and down: forms that write judgments; for administrators, their files and help on evaluating with them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from starlette.responses import RedirectResponse, Response

from rankwell.apps.search.api.routes import download
from rankwell.apps.search.judgments import FILES, JudgmentsFile
from rankwell.apps.search.page.people import check_administrator
from rankwell.apps.search.page.site import Site, counted, site_of
from rankwell.apps.search.page.views import given_of, read_view
from rankwell.apps.web.visits import wants_fragment
from rankwell.core import RankwellError

router = APIRouter(include_in_schema=False)
GRADES = {"1": 1, "0": 0, "": None}
SAID = {1: "Judged relevant.", 0: "Judged not relevant.", None: "Judgment taken back."}


@router.post("/judge")
async def judge(
    request: Request,
    *,
    q: Annotated[str, Form(max_length=10_000)],
    id: Annotated[str, Form(max_length=10_000)],
    grade: Annotated[str, Form(max_length=2)] = "",
    back: Annotated[str, Form(max_length=20_000)] = "",
    rank: Annotated[int, Form(ge=1, le=1_000_000)] = 1,
) -> Response:
    """Store a grade, or remove it."""
    site = site_of(request)
    judgments, judge = _judgments(site), site.judge(request)
    if judge is None:
        raise HTTPException(401 if site.people.key(request) is None else 403)
    if grade not in GRADES or site.service.searcher.document(id) is None:
        raise HTTPException(422)
    try:
        view = read_view(given_of(back), site.usual)
        site.people.count_thumb(request, judge)
        await site.service.pool.run(judgments.add, q, id, GRADES[grade], who=judge)
    except RankwellError as error:
        return site.pages.error(request, getattr(error, "status", 422), words=site.words(error))
    if not wants_fragment(request):
        return RedirectResponse(site.link("/", view.pairs(site.usual)) + f"#r-{rank}", 303)
    row = {"q": q, "id": id, "rank": rank, "back": back, "grade": GRADES[grade]}
    return site.pages.show(request, "thumbs.html", row=row, said=SAID[GRADES[grade]])


@router.get("/judgments")
async def judgments(request: Request) -> Response:
    """Render the list of judgments, with help on using them."""
    site = site_of(request)
    kept = _judgments(site)
    check_administrator(request)
    qrels, queries = kept.qrels(), kept.queries()
    counts = Counter((qid, grade > 0) for qid, _, grade in qrels.rows())
    rows = [
        {
            "text": query.text(),
            "good": counts[query.id, True],
            "bad": counts[query.id, False],
            "link": site.link("/", [("q", query.text())]),
        }
        for query in queries.values()
    ]
    people = counted(len(set(kept.by_person().assessors)), "person", "people")
    words = f"{counted(len(kept), 'judgment')} of {people} for {counted(len(rows), 'query', 'queries')}."
    settings = site.service.settings
    values = {
        "count": len(kept),
        "words": words,
        "rows": rows,
        "folder": settings.index_name,
        "model": settings.default_reranker or next(iter(settings.rerankers), ""),
        "files": FILES,
    }
    return site.show(request, "judgments.html", values)


@router.get("/judgments/{kind}")
async def judgments_file(request: Request, kind: str) -> Response:
    """Download the judgments as a file."""
    site = site_of(request)
    kept = _judgments(site)
    check_administrator(request)
    if kind not in FILES:
        raise HTTPException(404)
    return download(FILES[kind], await site.service.pool.run(kept.content, kind))


def _judgments(site: Site) -> JudgmentsFile:
    if site.service.judgments is None:
        raise HTTPException(404)
    return site.service.judgments
