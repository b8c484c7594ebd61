"""`GET /api/search` answered without the web framework, which would take longer than the search itself.

The route in `search_routes` does the same, and describes it; this stands before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwell.core import RankwellError
from rankwell.serve.api.errors import problem_for
from rankwell.serve.api.problems import JSON, respond
from rankwell.serve.requests import parse_query

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rankwell.serve.service import Service

PATH = "/api/search"


class QuickSearch:
    """Answers searches; passes on everything else."""

    def __init__(self, app: ASGIApp, *, service: Service, route: BaseRoute) -> None:
        self.app, self.service, self.route = app, service, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Search, or pass the request on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        scope["route"] = self.route

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            asked = parse_query(scope["query_string"], self.service.settings)
            body = await self.service.search(asked, gone)
        except RankwellError as error:
            await respond(problem_for(self.service, error))(scope, receive, send)
            return
        headers = [(b"content-type", JSON.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
