"""`dense(minilm-l6, pooling=max, layer=5)`: a bi-encoder's vectors, compared by cosine."""

from __future__ import annotations

from dataclasses import replace

from rankwell.core import ParameterError, RankwellError, Stage, Template
from rankwell.core.fingerprint import fingerprint
from rankwell.dense import METHODS
from rankwell.encode.pooling import POOLINGS
from rankwell.match import Intersection, Match, Nearest, Union, parse_filter, parse_match
from rankwell.rank import Dense as DenseRanker
from rankwell.studies.steps.bm25 import DEPTH, FILTER, QUERY
from rankwell.studies.steps.step import REQUIRED, Bench, Chain, ModelUse, Parameter, Step, StepKind

BI_ENCODER = "bi-encoder"
OF_VECTORS = ("model", "pooling", "layer", "document", "precision")


class Dense(StepKind):
    """Vectors are made once for every model, pooling, layer and text, and shared by all lines that need them."""

    name = "dense"
    about = "a bi-encoder: documents by the cosine of their vector with the query's"
    parameters = (
        Parameter(
            "model", "a bi-encoder: a short name, a folder, a hub id, or a model this study trains", str, REQUIRED
        ),
        Parameter(
            "pooling", "how tokens become one vector; the model's own way by default", str, None, tuple(POOLINGS)
        ),
        Parameter("layer", "which layer's vectors, from 1; -1 is the last", int, -1),
        Parameter("document", "the text that is encoded: '{title} {abstract}'; all fields by default"),
        Parameter("precision", "fp32 or int8; what the model has by default", str, None, ("fp32", "int8")),
        Parameter("match", "look only at documents that match: and, or, ann:100 ...; at all by default"),
        FILTER,
        Parameter("method", "exact, or hnsw for the graph", str, "exact", tuple(METHODS)),
        QUERY,
        DEPTH,
    )
    main = "model"
    begins = True

    def check(self, step: Step) -> None:
        """A template, a match function and a filter that can be read; a layer that there can be."""
        if step["document"] is not None:
            Template(step["document"])
        if step["match"] is not None:
            parse_match(step["match"])
        if step["filter"] is not None:
            parse_filter(step["filter"])
        if step["layer"] < 1 and step["layer"] != -1:
            raise ParameterError("layer", expected="a number from 1, or -1 for the last", found=step["layer"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """Those of the template."""
        return Template(step["document"]).fields if step["document"] else ()

    def model(self, step: Step) -> ModelUse:
        """The bi-encoder."""
        return ModelUse(step["model"], BI_ENCODER, step["precision"])

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """Over vectors that must be there."""
        return DenseRanker(
            bench.index,
            vectors_name(step),
            k=step["k"],
            match=None if step["match"] is None else _with_vectors(parse_match(step["match"]), vectors_name(step)),
            filter=step["filter"],
            method=step["method"],
            query_field=step["query"],
            threads=bench.threads,
        )


def _with_vectors(match: Match, name: str) -> Match:
    """The match function with its nearest documents by these vectors, because an index may have several."""
    if isinstance(match, Nearest):
        return replace(match, vectors=name)
    if isinstance(match, (Union, Intersection)):
        return replace(match, parts=tuple(_with_vectors(part, name) for part in match.parts))
    return match


def vectors_name(step: Step) -> str:
    """The name of the vectors that a step needs, under which an index has them."""
    return "study-" + fingerprint({name: step[name] for name in OF_VECTORS})[:16]


def make_vectors(step: Step, bench: Bench, *, quiet: bool = True) -> int:
    """Encode what has no vector yet; how many documents have one then."""
    from rankwell.core.progress import SILENT, Progress
    from rankwell.dense import embed
    from rankwell.encode import TextEncoder

    encoder = TextEncoder(
        bench.model(step["model"]),
        pooling=step["pooling"],
        layer=step["layer"],
        precision=step["precision"],
        threads=bench.threads,
    )
    what = {"document": step["document"], "name": vectors_name(step)}
    progress = SILENT if quiet else Progress("encoding", unit="documents")
    with progress:
        found = embed(bench.index, encoder, **what, graph=step["method"] == "hnsw", progress=progress)
    if not found.count:
        raise RankwellError(f"{step['model']}: expected documents with text to encode, found none")
    return found.count
