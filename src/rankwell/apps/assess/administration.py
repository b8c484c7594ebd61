"""The administrator's pages: progress, assessors and invitations. Each checks the role."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Path, Query, Request
from starlette.responses import Response

from rankwell.apps.assess.site import site_of
from rankwell.judging.people import Account
from rankwell.judging.sign_in import MOST_PLACES, VALID_DAYS

PAGE = 200  # queries on one page
LARGEST = 2**31 - 1
LONGEST_DAYS = 3650

Name = Annotated[str, Path(max_length=32)]
router = APIRouter(prefix="/admin", default_response_class=Response)


@router.get("")
def progress(request: Request, page: Annotated[int, Query(ge=1, le=100_000)] = 1) -> Response:
    """The study's progress by query."""
    site = site_of(request)
    account = site.administrator(request)
    found = site.store.progress()
    pages = max(1, -(-len(found.queries) // PAGE))
    if page > pages:
        raise HTTPException(404)
    shown = found.queries[(page - 1) * PAGE : page * PAGE]
    return site.show(request, "admin_progress.html", account, progress=found, shown=shown, page=page, page_count=pages)


@router.get("/assessors")
def assessors(request: Request) -> Response:
    """The list of assessors by their random names."""
    site = site_of(request)
    account = site.administrator(request)
    return site.show(request, "admin_assessors.html", account, assessors=site.store.progress().assessors)


@router.get("/assessors/{name}")
def assessor(request: Request, name: Name) -> Response:
    """One assessor; only this page shows their address."""
    site = site_of(request)
    return _assessor(request, site.administrator(request), name)


def _assessor(request: Request, account: Account, name: str, problem: str | None = None) -> Response:
    site = site_of(request)
    who = site.store.people.account(name)
    if who is None:
        raise HTTPException(404)
    address = site.store.people.address(name)
    status = 200 if problem is None else 422
    return site.show(request, "admin_assessor.html", account, status, who=who, address=address, problem=problem)


@router.post("/assessors/{name}/pause")
def pause(request: Request, name: Name) -> Response:
    """Pause an assessor."""
    site = site_of(request)
    site.store.people.pause(name, by=site.administrator(request).name)
    return site.go(f"/admin/assessors/{name}")


@router.post("/assessors/{name}/resume")
def resume(request: Request, name: Name) -> Response:
    """Let a paused assessor grade again."""
    site = site_of(request)
    site.store.people.resume(name, by=site.administrator(request).name)
    return site.go(f"/admin/assessors/{name}")


@router.post("/assessors/{name}/delete")
def delete(request: Request, name: Name, sure: Annotated[str, Form(max_length=10)] = "") -> Response:
    """Delete an assessor's data, after a confirmation."""
    site = site_of(request)
    account = site.administrator(request)
    if not sure:
        return _assessor(request, account, name, "Nothing was deleted: tick the box if you are sure.")
    site.store.people.delete(name, by=account.name)
    return site.go("/admin/assessors")


@router.get("/invitations")
def invitations(request: Request) -> Response:
    """The list of invitations."""
    site = site_of(request)
    return _invitations(request, site.administrator(request))


@router.post("/invitations")
def invite(
    request: Request,
    places: Annotated[int, Form(ge=1, le=MOST_PLACES)],
    days: Annotated[int, Form(ge=1, le=LONGEST_DAYS)] = VALID_DAYS,
    role: Annotated[str, Form(max_length=20)] = "assessor",
) -> Response:
    """Create an invitation; only the response shows its link."""
    site = site_of(request)
    account = site.administrator(request)
    administrator = role == "administrator"
    code = site.store.invitations.invite(places, administrator=administrator, days=days, by=account.name)
    return _invitations(request, account, code)


@router.post("/invitations/{number}/withdraw")
def withdraw(request: Request, number: Annotated[int, Path(ge=1, le=LARGEST)]) -> Response:
    """Withdraw an invitation."""
    site = site_of(request)
    site.store.invitations.withdraw(number, by=site.administrator(request).name)
    return site.go("/admin/invitations")


def _invitations(request: Request, account: Account, code: str | None = None) -> Response:
    site = site_of(request)
    return site.show(
        request,
        "admin_invitations.html",
        account,
        invitations=site.store.invitations.all(),
        code=code,
        link=None if code is None else request.app.state.door.invitation(code),
        days=VALID_DAYS,
        most_places=MOST_PLACES,
    )


@router.get("/events")
def events(request: Request) -> Response:
    """The log of administrators' actions."""
    site = site_of(request)
    account = site.administrator(request)
    return site.show(request, "admin_events.html", account, events=site.store.people.events())
