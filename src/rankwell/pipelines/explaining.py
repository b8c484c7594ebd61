"""A search that can explain each of its documents: its rank after each stage, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rankwell.core import Ranking, Run
from rankwell.core.stage import as_run
from rankwell.index import SearchIndex
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import RerankExplanation, StageRank, explain_rerank, places
from rankwell.pipelines.options import RankerOptions, RerankOptions
from rankwell.retrieve import Hybrid, TermPart, explain_score

QID = "1"  # plain words are the only query of their run

Traced = list[tuple[str, Run]]


@dataclass(frozen=True)
class Explanation:
    """A document's ranks after each stage, the terms that matched, and the passages that a model read."""

    places: list[StageRank]
    terms: list[TermPart]
    read: RerankExplanation | None

    def for_json(self) -> dict[str, Any]:
        """The explanation as a dictionary for JSON."""
        parts = {"terms": [vars(part) for part in self.terms], "stages": [asdict(place) for place in self.places]}
        passages = {} if self.read is None else {"passages": [asdict(passage) for passage in self.read.passages]}
        return {**parts, **passages}


@dataclass(frozen=True)
class Explained:
    """A search of an index for some words."""

    index: SearchIndex
    first: RankerOptions
    second: RerankOptions | None
    words: str

    @cached_property
    def runs(self) -> Traced:
        """The run after every stage; where the first stage fuses several rankers, also theirs."""
        if self.second is None:
            return first_runs(self.index, self.first, self.words)
        again = self.second.stage(self.index)
        again.check()  # before the first stage runs
        runs = first_runs(self.index, self.first, self.words)
        return [*runs, (self.second.model, again.apply(runs[-1][1]))]

    def ranking(self, k: int) -> Ranking:
        """The final ranking."""
        return self.runs[-1][1].top(k)[QID]

    def why(self, docno: str, asked: str) -> Explanation:
        """Explain the rank of a document."""
        again = None if self.second is None else self.second.reranker(self.index)
        read = None
        if isinstance(again, CrossEncoder):  # other models score a document beside other documents
            read = explain_rerank(again, self.words, self.index.documents[docno])
        return explained(self.index, self.first, self.runs, docno, asked=asked, read=read)


def first_runs(index: SearchIndex, options: RankerOptions, words: str) -> Traced:
    """The run of the first stage, by its name; where it fuses several rankers, theirs before it."""
    ranker = options.ranker(index, {QID: words})
    ranker.check()
    first = ranker.stages[0]
    beside = first.rankers if isinstance(first, Hybrid) else (first,)
    runs = [(type(stage).__name__, stage.apply(as_run(words))) for stage in beside]
    if isinstance(first, Hybrid):
        runs.append(("fused", first.fusion(*(run for _, run in runs)).top(options.k)))
    return runs


def explained(
    index: SearchIndex,
    options: RankerOptions,
    runs: Sequence[tuple[str, Run]],
    docno: str,
    *,
    asked: str,
    read: RerankExplanation | None = None,
) -> Explanation:
    """Explain the rank of a document after these runs.

    `asked` are the plain words of the query (`Match.words`); `read` are the document's passages that a model read.
    """
    terms = [] if options.dense else explain_score(options.bm25(index), asked, docno)
    return Explanation(places(runs, QID, docno), list(terms), read)
