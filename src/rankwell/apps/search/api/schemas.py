"""The OpenAPI document: models of bodies and answers (which orjson writes), and the search options."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from rankwell.apps.search.api.problems import JSON, WORDS
from rankwell.apps.search.requests import NONE, OPTIONS
from rankwell.apps.search.settings import ServeSettings
from rankwell.core.parameters import Names, Weights

Schema = dict[str, Any]
Objects = list[dict[str, Any]]
Fields = Annotated[dict[str, str], Field(examples=[{"title": "Fever", "abstract": "In children under five ..."}])]
Metadata = Annotated[dict[str, Any], Field(examples=[{"year": 2020, "source": "PMC"}])]
MORE = {
    401: "No key, or one that is not known here.",
    403: "The key has another role.",
    409: "Another program writes to the index at the moment.",
    429: "Too many wrong keys.",
    503: "Too many wait already; `Retry-After` says when to try again.",
}
SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
CLOSED = ("judge", "judgments", "put_document", "put_documents", "delete_document")  # operations that need a key


class Body(BaseModel):
    """A JSON object of a request: these names and no others."""

    model_config = ConfigDict(extra="forbid")


class Texts(Body):
    """A document's texts and metadata."""

    fields: Fields
    metadata: Metadata = Field(default_factory=dict)


class Document(Texts):
    """A document."""

    id: str = Field(min_length=1)


class Batch(Body):
    """Several documents, kept together or not at all."""

    documents: list[Document]


class Judgment(Body):
    """A grade for a document of a query; null takes it back."""

    query: str = Field(examples=["fever in children"])
    id: str = Field(examples=["d17"])
    grade: int | None = Field(examples=[1])


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(examples=["k: expected at most 1000 together with offset, found 5000"])
    expected: str | None = Field(examples=["at most 1000 together with offset"])
    found: str | None = Field(examples=["5000"])
    where: str | None = Field(examples=["k"])


class Piece(BaseModel):
    """A stretch of text, and whether it is a word that was found."""

    text: str
    marked: bool


class Explanation(BaseModel):
    """Why a document stands where it does."""

    terms: Objects
    stages: Objects
    passages: Objects = Field(default_factory=list)


class Result(BaseModel):
    """A document that was found.

    `first_rank` is its rank after the first stage, `moved` how many places up a model brought it (null before one has
    read it). `snippet` has a passage by field.
    """

    id: str
    rank: int
    score: float
    first_rank: int | None
    moved: int | None
    fields: Fields
    metadata: Metadata
    snippet: dict[str, list[Piece]]
    explain: Explanation | None
    pinned: bool = Field(default_factory=bool, description="The server's owner put it here (`--pins`).")


class Value(BaseModel):
    """A value, and the number of documents that have it."""

    value: str
    count: int


class Facet(BaseModel):
    """How the matched documents spread over a metadata column, under all filters but its own.

    The commonest values, equal steps of a range of numbers, or the years, months or days (`unit`) of dates.
    """

    kind: Literal["values", "range", "dates"]
    missing: int
    values: list[Value] = Field(default_factory=list)
    others: int = Field(default_factory=int)
    lowest: float = Field(default_factory=float)
    highest: float = Field(default_factory=float)
    width: float = Field(default_factory=float)
    counts: list[int] = Field(default_factory=list)
    earliest: str = Field(default_factory=str)
    latest: str = Field(default_factory=str)
    unit: str = Field(default_factory=str)


class SearchResponse(BaseModel):
    """The results of the first stage, or of the model that re-ranked them."""

    query: str
    took_ms: float
    stage: Literal["first", "reranked"]
    partial: bool
    total: int | None
    commit: int
    warnings: list[str]
    results: list[Result]
    facets: dict[str, Facet]


class Event(BaseModel):
    """An event of a stream; `data` is JSON."""

    event: Literal["first", "reranked", "done", "error"]
    data: str


class Written(BaseModel):
    """What was changed, and the commit that keeps it."""

    commit: int
    created: int
    replaced: int
    deleted: int
    missing: int


