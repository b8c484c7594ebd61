"""What has come of the screening: the counts of a PRISMA flow diagram, and files to take away."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from starlette.responses import Response

from rankwell.reviews.screening.app.site import site_of
from rankwell.reviews.screening.exporting import STATUSES, csv_export, ris_export

SELECTIONS: Mapping[str, tuple[str, ...]] = {
    "all": STATUSES,
    "included": ("included",),
    "maybe": ("maybe",),
    "excluded": ("excluded",),
}
KINDS = {"ris": "application/x-research-info-systems; charset=utf-8", "csv": "text/csv; charset=utf-8"}
MAKERS = {"ris": ris_export, "csv": csv_export}
router = APIRouter(default_response_class=Response)


@router.get("/results")
def results(request: Request) -> Response:
    """Counts and downloads."""
    site = site_of(request)
    reviewer = site.reviewer(request)
    return site.show(
        request, "results.html", reviewer, prisma=site.project.prisma(), selections=list(SELECTIONS), kinds=list(KINDS)
    )


@router.get("/export/{name}")
def export(request: Request, name: Annotated[str, Path(max_length=40)]) -> Response:
    """A file to take away: `included.ris`, `all.csv`, ..., `prisma.json`."""
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
