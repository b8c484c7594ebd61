"""Create and run the screening application."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI

from rankwell.apps.screening import project_pages, screening_pages
from rankwell.apps.screening.site import ClosedError, ProjectSite
from rankwell.apps.web import Pages, Sessions, Signer, secret_key
from rankwell.apps.web.application import new_application, serve
from rankwell.apps.web.uploads import LARGEST_UPLOAD
from rankwell.core import ParameterError
from rankwell.reviews.screening.ranking import LiveRanking
from rankwell.reviews.screening.store import Project

HERE = Path(__file__).parent
CLOSED = "Open this project with the link that `rankwell review screen` printed when it was started."


def create_application(
    project: Project, *, key: bytes, model: str | None = None, secure: bool = False, describe: bool = False
) -> FastAPI:
    """The application for one project.

    `model` (BERT) encodes the records in the background; `describe` publishes the OpenAPI description, for tests.
    """
    # Browsers send a host's cookies to all of its ports: two projects at once must not share a name.
    sessions = Sessions(key, name=f"rankwell-screen-{project.key}", secure=secure)
    pages = Pages(sessions, templates=[HERE / "templates"], static=[HERE / "static"])
    app = new_application("Screening", pages, describe=describe, uploads={project_pages.UPLOAD: LARGEST_UPLOAD})
    ranking = LiveRanking(project, model)
    app.state.site = ProjectSite(pages, project, ranking, Signer(key, f"screen:{project.key}"))

    @asynccontextmanager
    async def learning(_: FastAPI) -> AsyncIterator[None]:
        ranking.start()
        yield
        ranking.close()

    app.router.lifespan_context = learning
    for router in (project_pages.door, screening_pages.router, project_pages.router):
        app.include_router(router)
    app.add_exception_handler(ClosedError, lambda request, _: pages.error(request, 401, words=CLOSED))
    app.add_exception_handler(ParameterError, lambda request, _: pages.error(request, 422))
    return app


def run(
    project: Project,
    *,
    model: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    quiet: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a project until it is stopped; `tell` gets each reviewer's link, `model` encodes in the background."""
    app = create_application(project, key=secret_key(), model=model)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    tell(f"{project.settings.title}: {project.records.count():,} records")
    for reviewer in project.reviewers():
        tell(f"{reviewer.name}: {address}{app.state.site.link(reviewer)}")
    if not is_loopback(host):
        tell("note: this is reached from other machines, without encryption: put a proxy with HTTPS before it")
    with project.database.in_use():
        serve(app, host=host, port=port, quiet=quiet)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
