"""What a search asks for: the options of `rankwell search`, from a query string or from JSON alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qsl

import orjson

from rankwell.core import ParameterError, RankwellError
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.rerank import usual_depth
from rankwell.rerank.reranker import DEPTH
from rankwell.serve.options import Flag, Names, Number, Option, Text, Weights, Whole, option
from rankwell.serve.settings import ServeSettings

NONE = "none"  # as a re-ranking model: the first stage only
MOST_PARAMETERS = 100
MOST_EXPLAINED = 100  # documents: each is analysed, and read by the model once more
MOST_FEEDBACK = 100  # documents and terms of RM3
LONGEST_EXAMPLE = 20_000  # characters: more than any model reads
IDFS = ("lucene", "plain", "robertson", "robertson-raw")
AGGREGATES = ("first", "max", "mean", "sum")


class UnreadableError(RankwellError):
    """A request that is no query string or no JSON at all."""


@dataclass(frozen=True)
class SearchRequest:
    """One search. Made by `parse_query` or `parse_body`, it keeps the operator's limits and names a model of theirs."""

    q: str = option("", Text("The words to look for: plain text, never parsed.", "sort a list"))
    k: int = option(10, Whole("How many documents to return.", 10, low=1))
    offset: int = option(0, Whole("How many documents to pass over first.", 0))
    match: str = option(
        "or", Text("Which documents are looked at: or, and, ann:100, expr:..., or several with + or &.", "and")
    )
    filter: str | None = option(None, Text("A condition on metadata.", "year>=2020 and source=PMC"))
    k1: float = option(1.2, Number("BM25: how quickly repeated terms stop counting.", 0.9))
    b: float = option(0.75, Number("BM25: how much long documents are held back.", 0.4, high=1.0))
    idf: str = option("lucene", Text("BM25: which weight rare terms have.", "lucene", choices=IDFS))
    weights: str | None = option(None, Weights("BM25 field by field, with these weights.", "title=0.25,abstract=0.6"))
    rm3: bool = option(False, Flag("Search again with terms of the best documents (RM3)."))
    rm3_settings: str = option("10,10,0.5", Text("RM3's documents, terms and weight of the original query."))
    dense: bool = option(False, Flag("Rank by embeddings; the index needs vectors."))
    hybrid: bool = option(False, Flag("Rank by BM25 and by embeddings, fused by their ranks."))
    vectors: str | None = option(None, Text("Which vectors, where the index has several."))
    hnsw: bool = option(False, Flag("Look vectors up in the graph: quicker, nearly exact."))
    variants: int = option(0, Whole("Also search so many similar queries, made with the embeddings.", high=20))
    rerank: str | None = option(
        None,
        Text("The cross-encoder that re-ranks the top: a name of GET /api/index, or none. Else the server's own."),
    )
    depth: int = option(
        DEPTH, Whole("How many documents are re-ranked; fewer by a model that compares them.", 50, low=1)
    )
    document: str | None = option(None, Text("The text that the model reads.", "{title} {abstract}"))
    passages: str | None = option(None, Text("Score passages: words:overlap, or paragraphs.", "150:50"))
    aggregate: str = option("mean", Text("A document's score of its passages'.", "mean", choices=AGGREGATES))
    interpolate: float | None = option(
        None, Number("Mix with the first stage: this much of the model, the rest of the first.", 0.5, high=1.0)
    )
    precision: str | None = option(None, Text("What the model computes with.", "int8", choices=("fp32", "int8")))
    relevant: str | None = option(None, Text("The text of a relevant abstract, for a model that reads an example."))
    explain: bool = option(False, Flag("Say why each document stands where it does."))
    facets: tuple[str, ...] = option((), Names("Count the matched documents by these metadata columns.", "year"))
    total: bool = option(False, Flag("Count the matched documents; facets do so too."))
    fields: tuple[str, ...] | None = option(
        None, Names("The stored fields to return: all unless said, none where empty.", "title")
    )
    snippets: bool = option(True, Flag("Return passages with the words that were found."))
    timeout: float | None = option(
        None, Number("Seconds after which the first stage's results must do (partial).", 2.0, low=0.001)
    )

    @property
    def last(self) -> int:
        """The last rank that is returned."""
        return self.offset + self.k

    def first_options(self, threads: int = 1) -> RankerOptions:
        """The first stage, as deep as the second needs it."""
        deep = self.last if self.rerank is None else max(self.last, self.depth)
        return RankerOptions(
            deep,
            self.match,
            self.filter,
            self.k1,
            self.b,
            self.idf,
            self.weights,
            self.rm3,
            self.rm3_settings,
            None,
            threads,
            self.dense,
            self.hybrid,
            self.vectors,
            self.hnsw,
            self.variants,
        )

    def rerank_options(self, model: str) -> RerankOptions:
        """The second stage, with the operator's word for the model."""
        return RerankOptions(
            model,
            self.depth,
            self.document,
            self.passages,
            self.aggregate if self.passages else None,
            self.interpolate,
            self.precision,
            quiet=True,
            relevant=self.relevant,
        )


