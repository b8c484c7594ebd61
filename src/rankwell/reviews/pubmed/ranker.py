"""PubMed's own search as a baseline ranker."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from rankwell.core import Document, Judgments, ParameterError, RankwellError, Run, Stage
from rankwell.core.parameters import like
from rankwell.evaluation.run_analysis import Confusion
from rankwell.retrieve import BM25
from rankwell.retrieve.baselines import falling
from rankwell.reviews.pubmed.client import MOST_FOUND, EUtilities, title_term

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PubMedRanker(Stage):
    """The first k results of PubMed for each query, in PubMed's order (systematic-review study, 4.2).

    `dates` are the reviews' publication dates: newer results were not there for their authors and are dropped
    (so that fewer than k remain). A date may be a year, a month or a day; results of the same period are kept.
    Document ids are PMIDs, and documents that nobody judged count as not relevant in every measure by default.
    """

    client: EUtilities
    dates: Mapping[str, str] = field(default_factory=dict)
    k: int = like(BM25, "k")
    query_field: str | None = like(BM25, "query_field")

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MOST_FOUND:
            raise ParameterError("k", expected=f"a number of documents from 1 to {MOST_FOUND:,}", found=self.k)

    def apply(self, run: Run) -> Run:
        """Search for the run's queries; the run's documents are ignored."""
        if run.queries is None:
            raise RankwellError("PubMedRanker: expected a run with its queries, found one without their texts")
        undated = [qid for qid in run.qids if not self.dates.get(qid)]
        if undated:
            logger.warning("%d reviews have no date: none of PubMed's results is too new for them", len(undated))
        scores: dict[str, dict[str, float]] = {}
        documents: dict[str, Document] = {}
        for qid in run.qids:
            found = self.client.search(title_term(run.queries[qid].text(self.query_field)), self.k)
            articles = self.client.fetch(found.ids)
            old = [pmid for pmid in found.ids if not self._is_newer(articles.get(pmid), qid)]
            scores[qid] = dict(zip(old, falling(len(old)).tolist(), strict=True))
            documents |= {pmid: articles[pmid] for pmid in old if pmid in articles}
        return Run.from_dict(scores, tag="PubMed", queries=run.queries, documents=documents)

    def _is_newer(self, article: Document | None, qid: str) -> bool:
        published = "" if article is None else str(article.metadata.get("date", ""))
        return is_newer(published, self.dates.get(qid, ""))


def is_newer(published: str, than: str) -> bool:
    """Whether a date (2015, 2015-03 or 2015-03-12) is later than another, as far as both are known."""
    known = min(len(published), len(than))
    return published[:known] > than[:known]


def top_share(run: Run, judgments: Judgments, share: float | None = None) -> Confusion:
    """The confusion matrix when each query's top share is labelled relevant (systematic-review study, 4.2).

    The default share is that of the relevant among the judged documents. Only documents of the run count; a document
    that nobody judged is not relevant.
    """
    if share is None:
        grades = [grade for of_query in judgments.values() for grade in of_query.values()]
        share = sum(grade > 0 for grade in grades) / len(grades) if grades else 0.0
    if not 0 <= share <= 1:
        raise ParameterError("share", expected="a number from 0 to 1", found=share)
    counts = dict.fromkeys(((True, True), (True, False), (False, True), (False, False)), 0)
    for qid, ranking in run.rankings():
        labelled, known = round(share * len(ranking)), judgments.get(qid, {})
        for place, docno in enumerate(ranking.docnos.tolist()):
            counts[place < labelled, known.get(docno, 0) > 0] += 1
    return Confusion(counts[True, True], counts[True, False], counts[False, True], counts[False, False])
