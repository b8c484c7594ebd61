"""Re-rankers of a pipeline line: `cross-encoder`, `interpolate`, `top`."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rankwell.core import Run, Stage, Template, Top
from rankwell.core.parameters import Whole
from rankwell.models.explanation import Interpolate
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.studies.file.lines import TOP
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

if TYPE_CHECKING:
    from rankwell.models.reranking.reranker import Reranker


CROSS_ENCODER = "cross-encoder"
EVERYTHING = 1_000_000  # deeper than any run


class CrossEncoderStep(StepKind):
    """Any re-ranker that a model's folder describes; most are cross-encoders."""

    name = CROSS_ENCODER
    about = "re-rank what came before with a model that reads query and document together"
    parameters = (
        setting(
            "model", "A cross-encoder: a short name, a folder, a hub id, or a model of this study.", default=REQUIRED
        ),
        *settings_of(RerankSettings, "document", "passages", "aggregate", "precision", "max_tokens", "query_field"),
        setting(
            "depth",
            "Number of documents to re-rank; the others stay below (default: all, cut with `top`; duo models: 20).",
            Whole(1),
        ),
    )
    old_names = MappingProxyType({**OLD_QUERY, "tokens": "max_tokens"})
    main = "model"
    follows = True

    def check(self, step: Step) -> None:
        """Check template and passages."""
        if step["document"] is not None:
            Template(step["document"])
        if step["passages"] is not None:
            Passages.parse(step["passages"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """The fields of the template."""
        return Template(step["document"]).fields if step["document"] else ()

    def model(self, step: Step) -> ModelUse:
        """The cross-encoder that the step needs."""
        return ModelUse(step["model"], CROSS_ENCODER, step["precision"])

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- it needs only their run
        """The re-ranker that the model's folder describes."""
        return reranker_of(step, bench)


def reranker_of(step: Step, bench: StepContext) -> Reranker:
    """The re-ranking stage, with counts."""
    from rankwell.models.families import reranker, usual_depth
    from rankwell.models.reranking.reranker import DEPTH

    model = bench.model(step["model"])
    settings = RerankSettings(
        k=step["depth"] or (None if usual_depth(model) < DEPTH else EVERYTHING),
        document=step["document"],
        query_field=step["query_field"],
        passages=None if step["passages"] is None else Passages.parse(step["passages"]),
        aggregate=step["aggregate"],
        max_tokens=step["max_tokens"],
        precision=step["precision"],
        index=bench.index,
        cache=bench.scores,
        threads=bench.threads,
        quiet=True,
    )
    return reranker(model, settings)


@dataclass(frozen=True)
class Known(Stage):
    """A re-ranker whose run is already known."""

    run: Run

    def apply(self, run: Run) -> Run:  # noqa: ARG002 -- the re-ranker got it
        """Return the known run."""
        return self.run


class InterpolateStep(JoiningKind):
    """alpha * re-ranker + (1 - alpha) * run before it, both normalised to [0, 1]."""

    name = "interpolate"
    about = "mix a cross-encoder with the run before it: interpolate(cross-encoder(MODEL), 0.5)"
    parameters = settings_of(Interpolate, "alpha")
    main = "alpha"
    follows = True

    def check(self, step: Step) -> None:
        """Check that there is one cross-encoder, and alpha."""
        kinds = [within.kind for chain in step.beside for within in chain]
        if kinds != [CROSS_ENCODER]:
            found = ", ".join(kinds) or "none"
            raise LineError(f"expected one cross-encoder in interpolate(...), found {found}", step.place)

    def fields(self, step: Step) -> tuple[str, ...]:
        """The fields of the cross-encoder."""
        return CrossEncoderStep().fields(step.beside[0][0])

    def model(self, step: Step) -> ModelUse:
        """The model of the cross-encoder."""
        return CrossEncoderStep().model(step.beside[0][0])

    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:
        """Interpolate the run before with the cross-encoder's run."""
        return Interpolate(Known(beside[0]), step["alpha"]).apply(first)

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- it needs only their run
        """The `Interpolate` stage of `rankwell.models.reranking`."""
        return Interpolate(reranker_of(step.beside[0][0], bench), step["alpha"])


class Cut(StepKind):
    """Cuts a run at k; so cheap that it is no cell of its own."""

    name = TOP
    about = "keep the best documents of each query: top 100"
    parameters = (setting("k", "Number of documents for each query.", Whole(1), REQUIRED),)
    main = "k"
    follows = True

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- independent of them
        """The cut of `rankwell.core`."""
        return Top(step["k"])
