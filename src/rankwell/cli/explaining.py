"""Where a document was after each stage of a search, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from rankwell.core import Run
from rankwell.core.run import Ranking
from rankwell.index import Index
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.rank import Hybrid, TermPart, explain_score
from rankwell.report.cells import one_line
from rankwell.rerank import Place, RerankExplanation, explain_rerank, places

QID = "1"  # plain words are the only query of their run


@dataclass(frozen=True)
class Explanation:
    """A document's ranks from stage to stage, the terms that it was found by, and the passage that a model read."""

    places: list[Place]
    terms: list[TermPart]
    read: RerankExplanation | None

    def for_json(self) -> dict[str, Any]:
        """What `--json` adds."""
        found: dict[str, Any] = {"terms": [vars(part) for part in self.terms]}
        found["stages"] = [asdict(place) for place in self.places]
        if self.read is not None:
            found["passages"] = [asdict(passage) for passage in self.read.passages]
        return found

    def lines(self) -> list[str]:
        """For the terminal."""
        lines = [_term(part) for part in self.terms]
        if len(self.places) > 1:
            lines.append(" -> ".join(_place(place) for place in self.places))
        if self.read is not None and self.read.best is not None:
            best, count = self.read.best, len(self.read.passages)
            of = f"best of {count} passages" if count > 1 else "read"
            lines.append(f"{of}, {best.probability:.3f}: {one_line(best.text)[:200]}")
        return lines


@dataclass(frozen=True)
class Explained:
    """A search that can be asked about each of its documents."""

    index: Index
    first: RankerOptions
    second: RerankOptions | None
    words: str

    @cached_property
    def runs(self) -> list[tuple[str, Run]]:
        """The run after every stage; where the first is several rankers side by side, each of theirs too."""
        ranker = self.first.ranker(self.index, {QID: self.words})
        reranker = None if self.second is None else self.second.stage(self.index)
        for stage in (ranker, reranker):
            if stage is not None:
                stage.check()
        first = ranker.stages[0]
        beside = first.rankers if isinstance(first, Hybrid) else (first,)
        found = [(type(stage).__name__, stage(self.words)) for stage in beside]
        if isinstance(first, Hybrid):
            found.append(("fused", first.fusion(*(run for _, run in found)).top(self.first.k)))
        if reranker is not None:
            found.append((self.second.model if self.second else "", reranker.apply(found[-1][1])))
        return found

    def ranking(self, k: int) -> Ranking:
        """What was found in the end."""
        return self.runs[-1][1].top(k)[QID]

    def why(self, docno: str, asked: str) -> Explanation:
        """Why a document stands where it does."""
        terms = [] if self.first.dense else explain_score(self.first.bm25(self.index), asked, docno)
        read = None
        if self.second is not None:
            read = explain_rerank(self.second.cross_encoder(self.index), self.words, self.index.documents[docno])
        return Explanation(places(self.runs, QID, docno), list(terms), read)


def _term(part: TermPart) -> str:
    field = f" in {part.field}" if part.field else ""
    about = f"{part.frequency}x, in {part.documents:,} documents, idf {part.idf:.3f}"
    return f"{part.part:.4f}  {part.term}{field} ({about})"


def _place(place: Place) -> str:
    if place.rank is None:
        return f"{place.stage}: not found"
    return f"{place.stage}: {place.rank}. ({place.score:.4f})"
