"""A search that can be asked about each of its documents: where it was after each stage, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankwell.core import Run
from rankwell.core.run import Ranking
from rankwell.core.stage import as_run
from rankwell.index import Index
from rankwell.pipelines.options import RankerOptions, RerankOptions
from rankwell.rank import Hybrid, TermPart, explain_score
from rankwell.rerank import CrossEncoder, Place, RerankExplanation, explain_rerank, places

if TYPE_CHECKING:
    from collections.abc import Sequence

QID = "1"  # plain words are the only query of their run

Traced = list[tuple[str, Run]]


@dataclass(frozen=True)
class Explanation:
    """A document's ranks from stage to stage, the terms that it was found by, and the passages that a model read."""

    places: list[Place]
    terms: list[TermPart]
    read: RerankExplanation | None

    def for_json(self) -> dict[str, Any]:
        """For programs."""
        found: dict[str, Any] = {"terms": [vars(part) for part in self.terms]}
        found["stages"] = [asdict(place) for place in self.places]
        if self.read is not None:
            found["passages"] = [asdict(passage) for passage in self.read.passages]
        return found


@dataclass(frozen=True)
class Explained:
    """A search of an index for some words."""

    index: Index
    first: RankerOptions
    second: RerankOptions | None
    words: str

    @cached_property
    def runs(self) -> Traced:
        """The run after every stage; where the first is several rankers side by side, each of theirs too."""
        reranker = None if self.second is None else self.second.stage(self.index)
        if reranker is not None:
            reranker.check()  # before the first stage takes its time
        found = first_runs(self.index, self.first, self.words)
        if reranker is not None:
            found.append((self.second.model if self.second else "", reranker.apply(found[-1][1])))
        return found

    def ranking(self, k: int) -> Ranking:
        """What was found in the end."""
        return self.runs[-1][1].top(k)[QID]

    def why(self, docno: str, asked: str) -> Explanation:
        """Why a document stands where it does."""
        again = None if self.second is None else self.second.reranker(self.index)
        read = None
        if isinstance(again, CrossEncoder):  # others judge a document by its neighbours
            read = explain_rerank(again, self.words, self.index.documents[docno])
        return explained(self.index, self.first, self.runs, docno, asked=asked, read=read)


def first_runs(index: Index, options: RankerOptions, words: str) -> Traced:
    """The run of the first stage, under its name; where it is several rankers side by side, theirs before it."""
    ranker = options.ranker(index, {QID: words})
    ranker.check()
    first = ranker.stages[0]
    beside = first.rankers if isinstance(first, Hybrid) else (first,)
    found = [(type(stage).__name__, stage.apply(as_run(words))) for stage in beside]
    if isinstance(first, Hybrid):
        found.append(("fused", first.fusion(*(run for _, run in found)).top(options.k)))
    return found


def explained(
    index: Index,
    options: RankerOptions,
    runs: Sequence[tuple[str, Run]],
    docno: str,
    *,
    asked: str,
    read: RerankExplanation | None = None,
) -> Explanation:
    """Why a document stands where it does after these runs.

    `asked` are the plain words of the query (`Match.words`); `read` is what a model read of the document.
    """
    terms = [] if options.dense else explain_score(options.bm25(index), asked, docno)
    return Explanation(places(runs, QID, docno), list(terms), read)
