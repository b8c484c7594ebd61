"""duoBERT as a re-ranker: compare the top documents in pairs, and combine the comparisons into scores."""

from __future__ import annotations

import logging
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankwell.core import ParameterError, Run, Template
from rankwell.core.parameters import Whole, like, param
from rankwell.core.progress import Progress
from rankwell.core.run import Values, sigmoid
from rankwell.index import SearchIndex
from rankwell.models.base.tokens import as_text
from rankwell.models.duo.scorer import load_duo
from rankwell.models.reranking.passages import DocumentTexts
from rankwell.models.reranking.placing import Mask, Rescored, Tally
from rankwell.models.reranking.record import RankerRecord
from rankwell.models.reranking.reranker import DUO_DEPTH, Candidate, Candidates, Reranker, RerankSettings
from rankwell.models.reranking.scores import Scorer, reported

EVEN = 0.5
SAMPLE = "sample:"
EXPECTED = "sum, binary, min, max, or sample:M (the sum over M others, drawn by lot)"


@dataclass(frozen=True)
class DuoAggregate(ABC):
    """A way to combine a document's comparisons into one score."""

    name: ClassVar[str]

    def against(self, count: int, lots: np.random.Generator) -> Mask:  # noqa: ARG002 -- only SAMPLE draws at random
        """Mask of the comparisons of a query's documents: [i, j] where p_ij is needed."""
        return ~np.eye(count, dtype=bool)

    @abstractmethod
    def scores(self, chances: Values, against: Mask) -> Values:
        """The score of each document; `chances[i, j]` is valid where `against[i, j]`."""

    def inferences(self, count: int) -> int:
        """Number of comparisons of `count` documents: each with all others, in both orders."""
        return count * (count - 1)


class Sum(DuoAggregate):
    """s_i = sum over j of p_ij."""

    name = "sum"

    def scores(self, chances: Values, against: Mask) -> Values:
        """The expected number of wins of each document."""
        found: Values = np.where(against, chances, 0).sum(axis=1)
        return found


class Binary(DuoAggregate):
    """s_i = number of j with p_ij > 0.5."""

    name = "binary"

    def scores(self, chances: Values, against: Mask) -> Values:
        """The number of wins of each document."""
        found: Values = (against & (chances > EVEN)).sum(axis=1).astype(np.float64)
        return found


class Minimum(DuoAggregate):
    """s_i = min over j of p_ij."""

    name = "min"

    def scores(self, chances: Values, against: Mask) -> Values:
        """The probability against the strongest other document; 0 without others."""
        found = np.where(against, chances, np.inf).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(found), found, 0)


class Maximum(DuoAggregate):
    """s_i = max over j of p_ij."""

    name = "max"

    def scores(self, chances: Values, against: Mask) -> Values:
        """The probability against the weakest other document; 0 without others."""
        found: Values = np.where(against, chances, 0).max(axis=1, initial=0)
        return found


@dataclass(frozen=True)
class Sample(Sum):
    """s_i = sum of p_ij over m other documents, drawn without replacement for each i: m instead of k - 1."""

    name = "sample"

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ParameterError("aggregate", expected=EXPECTED, found=f"{SAMPLE}{self.count}")

    def against(self, count: int, lots: np.random.Generator) -> Mask:
        """For each document m others, or all where there are fewer."""
        found = np.zeros((count, count), dtype=bool)
        for place in range(count):
            others = np.delete(np.arange(count), place)
            found[place, lots.permutation(others)[: self.count]] = True
        return found

    def inferences(self, count: int) -> int:
        """M comparisons per document, or as many as there are others."""
        return count * min(self.count, max(count - 1, 0))


DUO_AGGREGATES: Mapping[str, DuoAggregate] = {kind.name: kind for kind in (Sum(), Binary(), Minimum(), Maximum())}