class Judged(BaseModel):
    """That the judgment is kept, and its query's id."""

    query_id: str


class JudgedQuery(BaseModel):
    """A query with a judgment."""

    id: str
    text: str


class Grade(Judged):
    """A judgment."""

    id: str
    grade: int


class PersonalGrade(Grade):
    """A judgment of one person: a key's name, or an anonymous visitor."""

    who: str


class Judgments(BaseModel):
    """Every judgment that counts: one for each query and document (the median of several people), and each person's."""

    queries: list[JudgedQuery]
    qrels: list[Grade]
    grades: list[PersonalGrade]


class IndexInfo(BaseModel):
    """What there is to say about the index and the models."""

    name: str
    commit: int
    documents: int
    fields: list[str]
    metadata: list[str]
    rerankers: list[str] = Field(default_factory=list)
    default_reranker: str | None = Field(default_factory=str)
    vectors: Objects = Field(default_factory=list)


class Status(BaseModel):
    """How the server is."""

    status: str


def problems(*statuses: int) -> dict[int | str, Schema]:
    """The refusals of a route by status."""
    words = {**{status: text[0].upper() + text[1:] + "." for status, text in WORDS.items()}, **MORE}
    return {status: {"model": Problem, "description": words[status]} for status in statuses}


def parameter(name: str, about: str, schema: Schema) -> Schema:
    """A parameter of a query string, which may be left out."""
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


def body(schema: Schema | str) -> Schema:
    """A JSON request body with this schema, or with the model of that name."""
    described = {"$ref": f"#/components/schemas/{schema}"} if isinstance(schema, str) else schema
    return {"requestBody": {"required": True, "content": {JSON: {"schema": described}}}}


def search_parameters() -> list[Schema]:
    """The search options as query parameters."""
    described = []
    for name, option in OPTIONS.items():
        schema: Schema = {"type": "string"} if isinstance(option.kind, Names | Weights) else option.kind.schema()
        schema |= {} if option.default in (None, ()) else {"default": option.default}
        described.append(parameter(name, option.help, schema))
        described[-1] |= {} if option.example is None else {"example": option.example}
    return described


def search_body() -> Schema:
    """The search options as a JSON object."""
    properties = {}
    for name, option in OPTIONS.items():
        properties[name] = {"anyOf": [option.kind.schema(), {"type": "null"}], "description": option.help}
        properties[name] |= {} if option.default in (None, ()) else {"default": option.default}
    example = {"q": "sort a list", "k": 5, "match": "and"}
    return {"type": "object", "properties": properties, "additionalProperties": False, "example": example}


def described(document: Schema, settings: ServeSettings) -> Schema:
    """FastAPI's document with what it cannot know: bodies, who may do what, and this server's limits and models."""
    document = deepcopy(document)  # all servers of a process share the routes and their descriptions
    document["components"]["securitySchemes"] = SECURITY
    unseen = models_json_schema(
        [(model, "validation") for model in (Batch, Texts, Judgment, Event)],
        ref_template="#/components/schemas/{model}",
    )
    document["components"]["schemas"] |= unseen[1]["$defs"]
    for path in document["paths"].values():
        for operation in path.values():
            anybody: list[Schema] = [] if operation["operationId"] in CLOSED else [{}]
            operation["security"] = [*({name: []} for name in SECURITY), *anybody]
    own = {
        "k": {"maximum": settings.max_k},
        "offset": {"maximum": settings.max_k - 1},
        "depth": {"maximum": settings.max_depth, "default": min(OPTIONS["depth"].default, settings.max_depth)},
        "timeout": {"maximum": settings.timeout},
        "rerank": {"enum": [NONE, *settings.rerankers], "default": settings.default_reranker or NONE},
        "q": {"maxLength": settings.max_query},
        "filter": {"maxLength": settings.max_query},
    }
    for name in ("/api/search", "/api/search/stream"):
        for parameter in document["paths"][name]["get"]["parameters"]:
            parameter["schema"] |= own.get(parameter["name"], {})
    return document
