"""`bm25(title=0.25, abstract=0.6)`: BM25, over all fields or a weighted sum of some."""

from __future__ import annotations

from rankwell.core import Stage
from rankwell.index import IDFS, Scoring
from rankwell.match import parse_filter, parse_match
from rankwell.rank import BM25
from rankwell.studies.steps.step import Bench, Chain, Parameter, Step, StepKind

DEPTH = Parameter("k", "how many documents of each query are kept", int, 1000)
MATCH = Parameter("match", "which documents are looked at: or, and, 'expr:...'", str, "or")
FILTER = Parameter("filter", "a condition on metadata: 'year>=2020'")
QUERY = Parameter("query", "the wording of the queries: question, ...; the first by default")


class Bm25(StepKind):
    """The first stage of most pipelines."""

    name = "bm25"
    about = "BM25 over all fields, or over the named ones with their weights: bm25(title=0.25, abstract=0.6)"
    parameters = (
        Parameter("k1", "BM25's k1", float, 1.2),
        Parameter("b", "BM25's b", float, 0.75),
        Parameter("idf", "the variant of idf", str, "lucene", tuple(IDFS)),
        MATCH,
        FILTER,
        QUERY,
        DEPTH,
    )
    begins = True
    takes_weights = True

    def check(self, step: Step) -> None:
        """Parameters within their ranges, a match function and a filter that can be read."""
        Scoring(step["k1"], step["b"], step["idf"], dict(step.weights) or None)
        parse_match(step["match"])
        if step["filter"] is not None:
            parse_filter(step["filter"])

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """As `rankwell.rank` has it."""
        return ranker(step, bench)


def ranker(step: Step | None, bench: Bench) -> BM25:
    """BM25 with the settings of a step, or with those of nobody."""
    if step is None:
        return BM25(bench.index, threads=bench.threads)
    return BM25(
        bench.index,
        k1=step["k1"],
        b=step["b"],
        idf=step["idf"],
        weights=dict(step.weights) or None,
        match=step["match"],
        filter=step["filter"],
        k=step["k"],
        query_field=step["query"],
        threads=bench.threads,
    )