def duo_aggregate(name: str) -> DuoAggregate:
    """Parse `sum`, `binary`, `min`, `max`, or `sample:10`."""
    if name.startswith(SAMPLE) and name.removeprefix(SAMPLE).isdecimal():
        return Sample(int(name.removeprefix(SAMPLE)))
    if name not in DUO_AGGREGATES:
        raise ParameterError("aggregate", expected=EXPECTED, found=name)
    return DUO_AGGREGATES[name]


log = logging.getLogger(__name__)

ALONE = ("passages", "aggregate_as", "scores", "max_tokens", "query_tokens")  # settings that a duo model does not have


@dataclass(frozen=True)
class Duo(Reranker):
    """Compares the k best documents of each query two by two, `[CLS] q [SEP] d_i [SEP] d_j [SEP]`, in both orders.

    A document's score combines its comparisons: `sum`, `binary`, `min`, `max` or `sample:M` (see
    `duo_aggregates`). It follows a re-ranker that reads one document at a time, and re-ranks few of its best:
    k0 documents for that one and k1 for this one cost k0 + k1 (k1 - 1) inferences a query. Documents below k stay
    below, and so do documents without text.

    A score depends on all documents of its query and is never cached. `seed` is for the samples of `sample:M`, which
    are the same for a query whatever others are ranked.

    Nogueira, Yang, Cho and Lin, "Multi-stage document ranking with BERT", 2019.
    """

    keeps_scores: ClassVar[bool] = False
    of_scorer: ClassVar[tuple[str, ...]] = ("precision",)

    model: str | Scorer
    k: int = like(RerankSettings, "k", default=DUO_DEPTH)
    document: str | None = like(RerankSettings, "document")
    query_field: str | None = like(RerankSettings, "query_field")
    aggregate: str = like(RerankSettings, "aggregate", default="sum")
    seed: int = param(42, "Random seed for the comparisons that sample:M draws.", Whole())
    missing: str = like(RerankSettings, "missing")
    precision: str | None = like(RerankSettings, "precision")
    index: SearchIndex | None = field(default=None, repr=False)
    threads: int | None = field(default=None, repr=False, compare=False)
    quiet: bool = field(default=False, repr=False, compare=False)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        duo_aggregate(self.aggregate)

    def scorer(self) -> Scorer:
        """The model, loaded once per process."""
        if not isinstance(self.model, str):
            return self.model
        return load_duo(self.model, precision=self.precision, threads=self.threads)

    def inferences(self, run: Run) -> int:
        """Number of comparisons for the run, if all its documents have a text."""
        aggregate = duo_aggregate(self.aggregate)
        return sum(aggregate.inferences(min(int(count), self.k)) for count in np.diff(run.offsets))

    def rescore(self, run: Run) -> Rescored:
        """Compute the new scores without placing the documents."""
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
        pairs = [(some[i].query, (as_text(some[i].texts[0]), as_text(some[j].texts[0]))) for i, j in both]
        chances = np.zeros(against.shape)
        chances[against] = sigmoid(scorer.scores(scorer.logits(pairs, progress)))
        self.tally.pairs += len(pairs)
        return aggregate.scores(chances, against)

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document))


def by_query(run: Run, candidates: Candidates) -> Iterator[tuple[str, list[Candidate]]]:
    """The candidates of each query that has some."""
    for block in candidates.blocks():
        places = np.searchsorted(run.offsets, [candidate.row for candidate in block], side="right") - 1
        for place in dict.fromkeys(places.tolist()):
            yield run.qids[place], [block[number] for number in np.flatnonzero(places == place)]


class DuoRanker:
    """The kind of model folders with `"kind": "duo"`."""

    depth = DUO_DEPTH

    def stage(self, model: str, record: RankerRecord, settings: RerankSettings) -> Duo:  # noqa: ARG002 -- the scorer reads it
        """The stage of a folder, without cache: a score depends on the other documents."""
        settings.refuse(*ALONE, because=f"{model} compares whole documents two by two")
        return settings.stage(Duo, model)
