"""`tfidf`: the vector space model, or the plain sum of S0."""

from __future__ import annotations

from rankwell.core import Stage
from rankwell.match import parse_match
from rankwell.rank import CosineTfIdf, SumTfIdf
from rankwell.studies.steps.bm25 import DEPTH, MATCH, QUERY
from rankwell.studies.steps.step import Bench, Chain, Parameter, Step, StepKind

COSINE, SUM = FORMS = ("cosine", "sum")


class TfIdf(StepKind):
    """TF-IDF over one field or all."""

    name = "tfidf"
    about = "TF-IDF: the cosine of the vector space model, or the sum of tf * idf"
    parameters = (
        Parameter("form", "cosine or sum", str, COSINE, FORMS),
        Parameter("field", "the field that is searched; all by default"),
        MATCH,
        QUERY,
        DEPTH,
    )
    main = "form"
    begins = True

    def check(self, step: Step) -> None:
        """A match function that can be read."""
        parse_match(step["match"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """The one field, if one is named."""
        return (step["field"],) if step["field"] else ()

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """As `rankwell.rank` has it."""
        given = {"field": step["field"] or "", "match": step["match"], "k": step["k"], "query_field": step["query"]}
        return CosineTfIdf(bench.index, **given) if step["form"] == COSINE else SumTfIdf(bench.index, **given)
