"""The REST API: searches, documents, judgments, health and metrics over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from rankwell import __version__
from rankwell.apps.search.access import JUDGMENTS, Key
from rankwell.apps.search.api import problems, schemas
from rankwell.apps.search.documents_writer import DocumentsWriter, Written
from rankwell.apps.search.judgments import FILES, JudgmentsFile
from rankwell.apps.search.requests import parse_query, parse_values
from rankwell.apps.search.responses import to_json
from rankwell.apps.search.service import METRICS_TYPE, Service, event, response_json
from rankwell.apps.web.middleware import Faults, SecurityHeaders
from rankwell.core import Document, ParameterError, Phrase, RankwellError, check_id, shown

ABOUT = """\
Search an index, and change it. Options are those of `rankwell search`. Every refusal is a `Problem`. Reading is open
unless the server is private; judging, writing and reading judgments need a key with the role judge, write or admin
(`rankwell serve keys add NAME --role ROLE`) in the header `Authorization: Bearer KEY` or `X-API-Key: KEY`.
"""
PATH = "/api/search"
DOCUMENTS, DOCUMENT = "/api/documents", "/api/documents/{id:any}"
READING = (401, 429, 503)
SEARCHING = (*READING, 400, 422)
CHANGING = (*READING, 400, 403, 413, 415, 422)
RESULTS = (schemas.SearchResponse, "The results.")
STREAM = (None, "Events `first` and `reranked` (each with a SearchResponse), then `done`; or `error` (a Problem).")
REPLACED = (schemas.Written, "The document was replaced.")
ALL_KEPT = (schemas.Written, "All of them are kept.")
DELETED = (schemas.Written, "The document is gone.")
EVERY_JUDGMENT = (schemas.Judgments, "Every judgment that counts.")
YES = (schemas.Status, "Yes.")
PARAMETERS = {"parameters": schemas.search_parameters()}
BODY, TEXTS = schemas.body(schemas.search_body()), schemas.body("Texts")
BATCH, JUDGMENT = schemas.body("Batch"), schemas.body("Judgment")
TEXT = {"text/plain": {"schema": {"type": "string"}}}
EVENTS = "text/event-stream"
EVENT = {EVENTS: {"schema": {"$ref": "#/components/schemas/Event"}}}
FORMATS = ("json", *FILES)
FORMAT = {
    "parameters": [
        schemas.parameter(
            "format",
            "json has all; qrels (TREC) and queries (CSV) are files that `rankwell evaluate` reads, grades (TSV) has "
            "each person's own for `rankwell assess agreement`.",
            {"type": "string", "enum": list(FORMATS), "default": "json"},
        )
    ]
}
F = TypeVar("F", bound=Callable[..., Any])


class AnyConvertor(PathConvertor):
    """An id in a path: any text, line breaks too, so that the rule for ids answers and not the router."""

    regex = r"[\s\S]*"


register_url_convertor("any", AnyConvertor())
router = APIRouter(default_response_class=Response, generate_unique_id_function=lambda route: route.name)


def route(
    method: str,
    path: str,
    summary: str,
    answer: tuple[type[Any] | None, str],
    *refusals: int,
    content: schemas.Schema | None = None,
    created: str | None = None,
    openapi: schemas.Schema | None = None,
) -> Callable[[F], F]:
    """Declare a route: the model and the description of its answer, and the statuses with which it may refuse.

    `content` are answers that are no JSON, `created` describes the answer 201, `openapi` is added to the document. Its
    tag is the part of the path after /api, its operation id the function's name.
    """
    model, about = answer
    responses: dict[int | str, schemas.Schema] = {
        200: {"description": about, **({"model": model} if model else {}), "content": content or {}}
    }
    responses |= {201: {"description": created, "model": model}} if created else {}
    return router.api_route(
        path,
        methods=[method],
        summary=summary,
        tags=[path.split("/")[2] if path.startswith("/api/") else "server"],
        responses={**responses, **schemas.problems(*refusals)},
        openapi_extra=openapi,
    )


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _id(request: Request, id: str) -> str:
    """The id of a path. Bytes that are no text are refused: the server would read all of them as one character."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except UnicodeDecodeError as error:
        raise ParameterError("id", expected="UTF-8 behind the percent signs", found=Phrase("other bytes")) from error
    return id


Parts = Annotated[Service, Depends(_service)]
Id = Annotated[str, Depends(_id)]


def _writer(service: Service) -> DocumentsWriter:
    if service.writer is None:
        raise problems.ProblemError(403, "this server does not write: its index is filled by rankwell push")
    return service.writer


async def _judgments(service: Parts) -> JudgmentsFile:
    if service.judgments is None:
        raise problems.ProblemError(404, "this server keeps no judgments", "a server started with --judgments FILE")
    return service.judgments