OPTIONS: Mapping[str, Option] = {part.name: part.metadata["option"] for part in fields(SearchRequest)}
DEFAULTS: Mapping[str, Any] = {part.name: part.default for part in fields(SearchRequest)}


def parse_query(query: bytes | str, settings: ServeSettings) -> SearchRequest:
    """The request of a query string."""
    text = query.decode("latin-1") if isinstance(query, bytes) else query
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS)
    except UnicodeDecodeError as error:
        raise UnreadableError("query string: expected UTF-8 behind the percent signs, found other bytes") from error
    except ValueError as error:
        raise UnreadableError(f"query string: expected at most {MOST_PARAMETERS} options, found more") from error
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            if not isinstance(OPTIONS.get(name), Names):
                raise ParameterError(name, expected="one value", found="several")
            values[name] += "," + value
        elif value or name in ("q", "fields", "facets"):
            values[name] = value
        else:
            _known(name)  # an empty form field is an option that was not chosen
    return parse_values(values, settings)


def parse_body(body: bytes, settings: ServeSettings) -> SearchRequest:
    """The request of a JSON object; null is an option that was not chosen."""
    try:
        values = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableError(f"body: expected JSON, found something else ({error})") from error
    if not isinstance(values, dict):
        raise ParameterError("body", expected="a JSON object", found=values)
    return parse_values({name: value for name, value in values.items() if value is not None}, settings)


def parse_values(values: Mapping[str, Any], settings: ServeSettings) -> SearchRequest:
    """The request of values by name, within the operator's limits."""
    read = {name: _known(name).read(name, value) for name, value in values.items()}
    chosen = read.get("rerank", settings.default_reranker)
    read["rerank"] = None if chosen in (NONE, "") else chosen
    if "depth" not in read:
        model = settings.rerankers.get(read["rerank"] or "")
        read["depth"] = min(DEPTH if model is None else usual_depth(model), settings.max_depth)
    request = SearchRequest(**read)
    check(request, settings)
    return request


def check(request: SearchRequest, settings: ServeSettings) -> None:
    """Raise where a request asks for more than the operator allows, or for a model that is none of theirs."""
    if request.last > settings.max_k:
        raise ParameterError("k", expected=f"at most {settings.max_k} together with offset", found=request.last)
    if request.explain and request.k > MOST_EXPLAINED:
        raise ParameterError("k", expected=f"at most {MOST_EXPLAINED} together with explain", found=request.k)
    if request.depth > settings.max_depth:
        raise ParameterError("depth", expected=f"at most {settings.max_depth}", found=request.depth)
    for name in ("q", "match", "filter", "document", "weights", "passages", "vectors"):
        found = len(getattr(request, name) or "")
        if found > settings.max_query:
            raise ParameterError(name, expected=f"at most {settings.max_query} characters", found=found)
    if len(request.relevant or "") > LONGEST_EXAMPLE:
        raise ParameterError(
            "relevant", expected=f"at most {LONGEST_EXAMPLE} characters", found=len(request.relevant or "")
        )
    if request.timeout is not None and request.timeout > settings.timeout:
        raise ParameterError("timeout", expected=f"at most {settings.timeout:g} seconds", found=request.timeout)
    if request.rerank is not None and request.rerank not in settings.rerankers:
        expected = f"one of {', '.join(settings.rerankers)}" if settings.rerankers else "none: this server has no model"
        raise ParameterError("rerank", expected=expected, found=request.rerank)
    if request.rm3 and any(_whole(part) > MOST_FEEDBACK for part in request.rm3_settings.split(",")):
        expected = f"at most {MOST_FEEDBACK} documents and terms"
        raise ParameterError("rm3_settings", expected=expected, found=request.rm3_settings)


def _known(name: str) -> Option:
    found = OPTIONS.get(name)
    if found is None:
        raise ParameterError(name, expected=f"one of the options {', '.join(OPTIONS)}", found="an unknown one")
    return found


def _whole(text: str) -> float:
    """How large a part of RM3's settings is; what is no number is refused where they are read."""
    try:
        return float(text)
    except ValueError:
        return 0.0
