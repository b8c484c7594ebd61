"""Running the screening application: on this machine, for those who have its links."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from rankwell.core import MissingExtraError
from rankwell.reviews.screening.app.application import create_application
from rankwell.reviews.screening.store import Project
from rankwell.web import secret_key


def run(
    project: Project,
    *,
    model: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    quiet: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a project until told to stop; `tell` hears each reviewer's link, `model` reads in the background."""
    try:
        from rankwell.web.server import serve
    except ImportError as error:
        raise MissingExtraError("serving a screening project", extra="reviews") from error
    app = create_application(project, key=secret_key(), model=model)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    tell(f"{project.settings.title}: {project.records.count():,} records")
    for reviewer in project.reviewers():
        tell(f"{reviewer.name}: {address}{app.state.site.link(reviewer)}")
    if not is_loopback(host):
        tell("note: this is reached from other machines, without encryption: put a proxy with HTTPS before it")
    serve(app, host=host, port=port, quiet=quiet)


def is_loopback(host: str) -> bool:
    """Whether only this machine gets there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
