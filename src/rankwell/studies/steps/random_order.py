"""`random`: the floor of every comparison."""

from __future__ import annotations

from rankwell.core import Stage
from rankwell.rank import RandomRanker
from rankwell.studies.steps.step import Bench, Chain, Parameter, Step, StepKind


class Random(StepKind):
    """Alone it draws from all documents; behind another step it shuffles what that found."""

    name = "random"
    about = "documents in random order: of the step before, or of the whole collection"
    parameters = (
        Parameter("seed", "the seed of the order", int, 0),
        Parameter("k", "how many documents are drawn where it stands first", int, 1000),
    )
    main = "seed"
    begins = True
    follows = True

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:
        """As `rankwell.rank` has it."""
        return RandomRanker(step["seed"], () if before else tuple(bench.index.documents), step["k"])
