"""`fuse(bm25, dense(minilm-l6))`: several lines beside one another, made one run."""

from __future__ import annotations

from rankwell.core import Run, Stage
from rankwell.rank import FUSIONS, NORMALISERS, Fusion, Hybrid, fusion
from rankwell.studies.problems import LineError
from rankwell.studies.steps.step import Bench, Chain, JoiningKind, Parameter, Step

FEWEST = 2


class Fuse(JoiningKind):
    """Reciprocal ranks, or weighted sums of normalised scores."""

    name = "fuse"
    about = "make one run of several: fuse(bm25, dense(MODEL), method=rrf)"
    parameters = (
        Parameter("method", "rrf, sum or mnz", str, "rrf", tuple(FUSIONS)),
        Parameter("weights", "one number a line: 'weights=0.7/0.3'"),
        Parameter("normalise", "how scores are brought to one scale (sum, mnz)", str, None, tuple(NORMALISERS)),
        Parameter("k", "the constant of rrf", float),
    )
    begins = True

    def check(self, step: Step) -> None:
        """Two lines or more, and a method that takes what it is given."""
        if len(step.beside) < FEWEST:
            raise LineError(f"expected two lines or more in fuse(...), found {len(step.beside)}", step.place)
        made = fusion_of(step)
        if made.weights is not None and len(made.weights) != len(step.beside):
            found = f"expected {len(step.beside)} weights, one a line, found {len(made.weights)}"
            raise LineError(found, step.place)

    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:  # noqa: ARG002 -- it begins
        """Fuse the runs."""
        return fusion_of(step)(*beside)

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """All lines on the same queries."""
        from rankwell.studies.steps import stage_of

        return Hybrid(tuple(stage_of(chain, bench) for chain in step.beside), fusion_of(step))


def fusion_of(step: Step) -> Fusion:
    """The way of fusing."""
    given = {"normalise": step["normalise"], "k": step["k"]}
    try:
        weights = None if step["weights"] is None else [float(part) for part in step["weights"].split("/")]
    except ValueError:
        expected = "numbers with / between them, such as 0.7/0.3"
        raise LineError(f'weights: expected {expected}, found "{step["weights"]}"', step.place) from None
    return fusion(step["method"], weights, **{name: value for name, value in given.items() if value is not None})
