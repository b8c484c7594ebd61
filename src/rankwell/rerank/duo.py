"""duoBERT as a re-ranker stage: the top documents of a query, each compared with each other."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankwell.core import Run, Template
from rankwell.core.progress import Progress
from rankwell.core.scales import Values, sigmoid
from rankwell.index import Index
from rankwell.rerank.candidates import Candidate, Candidates
from rankwell.rerank.duo_aggregates import duo_aggregate
from rankwell.rerank.duo_scorer import compared, load_duo
from rankwell.rerank.placing import Rescored
from rankwell.rerank.ranker_record import RankerRecord
from rankwell.rerank.reranker import Reranker, RerankWishes
from rankwell.rerank.scorer import Scorer
from rankwell.rerank.scoring import reported
from rankwell.rerank.tally import Tally
from rankwell.rerank.texts import DocumentTexts

log = logging.getLogger(__name__)

DEPTH = 20  # 380 comparisons a query
ALONE = ("passages", "aggregate_as", "scores", "max_tokens", "query_tokens")  # what a duo model knows nothing of


@dataclass(frozen=True)
class Duo(Reranker):
    """Compares the k best documents of each query two by two, `[CLS] q [SEP] d_i [SEP] d_j [SEP]`, in both orders.

    The score of a document is made of its comparisons: `sum`, `binary`, `min`, `max` or `sample:M` (see
    `duo_aggregates`). It stands after a re-ranker that reads one document at a time, and sees few of its best:
    k0 documents for that one and k1 for this one cost k0 + k1 (k1 - 1) inferences a query. Documents below k stay
    below, and so do documents without text.

    A score depends on all documents of its query: none is kept for later. `seed` draws the lots of `sample:M`, which
    are the same for a query whatever others are ranked.

    Nogueira, Yang, Cho and Lin, "Multi-stage document ranking with BERT", 2019.
    """

    keeps_scores: ClassVar[bool] = False
    of_scorer: ClassVar[tuple[str, ...]] = ("precision",)

    model: str | Scorer
    k: int = DEPTH
    document: str | None = None
    query_field: str | None = None
    aggregate: str = "sum"
    seed: int = 42
    missing: str = "error"
    precision: str | None = None
    index: Index | None = field(default=None, repr=False)
    threads: int | None = field(default=None, repr=False, compare=False)
    quiet: bool = field(default=False, repr=False, compare=False)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        duo_aggregate(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded; once a process."""
        if not isinstance(self.model, str):
            return self.model
        return load_duo(self.model, precision=self.precision, threads=self.threads)

    def inferences(self, run: Run) -> int:
        """How many comparisons the run needs, if all its documents have a text."""
        aggregate = duo_aggregate(self.aggregate)
        return sum(aggregate.inferences(min(int(count), self.k)) for count in np.diff(run.offsets))

    def rescore(self, run: Run) -> Rescored:
        """The new scores alone."""
        scorer, candidates, count = self.scorer(), self.candidates(run, self._texts), self.inferences(run)
        found = Rescored.nothing(run)
        if not self.quiet:
            log.warning("%s: %s comparisons for %s queries", self.name, f"{count:,}", f"{len(run.qids):,}")
        progress = Progress(f"comparing ({self.name})", unit="comparisons", total=count, quiet=self.quiet)
        with reported(scorer, self.tally), progress:
            for qid, some in by_query(run, candidates):
                rows = [candidate.row for candidate in some]
                found.scores[rows] = self._scores(qid, some, scorer, progress)
                found.chosen[rows] = True
                self.tally.documents += len(rows)
        self.count_empty(candidates)
        return found

    def _scores(self, qid: str, some: list[Candidate], scorer: Scorer, progress: Progress) -> Values:
        """The scores of one query's documents."""
        aggregate = duo_aggregate(self.aggregate)
        lots = np.random.default_rng([self.seed, zlib.crc32(qid.encode())])
        against = aggregate.against(len(some), lots)
        both = np.argwhere(against).tolist()
        pairs = [compared(some[i].query, some[i].texts[0], some[j].texts[0]) for i, j in both]
        chances = np.zeros(against.shape)
        chances[against] = sigmoid(scorer.scores(scorer.logits(pairs, progress)))
        self.tally.pairs += len(pairs)
        return aggregate.scores(chances, against)

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document))


def by_query(run: Run, candidates: Candidates) -> Iterator[tuple[str, list[Candidate]]]:
    """The documents to compare of each query that has some."""
    for block in candidates.blocks():
        places = np.searchsorted(run.offsets, [candidate.row for candidate in block], side="right") - 1
        for place in dict.fromkeys(places.tolist()):
            yield run.qids[place], [block[number] for number in np.flatnonzero(places == place)]


class DuoRanker:
    """`"kind": "duo"`."""

    depth = DEPTH

    def stage(self, model: str, record: RankerRecord, wishes: RerankWishes) -> Duo:  # noqa: ARG002 -- the scorer reads it
        """The stage of a folder. Scores are never kept: there is nothing that a cache could know them by."""
        wishes.refuse(*ALONE, because=f"{model} compares whole documents two by two")
        return Duo(
            model,
            k=wishes.depth(self.depth),
            document=wishes.document,
            query_field=wishes.query_field,
            aggregate=wishes.aggregate or "sum",
            missing=wishes.missing,
            precision=wishes.precision,
            index=wishes.index,
            threads=wishes.threads,
            quiet=wishes.quiet,
        )
