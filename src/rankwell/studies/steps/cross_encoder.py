"""`cross-encoder(ms-marco-minilm-l12, document="{title} {abstract}")`: a model reads query and document together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwell.core import Stage, Template
from rankwell.rerank import AGGREGATORS, Passages
from rankwell.studies.steps.bm25 import QUERY
from rankwell.studies.steps.step import REQUIRED, Bench, Chain, ModelUse, Parameter, Step, StepKind

if TYPE_CHECKING:
    from rankwell.rerank.reranker import Reranker

CROSS_ENCODER = "cross-encoder"
EVERYTHING = 1_000_000  # deeper than any run


class CrossEncoder(StepKind):
    """Any re-ranker that a model's folder describes; most are cross-encoders."""

    name = CROSS_ENCODER
    about = "re-rank what came before with a model that reads query and document together"
    parameters = (
        Parameter(
            "model", "a cross-encoder: a short name, a folder, a hub id, or a model this study trains", str, REQUIRED
        ),
        Parameter("document", "the text that is read: '{title} {abstract}'; all fields by default"),
        Parameter("passages", "score passages: words:overlap such as 150:50, or paragraphs"),
        Parameter("aggregate", "a document's score of its passages'", str, None, tuple(AGGREGATORS)),
        Parameter("precision", "fp32 or int8; what the model has by default", str, None, ("fp32", "int8")),
        Parameter("tokens", "tokens of a pair; what the model reads by default", int),
        Parameter(
            "depth",
            "re-rank so many and keep the others below; all by default (cut with `top`), 20 of a duo model",
            int,
        ),
        QUERY,
    )
    main = "model"
    follows = True

    def check(self, step: Step) -> None:
        """A template and passages that can be read."""
        if step["document"] is not None:
            Template(step["document"])
        if step["passages"] is not None:
            Passages.parse(step["passages"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """Those of the template."""
        return Template(step["document"]).fields if step["document"] else ()

    def model(self, step: Step) -> ModelUse:
        """The cross-encoder."""
        return ModelUse(step["model"], CROSS_ENCODER, step["precision"])

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it needs only their run
        """As the model's folder asks for it."""
        return reranker_of(step, bench)


def reranker_of(step: Step, bench: Bench) -> Reranker:
    """The stage, which counts what it does."""
    from rankwell.rerank.rankers import reranker, usual_depth
    from rankwell.rerank.reranker import DEPTH, RerankWishes

    model = bench.model(step["model"])
    wishes = RerankWishes(
        k=step["depth"] or (None if usual_depth(model) < DEPTH else EVERYTHING),
        document=step["document"],
        query_field=step["query"],
        passages=None if step["passages"] is None else Passages.parse(step["passages"]),
        aggregate=step["aggregate"],
        max_tokens=step["tokens"],
        precision=step["precision"],
        index=bench.index,
        cache=bench.scores,
        threads=bench.threads,
        quiet=True,
    )
    return reranker(model, wishes)
