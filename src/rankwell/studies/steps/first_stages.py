"""First stages of a pipeline line: `bm25`, `tfidf`, `rm3`, `random`."""

from __future__ import annotations

from types import MappingProxyType

from rankwell.core import Stage
from rankwell.core.parameters import Text
from rankwell.index import Scoring
from rankwell.retrieve import BM25, RM3, CosineTfIdf, RandomRanker, SumTfIdf, parse_filter, parse_match
from rankwell.studies.steps.step import Chain, Step, StepContext, StepKind, setting, settings_of

OLD_QUERY = MappingProxyType({"query": "query_field"})


class Bm25(StepKind):
    """BM25, the first stage of most pipelines."""

    name = "bm25"
    about = "BM25 over all fields, or over the named ones with their weights: bm25(title=0.25, abstract=0.6)"
    parameters = settings_of(BM25, "k1", "b", "idf", "match", "filter", "query_field", "k")
    old_names = OLD_QUERY
    begins = True
    takes_weights = True

    def check(self, step: Step) -> None:
        """Check parameters, match function and filter."""
        Scoring(step["k1"], step["b"], step["idf"], dict(step.weights) or None)
        parse_match(step["match"])
        if step["filter"] is not None:
            parse_filter(step["filter"])

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """`rankwell.retrieve.BM25` with the step's settings."""
        return ranker(step, bench)


def ranker(step: Step | None, bench: StepContext) -> BM25:
    """BM25 with the settings of a step, or with the defaults."""
    if step is None:
        return BM25(bench.index, threads=bench.threads)
    return BM25(bench.index, **step.settings, weights=dict(step.weights) or None, threads=bench.threads)


COSINE, SUM = FORMS = ("cosine", "sum")


class TfIdfStep(StepKind):
    """TF-IDF over one field or all fields."""

    name = "tfidf"
    about = "TF-IDF: the cosine of the vector space model, or the sum of tf * idf"
    parameters = (
        setting("form", "The cosine of the vector space model, or the sum of tf * idf.", Text(FORMS), COSINE),
        *settings_of(CosineTfIdf, "field", "match", "query_field", "k"),
    )
    old_names = OLD_QUERY
    main = "form"
    begins = True

    def check(self, step: Step) -> None:
        """Check the match function."""
        parse_match(step["match"])

    def fields(self, step: Step) -> tuple[str, ...]:
        """The searched field, if one is named."""
        return (step["field"],) if step["field"] else ()

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The TF-IDF stage of `rankwell.retrieve`."""
        given = {name: value for name, value in step.settings.items() if name != "form"}
        return CosineTfIdf(bench.index, **given) if step["form"] == COSINE else SumTfIdf(bench.index, **given)


class Rm3(StepKind):
    """RM3: feedback comes from the steps before it; the second search uses the settings of the line's bm25."""

    name = "rm3"
    about = "pseudo-relevance feedback: the best documents so far lend terms to a second BM25 search"
    parameters = settings_of(RM3)
    old_names = MappingProxyType({"documents": "fb_docs", "terms": "fb_terms", "weight": "original_query_weight"})
    follows = True

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:
        """RM3 over the line's bm25, or over a default one where the line begins with something else."""
        first = next((earlier for earlier in before if earlier.kind == Bm25.name), None)
        return RM3(ranker(first, bench), **step.settings)


class Random(StepKind):
    """A random ranking: alone a sample of all documents; after another step its documents in random order."""

    name = "random"
    about = "documents in random order: of the step before, or of the whole collection"
    parameters = settings_of(RandomRanker, "seed", "k")
    main = "seed"
    begins = True
    follows = True

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:
        """The `RandomRanker` of `rankwell.retrieve`."""
        return RandomRanker(step["seed"], () if before else tuple(bench.index.documents), step["k"])
