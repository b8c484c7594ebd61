"""The API as an ASGI application: routes, error responses, OpenAPI description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwell import __version__
from rankwell.core import MissingExtraError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    from rankwell.apps.search.service import Service
    from rankwell.apps.search.settings import ServeSettings


ABOUT = """\
Search an index, and change it. Options are those of `rankwell search`. Every refusal is a `Problem`. Reading is open
unless the server is private; writing needs a key (`rankwell serve keys add NAME --role write`) in the header
`Authorization: Bearer KEY` or `X-API-Key: KEY`.
"""
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
WRITING = ("judge", "put_documents")  # POSTs that need a key
OWN = ("/health", "/ready", "/metrics", "/openapi.json")


def is_api(path: str) -> bool:
    """Whether a path belongs to the API, not to the page."""
    return path.startswith("/api/") or path == "/api" or path in OWN


def create_api(service: Service) -> FastAPI:
    """Create the REST API of a service."""
    try:
        from fastapi import FastAPI
    except ImportError as error:
        raise MissingExtraError("the REST API", extra="web") from error
    from rankwell.apps.search.api import document_routes, index_routes, search_routes
    from rankwell.apps.search.api.problems import WORDS, JsonBodies, Problem, answer_errors, respond
    from rankwell.apps.search.api.search_routes import QuickSearch
    from rankwell.apps.web.middleware import Faults, SecurityHeaders

    def broken(request: Request, status: int, reference: str) -> Response:  # noqa: ARG001 -- signature of Faults
        return respond(Problem(status, WORDS[500], found=f"reference {reference}"))

    app = FastAPI(title="Rankwell", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    app.state.service = service
    answer_errors(app, service)
    app.add_middleware(QuickSearch, service=service, route=search_routes.router.routes[0])
    app.add_middleware(JsonBodies, largest=service.settings.max_body)
    app.add_middleware(Faults, page=broken)
    app.add_middleware(SecurityHeaders, secure=(service.settings.base_url or "").startswith("https:"))
    for part in (search_routes, document_routes, index_routes):
        app.include_router(part.router)
    _describe(app, service.settings)
    return app


def _describe(app: FastAPI, settings: ServeSettings) -> None:
    """Add to FastAPI's description what it cannot know: bodies that routes parse and write by hand."""
    from rankwell.apps.search.api.schemas import COMPONENTS, limited

    usual = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = limited(usual(), settings)
            made["components"] = {"schemas": COMPONENTS, "securitySchemes": SCHEMES}
            for path in made["paths"].values():
                for method, operation in path.items():
                    writes = method in ("put", "delete") or operation["operationId"] in WRITING
                    operation["security"] = [*({name: []} for name in SCHEMES), *(() if writes else ({},))]
            app.openapi_schema = made
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own way to change it
