"""Search requests, parsed from a query string or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from rankwell.apps.search.settings import ServeSettings
from rankwell.core import ParameterError, RankwellError
from rankwell.core.parameters import Flag, Names, Number, Parameter, Text, Whole, chosen, like, param, parameters
from rankwell.models.families import usual_depth
from rankwell.models.reranking.reranker import DEPTH
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.pipelines.options import SHOWN
from rankwell.retrieve import sorting
from rankwell.retrieve.sorting import RELEVANCE, parse_sort

NONE = "none"  # as the name of the re-ranker: first stage only
MOST_PARAMETERS = 100
MOST_EXPLAINED = 100  # documents: each is analysed, and read by the model again
MOST_FEEDBACK = 100  # most documents and terms of RM3
LONGEST_EXAMPLE = 20_000  # characters: more than any model reads
MOST_VARIANTS = 20
SHORT_TEXTS = ("q", "match", "filter", "sort", "document", "weights", "passages", "vectors")  # limited by --max-query


class UnreadableError(RankwellError):
    """The request is not a query string or not JSON."""

    status = 400


@dataclass(frozen=True)
class SearchRequest:
    """One search. `parse_query` and `parse_values` check the operator's limits and models."""

    q: str = param("", "The words to look for: plain text, never parsed.", Text(), example="sort a list")
    k: int = like(RankerOptions, "k", default=SHOWN, help="Number of documents to return.")
    offset: int = param(0, "Number of documents to pass over first.", Whole(), example=0)
    match: str = like(RankerOptions, "match")
    filter: str | None = like(RankerOptions, "filter")
    sort: str = param(RELEVANCE, sorting.HELP, Text(), example="year:desc")
    k1: float = like(RankerOptions, "k1")
    b: float = like(RankerOptions, "b")
    idf: str = like(RankerOptions, "idf")
    weights: str | None = like(RankerOptions, "weights")
    rm3: bool = like(RankerOptions, "rm3")
    rm3_settings: str = like(RankerOptions, "rm3_settings")
    dense: bool = like(RankerOptions, "dense")
    hybrid: bool = like(RankerOptions, "hybrid")
    vector_weight: float | None = like(RankerOptions, "vector_weight")
    vectors: str | None = like(RankerOptions, "vectors")
    hnsw: bool = like(RankerOptions, "hnsw")
    variants: int = like(RankerOptions, "variants")
    rerank: str | None = like(
        RerankOptions,
        "rerank",
        help="The model that re-ranks the top: a name of GET /api/index, or none (default: the server's own).",
    )
    depth: int = like(RerankOptions, "depth", default=DEPTH)
    document: str | None = like(RerankOptions, "document")
    passages: str | None = like(RerankOptions, "passages")
    aggregate: str | None = like(RerankOptions, "aggregate")
    interpolate: float | None = like(RerankOptions, "interpolate")
    precision: str | None = like(RerankOptions, "precision")
    max_tokens: int | None = like(RerankOptions, "max_tokens")
    relevant: str | None = like(
        RerankOptions, "relevant", help="For models that read an example: the text of a relevant abstract."
    )
    explain: bool = param(False, "Say why each document stands where it does.", Flag())
    facets: tuple[str, ...] = param(
        (), "Count the matched documents by these metadata columns.", Names(), example="year"
    )
    total: bool = param(False, "Count the matched documents; facets do so too.", Flag())
    fields: tuple[str, ...] | None = param(
        None, "The stored fields to return (default: all; none where empty).", Names(), example="title"
    )
    snippets: bool = param(True, "Return passages with the words that were found.", Flag())
    timeout: float | None = param(
        None, "Seconds after which the first stage's results must do (partial).", Number(0.001), example=2.0
    )

    @property
    def last(self) -> int:
        """The last rank to return."""
        return self.offset + self.k

    def first_options(self, threads: int = 1) -> RankerOptions:
        """Options of the first stage, as deep as the second stage needs."""
        deep = self.last if self.rerank is None else max(self.last, self.depth)
        return RankerOptions(**{**chosen(self, RankerOptions), "k": deep}, threads=threads)

    def rerank_options(self, model: str) -> RerankOptions:
        """Options of the second stage, with the operator's name for the model."""
        return RerankOptions(**{**chosen(self, RerankOptions), "rerank": model}, quiet=True)


