"""Schemas of requests and answers for the OpenAPI document."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from rankwell.apps.search.api.problems import JSON, WORDS
from rankwell.apps.search.requests import NONE, OPTIONS
from rankwell.apps.search.settings import ServeSettings
from rankwell.core.parameters import Names, Weights

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
MORE = {
    401: "No key, or one that is not known here.",
    403: "The key may read and not write.",
    409: "Another program writes to the index at the moment.",
    429: "Too many wrong keys.",
    503: "Too many wait already; `Retry-After` says when to try again.",
}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(about: str, needed: dict[str, Schema], others: dict[str, Schema] | None = None) -> Schema:
    properties = {**needed, **(others or {})}
    return {"type": "object", "description": about, "properties": properties, "required": list(needed)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _by_name(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


TEXTS = {**_by_name(TEXT), "example": {"title": "Fever", "abstract": "In children under five ..."}}
METADATA: Schema = {"type": "object", "additionalProperties": True, "example": {"year": 2020, "source": "PMC"}}
WRITTEN = ("created", "replaced", "deleted", "missing")

COMPONENTS: dict[str, Schema] = {
    "Problem": _object(
        "Why a request was refused.",
        {"error": TEXT, "expected": _or_null(TEXT), "found": _or_null(TEXT), "where": _or_null(TEXT)},
    )
    | {
        "example": {
            "error": "k: expected at most 1000 together with offset, found 5000",
            "expected": "at most 1000 together with offset",
            "found": "5000",
            "where": "k",
        }
    },
    "Piece": _object("A stretch of text, and whether it is a word that was found.", {"text": TEXT, "marked": FLAG}),
    "Result": _object(
        "A document that was found. `first_rank` is its rank after the first stage, `moved` how many places up a model "
        "brought it (null before one has read it). `snippet` has a passage by field.",
        {
            "id": TEXT,
            "rank": WHOLE,
            "score": NUMBER,
            "first_rank": _or_null(WHOLE),
            "moved": _or_null(WHOLE),
            "fields": TEXTS,
            "metadata": METADATA,
            "snippet": _by_name(_list(_ref("Piece"))),
            "explain": _or_null(_ref("Explanation")),
        },
    ),
    "Explanation": _object(
        "Why a document stands where it does.",
        {"terms": _list({"type": "object"}), "stages": _list({"type": "object"})},
        {"passages": _list({"type": "object"})},
    ),
    "Facet": _object(
        "How the matched documents spread over a metadata column: the commonest values, or equal steps of a range.",
        {"kind": {**TEXT, "enum": ["values", "range"]}, "missing": WHOLE},
        {
            "values": _list(_object("A value.", {"value": TEXT, "count": WHOLE})),
            "others": WHOLE,
            "lowest": NUMBER,
            "highest": NUMBER,
            "width": NUMBER,
            "counts": _list(WHOLE),
        },
    ),
    "SearchResponse": _object(
        "The results of the first stage, or of the model that re-ranked them.",
        {
            "query": TEXT,
            "took_ms": NUMBER,
            "stage": {**TEXT, "enum": ["first", "reranked"]},
            "partial": FLAG,
            "total": _or_null(WHOLE),
            "commit": WHOLE,
            "warnings": _list(TEXT),
            "results": _list(_ref("Result")),
            "facets": _by_name(_ref("Facet")),
        },
    ),
    "Event": _object(
        "An event of a stream; `data` is JSON.",
        {"event": {**TEXT, "enum": ["first", "reranked", "done", "error"]}, "data": TEXT},
    ),
    "Texts": _object("A document's texts and metadata.", {"fields": TEXTS}, {"metadata": METADATA})
    | {"additionalProperties": False},
    "Document": _object("A document.", {"id": {**TEXT, "minLength": 1}, "fields": TEXTS}, {"metadata": METADATA})
    | {"additionalProperties": False},
    "Batch": _object("Several documents, kept together or not at all.", {"documents": _list(_ref("Document"))})
    | {"additionalProperties": False},
    "Written": _object("What was changed, and the commit that keeps it.", dict.fromkeys(("commit", *WRITTEN), WHOLE)),
    "Judgment": _object(
        "A grade for a document of a query; null takes it back.",
        {
            "query": {**TEXT, "example": "fever in children"},
            "id": {**TEXT, "example": "d17"},
            "grade": _or_null({**WHOLE, "example": 1}),
        },
    )
    | {"additionalProperties": False},
    "Judged": _object("That the judgment is kept, and its query's id.", {"query_id": TEXT}),
    "Judgments": _object(
        "Every judgment that counts.",
        {
            "queries": _list(_object("A query.", {"id": TEXT, "text": TEXT})),
            "qrels": _list(_object("A judgment.", {"query_id": TEXT, "id": TEXT, "grade": WHOLE})),
        },
    ),
    "IndexInfo": _object(
        "What there is to say about the index and the models.",
        {"name": TEXT, "commit": WHOLE, "documents": WHOLE, "fields": _list(TEXT), "metadata": _list(TEXT)},
        {"rerankers": _list(TEXT), "default_reranker": _or_null(TEXT), "vectors": _list({"type": "object"})},
    ),
    "Status": _object("How the server is.", {"status": TEXT}),
}


def search_parameters() -> list[Schema]:
    """The search options as query parameters."""
    found = []
    for name, option in OPTIONS.items():
        schema = dict(TEXT) if isinstance(option.kind, Names | Weights) else option.kind.schema()
        if option.default not in (None, ()):
            schema["default"] = option.default
        parameter: Schema = {"name": name, "in": "query", "required": False, "description": option.help}
        parameter["schema"] = schema
        if option.example is not None:
            parameter["example"] = option.example
        found.append(parameter)
    return found


def search_body() -> Schema:
    """The search options as a JSON schema."""
    properties = {}
    for name, option in OPTIONS.items():
        properties[name] = {**_or_null(option.kind.schema()), "description": option.help}
        if option.default not in (None, ()):
            properties[name]["default"] = option.default
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return body(schema | {"example": {"q": "sort a list", "k": 5, "match": "and"}})


def body(schema: Schema | str) -> Schema:
    """A JSON request body with this schema, or with the schema of that name."""
    return {"required": True, "content": {JSON: {"schema": _ref(schema) if isinstance(schema, str) else schema}}}


def success(name: str, about: str) -> Schema:
    """A successful answer with the schema of that name."""
    return {"description": about, "content": {JSON: {"schema": _ref(name)}}}


def problems(*statuses: int) -> dict[int | str, Schema]:
    """The error responses by status."""
    told = {**{status: words[0].upper() + words[1:] + "." for status, words in WORDS.items()}, **MORE}
    return {status: success("Problem", told[status]) for status in statuses}


def limited(document: Schema, settings: ServeSettings) -> Schema:
    """The description with this server's limits and models."""
    own = {
        "k": {"maximum": settings.max_k},
        "offset": {"maximum": settings.max_k - 1},
        "depth": {"maximum": settings.max_depth, "default": min(OPTIONS["depth"].default, settings.max_depth)},
        "timeout": {"maximum": settings.timeout},
        "rerank": {"enum": [NONE, *settings.rerankers], "default": settings.default_reranker or NONE},
        "q": {"maxLength": settings.max_query},
        "filter": {"maxLength": settings.max_query},
    }
    document = deepcopy(document)  # all servers of a process share the routes and their descriptions
    for name in ("/api/search", "/api/search/stream"):
        for parameter in document["paths"][name]["get"]["parameters"]:
            parameter["schema"] = {**parameter["schema"], **own.get(parameter["name"], {})}
    return document
