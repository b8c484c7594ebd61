"""Re-ranking with one of the systematic-review study's four architectures."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from rankwell.core import Document, Judgments, ParameterError, Run, Template
from rankwell.core.parameters import like
from rankwell.index import SearchIndex
from rankwell.models.base.tokens import Pair
from rankwell.models.reranking.passages import few
from rankwell.models.reranking.placing import Rescored, Tally
from rankwell.models.reranking.record import RankerRecord
from rankwell.models.reranking.reranker import DEPTH, KINDS, LOGIT, MISSING, Candidate, Reranker, RerankSettings
from rankwell.models.reranking.scores import PairScores, Scorer, reported
from rankwell.models.review_rankers.architectures import architecture
from rankwell.models.review_rankers.graph import ArchitectureRecord
from rankwell.models.review_rankers.inputs import EXAMPLE, DocumentParts, RelevantAbstracts
from rankwell.models.review_rankers.scorer import load_architecture

log = logging.getLogger(__name__)

Relevant = Judgments | Mapping[str, str] | str


@dataclass(frozen=True)
class ArchitectureRanker(Reranker):
    """Re-ranks the k best documents of each query with a model of `rankwell train architecture`.

    Documents below k stay below, in their old order, and so do documents without text. `document`: a template of
    the text that is read as the abstract; without one the field abstract, text or body.

    `relevant`, for architectures that read a relevant abstract: judgments, of whose relevant documents one is drawn for
    each query; or one text for all queries; or one a query. A document is never compared with itself. Queries
    without any take the first stage's best document in its place (for that document, the second), and a warning says
    how many they are.
    """

    choices: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType({"scores": KINDS, "missing": MISSING})

    model: str | Scorer
    k: int = like(RerankSettings, "k", default=DEPTH)
    document: str | None = like(RerankSettings, "document")
    query_field: str | None = like(RerankSettings, "query_field")
    relevant: Relevant | None = like(RerankSettings, "relevant", repr=False)
    scores: str = like(RerankSettings, "scores", default=LOGIT)
    missing: str = like(RerankSettings, "missing")
    index: SearchIndex | None = field(default=None, repr=False)
    cache: bool | Path | str = field(default=True, repr=False, compare=False)
    threads: int | None = field(default=None, repr=False, compare=False)
    quiet: bool = field(default=False, repr=False, compare=False)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def scorer(self) -> Scorer:
        """The loaded model, cached in the process."""
        return load_architecture(self.model, threads=self.threads) if isinstance(self.model, str) else self.model

    def check(self) -> None:
        """Raise an error for a model that cannot be loaded, missing fields, and `relevant` for a model without it."""
        super().check()
        kind = self._record.architecture
        if self.relevant is not None and not kind.reads_relevant:
            expected = f"nothing, because {self.model} ({kind.kind}) reads no relevant abstract"
            raise ParameterError("relevant", expected=expected, found=self.relevant)

    def also_reads(self, qid: str) -> Iterable[str]:
        """The documents that are relevant to the query by the judgments."""
        return self.relevant.relevant(qid) if isinstance(self.relevant, Judgments) and qid in self.relevant else ()

    def rescore(self, run: Run) -> Rescored:
        """The new scores of the run's top documents."""
        scorer = self.scorer()
        candidates = self.candidates(run, self._texts)
        examples = _Examples(run, candidates.documents, self._parts, self._known(run, candidates.documents))
        found, progress = Rescored.nothing(run), self.progress(candidates, candidates.count)
        with reported(scorer, self.tally), progress, self.kept_scores() as cache:
            score = PairScores(scorer, cache, self.tally, progress)
            for block in candidates.blocks():
                rows = [candidate.row for candidate in block]
                scores = score([examples.pair(candidate) for candidate in block])
                found.scores[rows] = scorer.probabilities(scores) if self.scores == "probability" else scores
                found.chosen[rows] = True
                self.tally.documents += len(rows)
        self.count_empty(candidates)
        return found

    @property
    def _record(self) -> ArchitectureRecord:
        found: ArchitectureRecord = getattr(self.scorer(), "record")  # noqa: B009 -- a scorer that stands for another has it too
        return found

    @cached_property
    def _parts(self) -> DocumentParts:
        return DocumentParts(None if self.document is None else Template(self.document))

    def _texts(self, document: Document) -> list[str]:
        """Whether there is a text to read; the texts themselves depend on the query."""
        text = self._parts.body(document)
        return [text] if text else []

    def _known(self, run: Run, documents: Mapping[str, Document]) -> RelevantAbstracts | None:
        """The relevant abstracts of the run's queries; None where the model reads none."""
        if not self._record.architecture.reads_relevant:
            return None
        qids = [qid for qid, ranking in run.rankings() if len(ranking)]
        known = {qid: dict(self._known_of(qid, documents)) for qid in qids}
        without = [qid for qid in qids if not known[qid]]
        if without:
            log.warning(
                "%d of %d queries have no known relevant abstract: the first stage's best document takes its place: %s",
                len(without),
                len(qids),
                few(without),
            )
        return RelevantAbstracts(known, self._record.seed, one=True)

    def _known_of(self, qid: str, documents: Mapping[str, Document]) -> Iterator[tuple[str, str]]:
        """Document ids and abstracts that are known to be relevant to a query."""
        if isinstance(self.relevant, Judgments):
            for docno in self.also_reads(qid):
                text = self._parts.body(documents[docno]) if docno in documents else ""
                if text:
                    yield docno, text
        elif self.relevant is not None:
            text = self.relevant if isinstance(self.relevant, str) else self.relevant.get(qid, "")
            if text.strip():
                yield EXAMPLE, text