OPTIONS = parameters(SearchRequest)


def parse_query(query: bytes, settings: ServeSettings) -> SearchRequest:
    """Parse the request of a query string."""
    try:
        pairs = parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except UnicodeDecodeError as error:
        raise UnreadableError("query string: expected UTF-8 behind the percent signs, found other bytes") from error
    except ValueError as error:
        raise UnreadableError(f"query string: expected at most {MOST_PARAMETERS} options, found more") from error
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            if name in OPTIONS and not isinstance(OPTIONS[name].kind, Names):
                raise ParameterError(name, expected="one value", found="several")
            values[name] += "," + value
        elif value or name in ("q", "fields", "facets"):
            values[name] = value
        else:
            _known(name)  # an empty form field means the default
    return parse_values(values, settings)


def parse_values(values: Mapping[str, Any], settings: ServeSettings) -> SearchRequest:
    """Make a request of values by name, within the operator's limits; None means the default."""
    given = {**settings.defaults, **{name: value for name, value in values.items() if value is not None}}
    read = {name: _known(name).read(value) for name, value in given.items()}
    sort = parse_sort(read.get("sort", RELEVANCE))
    chosen = read.get("rerank", settings.default_reranker if sort is None else None)
    if sort is not None:
        _check_sorted(read, chosen)
    read["rerank"] = None if chosen in (NONE, "") else chosen
    if "depth" not in read:
        model = settings.rerankers.get(read["rerank"] or "")
        read["depth"] = min(DEPTH if model is None else usual_depth(model), settings.max_depth)
    request = SearchRequest(**read)
    _check(request, settings)
    return request


def _check_sorted(read: Mapping[str, Any], reranker: str | None) -> None:
    """Only what words find can be sorted: embeddings find every document, and a model has an order of its own."""
    for name in ("dense", "hybrid"):
        if read.get(name):
            raise ParameterError("sort", expected=f"{RELEVANCE} together with {name}", found=read["sort"])
    if reranker not in (None, NONE, ""):
        raise ParameterError("sort", expected=f"{RELEVANCE} together with rerank", found=read["sort"])


def _known(name: str) -> Parameter:
    option = OPTIONS.get(name)
    if option is None:
        raise ParameterError(name, expected=f"one of the options {', '.join(OPTIONS)}", found="an unknown one")
    return option


def _check(request: SearchRequest, settings: ServeSettings) -> None:
    """Raise where a request exceeds the operator's limits or names a model that is not offered."""
    for name, value, most, also in (
        ("k", request.last, settings.max_k, " together with offset"),
        ("k", request.k if request.explain else 0, MOST_EXPLAINED, " together with explain"),
        ("depth", request.depth, settings.max_depth, ""),
        ("variants", request.variants, MOST_VARIANTS, ""),
        ("timeout", request.timeout or 0, settings.timeout, " seconds"),
        *((name, len(getattr(request, name) or ""), settings.max_query, " characters") for name in SHORT_TEXTS),
        ("relevant", len(request.relevant or ""), LONGEST_EXAMPLE, " characters"),
    ):
        if value > most:
            raise ParameterError(name, expected=f"at most {most:.10g}{also}", found=value)
    if request.rerank is not None and request.rerank not in settings.rerankers:
        expected = f"one of {', '.join(settings.rerankers)}" if settings.rerankers else "none: this server has no model"
        raise ParameterError("rerank", expected=expected, found=request.rerank)
    if request.rm3 and any(_number(part) > MOST_FEEDBACK for part in request.rm3_settings.split(",")):
        expected = f"at most {MOST_FEEDBACK} documents and terms"
        raise ParameterError("rm3_settings", expected=expected, found=request.rm3_settings)


def _number(text: str) -> float:
    """A number of RM3's settings; 0 for other texts, which are refused where the settings are parsed."""
    try:
        return float(text)
    except ValueError:
        return 0.0