Judgments = Annotated[JudgmentsFile, Depends(_judgments)]


def _json(content: Any, status: int = 200) -> Response:
    return Response(to_json(content), status, media_type=problems.JSON)


@route("GET", PATH, "Search", RESULTS, *SEARCHING, openapi=PARAMETERS)
async def search(request: Request, service: Parts) -> Response:
    """Search with the options of `rankwell search`, in the query string.

    Results that a model should have re-ranked and did not within the time-out are the first stage's, and `partial`.
    """
    asked = parse_query(request.scope["query_string"], service.settings)
    return Response(await service.search(asked, request.receive), media_type=problems.JSON)


@route("POST", PATH, "Search, with options as JSON", RESULTS, *SEARCHING, 413, 415, openapi=BODY)
async def search_with_json(request: Request, service: Parts) -> Response:
    """The same, with the options as a JSON object."""
    asked = parse_values(problems.read_object(await request.body()), service.settings)
    return Response(await service.search(asked, request.receive), media_type=problems.JSON)


@route(
    "GET", PATH + "/stream", "Search, with results as they come", STREAM, *SEARCHING, content=EVENT, openapi=PARAMETERS
)
async def search_stream(request: Request, service: Parts) -> Response:
    """Server-sent events: the first stage's results at once, re-ranked ones when the model is done."""
    asked = parse_query(request.scope["query_string"], service.settings)
    state, first = await service.first(asked, response_json)

    async def events() -> AsyncIterator[bytes]:
        try:
            async for each in service.stream(state, first):
                yield each
        except RankwellError as error:
            yield event(b"error", to_json(problems.problem_for(service, error).for_json()))

    return StreamingResponse(events(), media_type=EVENTS, headers={"x-accel-buffering": "no"})


@route("GET", DOCUMENT, "Read a document", (schemas.Document, "The document."), *READING, 404, 422)
async def read_document(service: Parts, id: Id) -> Response:
    """A stored document by its id."""
    document = await service.pool.run(service.searcher.document, id)
    if document is None:
        raise _missing(id)
    return _json(document._asdict())


@route(
    "PUT",
    DOCUMENT,
    "Add or replace a document",
    REPLACED,
    *CHANGING,
    409,
    created="The document was added.",
    openapi=TEXTS,
)
async def put_document(request: Request, service: Parts, id: Id) -> Response:
    """Keep a document under its id. When this answers, it survives a loss of power."""
    texts = problems.read_named(await request.body(), "fields", others=("metadata",))
    written = await _done(_writer(service).put([_document({"id": id, **texts}, "body")]))
    return _json(written._asdict(), 201 if written.created else 200)


@route("POST", DOCUMENTS, "Add or replace several documents", ALL_KEPT, *CHANGING, 409, openapi=BATCH)
async def put_documents(request: Request, service: Parts) -> Response:
    """Keep several documents, all or none of them."""
    batch, most = problems.read_named(await request.body(), "documents")["documents"], service.settings.max_batch
    if not isinstance(batch, list) or not batch:
        raise ParameterError("documents", expected="a list of documents", found=batch)
    if len(batch) > most:
        raise ParameterError("documents", expected=f"at most {most}", found=len(batch))
    documents = [_document(entry, f"documents[{place}]") for place, entry in enumerate(batch)]
    return _json((await _done(_writer(service).put(documents)))._asdict())


@route("DELETE", DOCUMENT, "Delete a document", DELETED, *CHANGING, 404, 409)
async def delete_document(service: Parts, id: Id) -> Response:
    """Delete a document by its id."""
    written = await _done(_writer(service).delete([id]))
    if written.missing:
        raise _missing(id)
    return _json(written._asdict())


def _document(entry: Any, where: str) -> Document:
    """Parse a document from JSON."""
    if not isinstance(entry, dict):
        raise ParameterError(where, expected='{"id": ..., "fields": {...}, "metadata": {...}}', found=entry)
    for name in entry:
        if name not in ("id", "fields", "metadata"):
            raise ParameterError(where, expected="id, fields and metadata", found=name)
    docno, fields, metadata = check_id(entry.get("id")), entry.get("fields"), entry.get("metadata", {})
    if not isinstance(fields, dict) or not all(isinstance(text, str) for text in fields.values()):
        raise ParameterError(f"{where}.fields", expected="texts by name", found=fields)
    if not isinstance(metadata, dict):
        raise ParameterError(f"{where}.metadata", expected="values by name", found=metadata)
    return Document(docno, {name: text for name, text in fields.items() if text}, metadata)


def _missing(docno: str) -> problems.ProblemError:
    return problems.ProblemError(404, "there is no such document", "the id of a document", shown(docno), "id")


async def _done(future: Future[Written]) -> Written:
    """Wait for the commit even if the client disconnects: a change that was begun is completed."""
    return await asyncio.shield(asyncio.wrap_future(future))


