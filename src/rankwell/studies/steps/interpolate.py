"""`bm25 | top 100 | interpolate(cross-encoder(minilm), 0.5)`: a re-ranker's opinion beside that of the run before."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core import Run, Stage
from rankwell.rerank import Interpolate as Interpolated
from rankwell.studies.problems import LineError
from rankwell.studies.steps.cross_encoder import CROSS_ENCODER, CrossEncoder, reranker_of
from rankwell.studies.steps.step import Bench, Chain, JoiningKind, ModelUse, Parameter, Step


@dataclass(frozen=True)
class Known(Stage):
    """A re-ranker that has done its work already."""

    run: Run

    def apply(self, run: Run) -> Run:  # noqa: ARG002 -- it was given to the re-ranker
        """What it said."""
        return self.run


class Interpolate(JoiningKind):
    """alpha * re-ranker + (1 - alpha) * what came before, both from 0 to 1."""

    name = "interpolate"
    about = "mix a cross-encoder with the run before it: interpolate(cross-encoder(MODEL), 0.5)"
    parameters = (Parameter("alpha", "the re-ranker's share, from 0 to 1", float, 0.5),)
    main = "alpha"
    follows = True

    def check(self, step: Step) -> None:
        """One cross-encoder, and a share."""
        kinds = [within.kind for chain in step.beside for within in chain]
        if kinds != [CROSS_ENCODER]:
            found = ", ".join(kinds) or "none"
            raise LineError(f"expected one cross-encoder in interpolate(...), found {found}", step.place)
        if not 0 <= step["alpha"] <= 1:
            raise LineError(f"alpha: expected a number from 0 to 1, found {step['alpha']:g}", step.place)

    def fields(self, step: Step) -> tuple[str, ...]:
        """Those of the cross-encoder."""
        return CrossEncoder().fields(step.beside[0][0])

    def model(self, step: Step) -> ModelUse:
        """That of the cross-encoder."""
        return CrossEncoder().model(step.beside[0][0])

    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:
        """Mix the run before with the one that the cross-encoder made of it."""
        return Interpolated(Known(beside[0]), step["alpha"]).apply(first)

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it needs only their run
        """As `rankwell.rerank` has it."""
        return Interpolated(reranker_of(step.beside[0][0], bench), step["alpha"])