class ArchitectureStage:
    """Makes stages for the four kinds of review rankers."""

    depth = DEPTH

    def stage(self, model: str, record: RankerRecord, settings: RerankSettings) -> ArchitectureRanker:
        """The stage for a model's folder."""
        it_is = f"{model} is a model of the kind {record.kind}, which"
        settings.refuse("max_tokens", "query_tokens", because=f"{it_is} has its own")
        settings.refuse("passages", "aggregate", "aggregate_as", because=f"{it_is} reads documents whole")
        if not architecture(record.kind, record.settings.get("texts")).reads_relevant:
            settings.refuse("relevant", because=f"{it_is} reads no relevant abstract")
        settings.refuse("precision", because=f"{it_is} is run in fp32")
        return settings.stage(ArchitectureRanker, model)


class _Examples:
    """Makes the scorer's pairs from candidates."""

    def __init__(
        self, run: Run, documents: Mapping[str, Document], parts: DocumentParts, relevant: RelevantAbstracts | None
    ) -> None:
        self._run, self._documents, self._parts, self._relevant = run, documents, parts, relevant

    def pair(self, candidate: Candidate) -> Pair:
        """The query, and the document in parts."""
        docno = str(self._run.docnos[candidate.row])
        document = self._documents[docno]
        title, abstract = self._parts.title(document), self._parts.abstract(document)
        return candidate.query, (title, abstract, self._relevant_to(candidate.row, docno, abstract or title))

    def _relevant_to(self, row: int, docno: str, text: str) -> str:
        if self._relevant is None:
            return ""
        place = int(np.searchsorted(self._run.offsets, row, side="right")) - 1
        found = self._relevant.choose(self._run.qids[place], docno, text)
        return self._best_of(place, docno) if found is None else found

    def _best_of(self, place: int, docno: str) -> str:
        """The first stage's best document other than this one, if any."""
        start, end = int(self._run.offsets[place]), int(self._run.offsets[place + 1])
        for other in self._run.docnos[start:end].tolist():
            if other != docno and other in self._documents:
                text = self._parts.body(self._documents[other])
                if text:
                    return text
        return ""