@route(
    "POST", JUDGMENTS, "Judge a document", (schemas.Judged, "The judgment is kept."), *CHANGING, 404, openapi=JUDGMENT
)
async def judge(request: Request, service: Parts, kept: Judgments) -> Response:
    """Keep a grade for a document of a query: 1 or more is relevant, 0 or less is not, null takes it back.

    It is the grade of the key's owner; those of other people stay beside it.
    """
    given = problems.read_named(await request.body(), "query", "id", "grade")
    if isinstance(given["id"], str) and await service.pool.run(service.searcher.document, given["id"]) is None:
        raise ParameterError("id", expected="the id of a document", found=given["id"])
    who: Key = request.scope["state"]["key"]
    qid = await service.pool.run(kept.add, given["query"], given["id"], given["grade"], who=who.name)
    return _json({"query_id": qid})


@route(
    "GET", JUDGMENTS, "Download the judgments", EVERY_JUDGMENT, *READING, 403, 404, 422, content=TEXT, openapi=FORMAT
)
async def judgments(request: Request, service: Parts, kept: Judgments) -> Response:
    """Queries, qrels and every person's grades, as JSON or as files; for administrators."""
    chosen = request.query_params.get("format", "json")
    if chosen not in FORMATS:
        raise ParameterError("format", expected=" or ".join(FORMATS), found=chosen)
    if chosen == "json":
        queries = [{"id": query.id, "text": query.text()} for query in kept.queries().values()]
        qrels = [{"query_id": qid, "id": docno, "grade": grade} for qid, docno, grade in kept.qrels().rows()]
        given = [
            {"query_id": row.qid, "id": row.docno, "grade": row.grade, "who": row.assessor}
            for row in kept.by_person().rows()
        ]
        return _json({"queries": queries, "qrels": qrels, "grades": given})
    return download(FILES[chosen], await service.pool.run(kept.content, chosen))


def download(name: str, content: bytes) -> Response:
    """A text file for a browser to save."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(content, headers=headers, media_type="text/plain; charset=utf-8")


@route("GET", "/api/index", "Describe the index", (schemas.IndexInfo, "What there is to say about it."), *READING)
async def describe_index(service: Parts) -> Response:
    """Its documents, fields, metadata columns, vectors, and the models that a search may name."""
    return _json(await service.pool.run(service.searcher.info))


@route("GET", "/health", "Alive, and searching the last commit?", YES, 503)
async def health(service: Parts) -> Response:
    """Answers as long as the process does, however many searches wait; 503 where the last commit cannot be opened."""
    trouble = service.searcher.indexes.trouble
    if trouble is not None:
        words = f"searches do not see the last commit: {service.public(trouble)}"
        raise problems.ProblemError(503, words, headers={"retry-after": "5"})
    return _json({"status": "ok"})


@route("GET", "/ready", "Ready for searches?", YES, 503)
async def ready(service: Parts) -> Response:
    """Whether the models are loaded."""
    if not service.ready:
        why = service.trouble or "the models are being loaded"
        raise problems.ProblemError(503, why, headers={"retry-after": "1"})
    return _json({"status": "ready"})


@route("GET", "/metrics", "Metrics", (None, "For Prometheus."), 401, 429, content=TEXT)
async def metrics(service: Parts) -> Response:
    """What the server counts, in Prometheus' text format."""
    return Response(service.metrics.text(), headers={"content-type": METRICS_TYPE})


class QuickSearch:
    """Middleware that answers searches itself, in a fraction of FastAPI's time, and passes everything else on."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self.app, self.service, self.route = app, service, router.routes[0]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a search, or pass the request on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        scope["route"] = self.route
        try:
            body = await self.service.search(parse_query(scope["query_string"], self.service.settings), receive)
        except RankwellError as error:
            await problems.problem_for(self.service, error).response()(scope, receive, send)
            return
        headers = [(b"content-type", problems.JSON.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def create_api(service: Service) -> FastAPI:
    """Create the REST API of a service."""
    app = FastAPI(
        title="Rankwell",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    problems.answer_errors(app, service)
    app.add_middleware(QuickSearch, service=service)
    app.add_middleware(problems.JsonBodies, largest=service.settings.max_body)
    app.add_middleware(
        Faults,
        page=lambda _, status, where: problems.ProblemError(
            status, problems.WORDS[500], found=f"reference {where}"
        ).response(),
    )
    app.add_middleware(SecurityHeaders, secure=(service.settings.base_url or "").startswith("https:"))
    app.include_router(router)
    usual = app.openapi

    def openapi() -> schemas.Schema:
        if app.openapi_schema is None:
            app.openapi_schema = schemas.described(usual(), service.settings)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to change it
    return app
