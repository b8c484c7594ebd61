"""`top 100`: only the best documents of each query go on."""

from __future__ import annotations

from rankwell.core import Stage, Top
from rankwell.studies.lines import TOP
from rankwell.studies.problems import LineError
from rankwell.studies.steps.step import REQUIRED, Bench, Chain, Parameter, Step, StepKind


class Cut(StepKind):
    """Costs nothing, and is therefore no cell of its own."""

    name = TOP
    about = "keep the best documents of each query: top 100"
    parameters = (Parameter("k", "how many", int, REQUIRED),)
    main = "k"
    follows = True

    def check(self, step: Step) -> None:
        """At least one."""
        if step["k"] < 1:
            raise LineError(f"top: expected a number of documents, at least 1, found {step['k']}", step.place)

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- a cut is a cut
        """As `rankwell.core` has it."""
        return Top(step["k"])
