"""Which status each error has."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rankwell.core import RankwellError, home
from rankwell.serve.api.problems import WORDS, Problem, ProblemError, problem_of, respond
from rankwell.serve.document_changes import IndexBusyError, NotWrittenError, WriterClosedError, WritesFullError
from rankwell.serve.pool import BusyError
from rankwell.serve.requests import UnreadableError
from rankwell.serve.rerank_request import RerankClosedError, RerankQueueFullError
from rankwell.serve.service import GoneError, Service, TooSlowError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

UNAVAILABLE = 503
STATUSES: tuple[tuple[type[RankwellError], int], ...] = (
    (UnreadableError, 400),
    (GoneError, 499),  # as nginx counts them
    (BusyError, 503),
    (TooSlowError, 503),
    (RerankQueueFullError, 503),
    (RerankClosedError, 503),
    (IndexBusyError, 409),
    (NotWrittenError, 503),
    (WritesFullError, 503),
    (WriterClosedError, 503),
    (RankwellError, 422),
)


def problem_for(service: Service, error: RankwellError) -> Problem:
    """The problem that an error of the library is to a client."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    problem = problem_of(error, status, _hidden(service))
    if not hasattr(error, "retry_after") and status != UNAVAILABLE:
        return problem
    seconds = max(1, math.ceil(getattr(error, "retry_after", 1)))
    return replace(problem, headers={"retry-after": str(seconds)})


def answer_errors(app: FastAPI, service: Service) -> None:
    """Every refusal as JSON."""
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException

    def refused(_: Request, error: Exception) -> Response:
        return respond(problem_for(service, error if isinstance(error, RankwellError) else RankwellError()))

    def raised(_: Request, error: Exception) -> Response:
        return respond(error.problem if isinstance(error, ProblemError) else Problem(500, WORDS[500]))

    def http(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        return respond(Problem(status, WORDS.get(status, "the request was refused"), headers=headers))

    def invalid(_: Request, error: Exception) -> Response:
        first = error.errors()[0] if isinstance(error, RequestValidationError) and error.errors() else {}
        where = ".".join(str(part) for part in first.get("loc", ()))
        return respond(Problem(422, WORDS[422], str(first.get("msg", "")) or None, None, where or None))

    app.add_exception_handler(RankwellError, refused)
    app.add_exception_handler(ProblemError, raised)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)


def _hidden(service: Service) -> dict[str, str]:
    """Paths of this machine, and what clients are told in their place."""
    index, name = service.settings.index, service.settings.index_name
    whole = str(service.searcher.indexes.current.path) if isinstance(index, str) else str(index.resolve())
    models = {model: known for known, model in service.settings.rerankers.items() if model != known}
    return {whole: name, str(index): name, **models, str(home()): "RANKWELL_HOME"}
