"""`dense(minilm-l6, pooling=max)`: a bi-encoder's vectors; `fuse(bm25, dense(minilm-l6))`: fusion of pipelines."""

from __future__ import annotations

from dataclasses import replace

from rankwell.core import ParameterError, RankwellError, Run, Stage, Template
from rankwell.core.fingerprint import fingerprint
from rankwell.core.parameters import Number, Text, Whole
from rankwell.models.base.encoders import POOLINGS
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.retrieve import (
    FUSIONS,
    NORMALISERS,
    Dense,
    Fusion,
    Hybrid,
    Intersection,
    Match,
    Nearest,
    ReciprocalRank,
    Union,
    fusion,
    parse_filter,
    parse_match,
)
from rankwell.studies.file.values import LineError
from rankwell.studies.steps.first_stages import OLD_QUERY
from rankwell.studies.steps.step import (
    REQUIRED,
    Chain,
    JoiningKind,
    ModelUse,
    Step,
    StepContext,
    StepKind,
    setting,
    settings_of,
)

BI_ENCODER = "bi-encoder"
OF_VECTORS = ("model", "pooling", "layer", "document", "precision")


class DenseStep(StepKind):
    """Dense retrieval. Vectors are made once per model, pooling, layer and text, and shared by all pipelines."""

    name = "dense"
    about = "a bi-encoder: documents by the cosine of their vector with the query's"
    parameters = (
        setting("model", "A bi-encoder: a short name, a folder, a hub id, or a model of this study.", default=REQUIRED),
        setting("pooling", "How token vectors become one (default: the model's own way).", Text(tuple(POOLINGS))),
        setting("layer", "Which layer's vectors, from 1; -1 is the last.", Whole(-1), -1),
        *settings_of(RerankSettings, "document", "precision"),
        *settings_of(Dense, "match", "filter", "method", "query_field", "k"),
    )
    old_names = OLD_QUERY
    main = "model"
    begins = True

    def check(self, step: Step) -> None:
        """Check template, match function, filter and layer."""
        if step["document"] is not None:
            Template(step["document"])
        if step["match"] is not None:
            parse_match(step["match"])
        if step["filter"] is not None:
            parse_filter(step["filter"])
        if step["layer"] < 1 and step["layer"] != -1:
            raise ParameterError("layer", expected="a number from 1, or -1 for the last", found=step["layer"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """The fields of the template."""
        return Template(step["document"]).fields if step["document"] else ()

    def model(self, step: Step) -> ModelUse:
        """The bi-encoder that the step needs."""
        return ModelUse(step["model"], BI_ENCODER, step["precision"])

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The stage over vectors, which must exist."""
        return Dense(
            bench.index,
            vectors_name(step),
            k=step["k"],
            match=None if step["match"] is None else _with_vectors(parse_match(step["match"]), vectors_name(step)),
            filter=step["filter"],
            method=step["method"],
            query_field=step["query_field"],
            threads=bench.threads,
        )


def _with_vectors(match: Match, name: str) -> Match:
    """The match function with `Nearest` on these vectors, because an index may have several."""
    if isinstance(match, Nearest):
        return replace(match, vectors=name)
    if isinstance(match, (Union, Intersection)):
        return replace(match, parts=tuple(_with_vectors(part, name) for part in match.parts))
    return match


def vectors_name(step: Step) -> str:
    """The name of the step's vectors in the index."""
    return "study-" + fingerprint({name: step[name] for name in OF_VECTORS})[:16]


def make_vectors(step: Step, bench: StepContext, *, quiet: bool = True) -> int:
    """Encode the documents without a vector; return how many have one afterwards."""
    from rankwell.core.progress import SILENT, Progress
    from rankwell.models.base import TextEncoder
    from rankwell.vectors import embed

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


FEWEST = 2


class Fuse(JoiningKind):
    """Reciprocal rank fusion, or weighted sums of normalised scores."""

    name = "fuse"
    about = "make one run of several: fuse(bm25, dense(MODEL), method=rrf)"
    parameters = (
        setting(
            "method", "Reciprocal rank fusion, sum of scores, or CombMNZ.", Text(tuple(FUSIONS)), ReciprocalRank.name
        ),
        setting("weights", "One number for each line: 'weights=0.7/0.3'."),
        setting("normalise", "How scores are brought to one scale (sum, mnz).", Text(tuple(NORMALISERS))),
        setting("k", "The constant of reciprocal rank fusion.", Number()),
    )
    begins = True

    def check(self, step: Step) -> None:
        """Check that there are two pipelines or more, and that the method accepts the settings."""
        if len(step.beside) < FEWEST:
            raise LineError(f"expected two lines or more in fuse(...), found {len(step.beside)}", step.place)
        made = fusion_of(step)
        if made.weights is not None and len(made.weights) != len(step.beside):
            found = f"expected {len(step.beside)} weights, one a line, found {len(made.weights)}"
            raise LineError(found, step.place)

    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:  # noqa: ARG002 -- a first stage
        """Fuse the runs of the pipelines."""
        return fusion_of(step)(*beside)

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The stage that runs all pipelines on the same queries and fuses them."""
        from rankwell.studies.steps import stage_of

        return Hybrid(tuple(stage_of(chain, bench) for chain in step.beside), fusion_of(step))


def fusion_of(step: Step) -> Fusion:
    """The fusion method with the step's settings."""
    given = {"normalise": step["normalise"], "k": step["k"]}
    try:
        weights = None if step["weights"] is None else [float(part) for part in step["weights"].split("/")]
    except ValueError:
        expected = "numbers with / between them, such as 0.7/0.3"
        raise LineError(f'weights: expected {expected}, found "{step["weights"]}"', step.place) from None
    return fusion(step["method"], weights, **{name: value for name, value in given.items() if value is not None})
