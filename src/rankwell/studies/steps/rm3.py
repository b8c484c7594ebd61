"""`bm25 | rm3`: the best documents lend their terms to a second search."""

from __future__ import annotations

from rankwell.core import ParameterError, Stage
from rankwell.rank import BM25, RM3
from rankwell.studies.steps.bm25 import Bm25, ranker
from rankwell.studies.steps.step import Bench, Chain, Parameter, Step, StepKind


class Rm3(StepKind):
    """Feedback comes from the steps before it; the second search has the settings of the line's bm25."""

    name = "rm3"
    about = "pseudo-relevance feedback: the best documents so far lend terms to a second BM25 search"
    parameters = (
        Parameter("documents", "feedback documents", int, 10),
        Parameter("terms", "terms that are added", int, 10),
        Parameter("weight", "the share of the original query", float, 0.5),
    )
    follows = True

    def check(self, step: Step) -> None:
        """Numbers within their ranges."""
        for name in ("documents", "terms"):
            if step[name] < 1:
                raise ParameterError(name, expected="a number, at least 1", found=step[name])
        if not 0 <= step["weight"] <= 1:
            raise ParameterError("weight", expected="a number from 0 to 1", found=step["weight"])

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:
        """RM3 over the bm25 of this line, or over a plain one where the line began with something else."""
        first = next((earlier for earlier in before if earlier.kind == Bm25.name), None)
        base: BM25 = ranker(first, bench)
        return RM3(base, fb_docs=step["documents"], fb_terms=step["terms"], original_query_weight=step["weight"])
