"""Read and change documents. A change is answered when it is on the disk and searches see it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import Response

from rankwell.apps.search.api.problems import Problem, ProblemError, json_object, json_response
from rankwell.apps.search.api.schemas import body, problems, success
from rankwell.apps.search.document_changes import Written
from rankwell.apps.search.documents_writer import DocumentsWriter
from rankwell.apps.search.service import Service
from rankwell.core import Document, ParameterError, Phrase, check_id, shown


class AnyConvertor(PathConvertor):
    """An id in a path: any text, line breaks too, so that the rule for ids answers and not the router."""

    regex = r"[\s\S]*"


register_url_convertor("any", AnyConvertor())
router = APIRouter(default_response_class=Response, tags=["documents"])
CHANGES = problems(400, 401, 403, 409, 413, 415, 422, 429, 503)
CREATED = 201


@router.get(
    "/api/documents/{id:any}",
    summary="Read a document",
    operation_id="read_document",
    responses={200: success("Document", "The document."), **problems(401, 404, 422, 429, 503)},
)
async def read_document(request: Request, id: str) -> Response:
    """A stored document by its id."""
    service: Service = request.app.state.service
    _check_path(request)
    found = await service.pool.run(service.searcher.document, id)
    if found is None:
        raise ProblemError(_missing(id))
    return json_response({"id": found.id, "fields": found.fields, "metadata": found.metadata})


@router.put(
    "/api/documents/{id:any}",
    summary="Add or replace a document",
    operation_id="put_document",
    responses={
        200: success("Written", "The document was replaced."),
        201: success("Written", "The document was added."),
        **CHANGES,
    },
    openapi_extra={"requestBody": body("Texts")},
)
async def put_document(request: Request, id: str) -> Response:
    """Keep a document under its id. When this answers, it survives a loss of power."""
    _check_path(request)
    texts = json_object(await request.body(), needed=("fields",), others=("metadata",))
    written = await _done(_writer(request).put([_document({"id": id, **texts}, "body")]))
    return json_response(written._asdict(), CREATED if written.created else 200)


@router.post(
    "/api/documents",
    summary="Add or replace several documents",
    operation_id="put_documents",
    responses={200: success("Written", "All of them are kept."), **CHANGES},
    openapi_extra={"requestBody": body("Batch")},
)
async def put_documents(request: Request) -> Response:
    """Keep several documents, all or none of them."""
    service: Service = request.app.state.service
    batch = json_object(await request.body(), needed=("documents",))["documents"]
    if not isinstance(batch, list) or not batch:
        raise ParameterError("documents", expected="a list of documents", found=batch)
    if len(batch) > service.settings.max_batch:
        raise ParameterError("documents", expected=f"at most {service.settings.max_batch}", found=len(batch))
    documents = [_document(entry, f"documents[{place}]") for place, entry in enumerate(batch)]
    return json_response((await _done(_writer(request).put(documents)))._asdict())


@router.delete(
    "/api/documents/{id:any}",
    summary="Delete a document",
    operation_id="delete_document",
    responses={200: success("Written", "The document is gone."), **CHANGES, **problems(404)},
)
async def delete_document(request: Request, id: str) -> Response:
    """Delete a document by its id."""
    _check_path(request)
    written = await _done(_writer(request).delete([id]))
    if written.missing:
        raise ProblemError(_missing(id))
    return json_response(written._asdict())


def _check_path(request: Request) -> None:
    """Refuse bytes that are no text: the server would read all of them as the same character, and mix ids up."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except UnicodeDecodeError as error:
        raise ParameterError("id", expected="UTF-8 behind the percent signs", found=Phrase("other bytes")) from error


def _writer(request: Request) -> DocumentsWriter:
    service: Service = request.app.state.service
    if service.writer is None:
        raise ProblemError(Problem(403, "this server does not write: its index is filled by rankwell push"))
    return service.writer


async def _done(future: Future[Written]) -> Written:
    """Wait for the commit even if the client disconnects: a change that was begun is completed."""
    return await asyncio.shield(asyncio.wrap_future(future))


def _document(entry: Any, where: str) -> Document:
    """Parse a document from JSON."""
    if not isinstance(entry, Mapping):
        raise ParameterError(where, expected='{"id": ..., "fields": {...}, "metadata": {...}}', found=entry)
    unknown = [name for name in entry if name not in ("id", "fields", "metadata")]
    if unknown:
        raise ParameterError(where, expected="id, fields and metadata", found=unknown[0])
    docno, fields, metadata = check_id(entry.get("id")), entry.get("fields"), entry.get("metadata", {})
    if not isinstance(fields, Mapping) or not all(isinstance(text, str) for text in fields.values()):
        raise ParameterError(f"{where}.fields", expected="texts by name", found=fields)
    if not isinstance(metadata, Mapping):
        raise ParameterError(f"{where}.metadata", expected="values by name", found=metadata)
    return Document(docno, {name: text for name, text in fields.items() if text}, metadata)


def _missing(docno: str) -> Problem:
    return Problem(404, "there is no such document", "the id of a document", shown(docno), "id")
