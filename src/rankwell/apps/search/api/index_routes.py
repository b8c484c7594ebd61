"""Routes for the index, the judgments, health and metrics."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from rankwell.apps.search.api.problems import Problem, ProblemError, json_object, json_response
from rankwell.apps.search.api.schemas import body, problems, success
from rankwell.apps.search.judgments import JudgmentsFile
from rankwell.apps.search.metrics import CONTENT_TYPE
from rankwell.apps.search.service import Service
from rankwell.collections import write_qrels, write_queries
from rankwell.core import ParameterError

router = APIRouter(default_response_class=Response)
UNAVAILABLE = 503
FORMATS = ("json", "qrels", "queries")
FORMAT_PARAMETER = {
    "name": "format",
    "in": "query",
    "required": False,
    "description": "json has both; qrels (TREC) and queries (CSV) are files that `rankwell evaluate` reads.",
    "schema": {"type": "string", "enum": list(FORMATS), "default": "json"},
}


@router.get(
    "/api/index",
    tags=["index"],
    summary="Describe the index",
    operation_id="describe_index",
    responses={200: success("IndexInfo", "What there is to say about it."), **problems(401, 429, 503)},
)
async def describe_index(request: Request) -> Response:
    """Its documents, fields, metadata columns, vectors, and the models that a search may name."""
    service: Service = request.app.state.service
    return json_response(await service.pool.run(service.searcher.info))


@router.post(
    "/api/judgments",
    tags=["judgments"],
    summary="Judge a document",
    operation_id="judge",
    responses={
        200: success("Judged", "The judgment is kept."),
        **problems(400, 401, 403, 404, 413, 415, 422, 429, 503),
    },
    openapi_extra={"requestBody": body("Judgment")},
)
async def judge(request: Request) -> Response:
    """Keep a grade for a document of a query: 1 or more is relevant, 0 or less is not, null takes it back."""
    service: Service = request.app.state.service
    judgments = _judgments(service)
    given = json_object(await request.body(), needed=("query", "id", "grade"))
    if isinstance(given["id"], str) and await service.pool.run(service.searcher.document, given["id"]) is None:
        raise ParameterError("id", expected="the id of a document", found=given["id"])
    key = request.scope.get("state", {}).get("key")
    who = None if key is None else key.name
    qid = await service.pool.run(judgments.add, given["query"], given["id"], given["grade"], who=who)
    return json_response({"query_id": qid})


@router.get(
    "/api/judgments",
    tags=["judgments"],
    summary="Download the judgments",
    operation_id="judgments",
    responses={
        200: {
            **success("Judgments", "Every judgment that counts."),
            "content": {**success("Judgments", "")["content"], "text/plain": {"schema": {"type": "string"}}},
        },
        **problems(401, 404, 422, 429, 503),
    },
    openapi_extra={"parameters": [FORMAT_PARAMETER]},
)
async def judgments(request: Request) -> Response:
    """Queries and qrels, as JSON or as files."""
    service: Service = request.app.state.service
    kept = _judgments(service)
    chosen = request.query_params.get("format", "json")
    if chosen not in FORMATS:
        raise ParameterError("format", expected=" or ".join(FORMATS), found=chosen)
    if chosen != "json":
        name = "judgments.qrels" if chosen == "qrels" else "judgments.queries.csv"
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        content = await service.pool.run(_file, kept, chosen, name)
        return Response(content, headers=headers, media_type="text/plain; charset=utf-8")
    queries = [{"id": query.id, "text": query.text()} for query in kept.queries().values()]
    qrels = [{"query_id": qid, "id": docno, "grade": grade} for qid, docno, grade in kept.qrels().rows()]
    return json_response({"queries": queries, "qrels": qrels})


@router.get(
    "/health", tags=["server"], summary="Alive?", operation_id="health", responses={200: success("Status", "Yes.")}
)
async def health() -> Response:
    """Answers as long as the process does, however many searches wait."""
    return json_response({"status": "ok"})


@router.get(
    "/ready",
    tags=["server"],
    summary="Ready for searches?",
    operation_id="ready",
    responses={200: success("Status", "Yes."), **problems(503)},
)
async def ready(request: Request) -> Response:
    """Whether the models are loaded."""
    service: Service = request.app.state.service
    if not service.ready:
        why = service.trouble or "the models are being loaded"
        raise ProblemError(Problem(UNAVAILABLE, why, headers={"retry-after": "1"}))
    return json_response({"status": "ready"})


@router.get(
    "/metrics",
    tags=["server"],
    summary="Metrics",
    operation_id="metrics",
    responses={
        200: {"description": "For Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(401, 429),
    },
)
async def metrics(request: Request) -> Response:
    """What the server counts, in Prometheus' text format."""
    service: Service = request.app.state.service
    return Response(service.metrics.text(), headers={"content-type": CONTENT_TYPE})


def _judgments(service: Service) -> JudgmentsFile:
    if service.judgments is None:
        raise ProblemError(Problem(404, "this server keeps no judgments", "a server started with --judgments FILE"))
    return service.judgments


def _file(kept: JudgmentsFile, chosen: str, name: str) -> bytes:
    """The queries or qrels as file content, written by the library in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if chosen == "qrels":
            write_qrels(path, kept.qrels(), "trec")
        else:
            write_queries(path, kept.queries(), "csv")
        return path.read_bytes()
