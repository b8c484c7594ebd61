"""Pairs from judgments: relevant documents, and others that a ranker must learn to tell from them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run, Template
from rankwell.rerank import Passages, Scorer
from rankwell.rerank.architectures import DocumentParts
from rankwell.rerank.texts import DocumentTexts
from rankwell.train.negatives import Around, Negatives
from rankwell.train.pairs import Pair

EXTRA = {"kind": "string", "passage": "int64"}
PARTS = {"title": "string", "abstract": "string"}  # columns of pairs whose documents are wanted in parts
RELEVANT = "relevant"


class Made(NamedTuple):
    """A pair, why it is there (relevant, hard, judged, random), the number of its passage, and further columns."""

    pair: Pair
    kind: str
    passage: int
    parts: Mapping[str, str] = MappingProxyType({})


class Sources(NamedTuple):
    """Where labelled pairs come from. The run is needed for hard negatives only."""

    documents: Mapping[str, Document]
    queries: Queries
    judgments: Judgments
    run: Run | None = None


@dataclass(frozen=True)
class Labelled:
    """Settings of pairs that are made of judgments.

    Documents with `least` as their grade or more are labelled 1 (or with their grade, if `graded`), whether or not a
    run has found them. `negatives` says which others are labelled 0. `document` is a template of fields. With
    `passages` a pair is made of every passage, which has its document's label; with `top` only of those that
    the `scorer` gives the highest scores for the query (Simplified TinyBERT takes five). With `parts` pairs have title
    and abstract as columns of their own, for models that read them apart. The pairs of a query stand together: they are
    its group.

    What is drawn for a query depends on the seed and on its id, not on other queries.
    """

    negatives: Negatives = field(default_factory=Negatives)
    document: str | None = None
    passages: Passages | None = None
    top: int | None = None
    scorer: Scorer | None = field(default=None, repr=False)
    least: int = 1
    graded: bool = False
    query_field: str | None = None
    parts: bool = False
    seed: int = 0
    skipped: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.least < 1:
            raise ParameterError("least grade", expected="a number from 1", found=self.least)
        if self.document is not None:
            Template(self.document)
        if self.top is not None and (self.passages is None or self.scorer is None or self.top < 1):
            expected = "a number from 1, with passages and a model that scores them"
            raise ParameterError("top passages", expected=expected, found=self.top)
        if self.parts and self.passages is not None:
            raise ParameterError("parts", expected="whole documents, or passages without parts", found="both")

    @property
    def columns(self) -> dict[str, str]:
        """The columns that pairs have besides those that all have, with their types."""
        return {**EXTRA, **(PARTS if self.parts else {})}

    def made(self) -> dict[str, Any]:
        """The settings in plain words, for the record."""
        return {
            "kind": "labelled",
            "negatives": str(self.negatives),
            "depth": self.negatives.depth,
            "document": self.document,
            "passages": None if self.passages is None else repr(self.passages),
            "top_passages": self.top,
            "scorer": None if self.scorer is None else self.scorer.fingerprint(),
            "least_grade": self.least,
            "graded": self.graded,
            "query_field": self.query_field,
            **({"parts": list(PARTS)} if self.parts else {}),
        }

    def pairs(self, sources: Sources) -> Iterator[Made]:
        """Query by query, relevant documents first; `skipped` then says what could not be used, and why."""
        self._check(sources)
        everything = list(sources.documents) if "random" in self.negatives.kinds else []
        for qid in sources.judgments:
            query = sources.queries[qid].text(self.query_field) if qid in sources.queries else ""
            positives = [docno for docno in sources.judgments.relevant(qid, self.least) if self._has(docno, sources)]
            if not query.strip() or not positives:
                reason = "queries without a relevant document" if query.strip() else "queries without a text"
                self.skipped[reason] += 1
                continue
            chooser = random.Random(f"{self.seed}/{qid}")  # noqa: S311 -- reproducible, no secret
            around = self._around(qid, sources, everything)
            for docno in positives:
                label = float(sources.judgments[qid][docno]) if self.graded else 1.0
                yield from self._texts(qid, query, sources.documents[docno], label, RELEVANT)
            for docno, kind in self.negatives.drawn(around, len(positives), chooser):
                yield from self._texts(qid, query, sources.documents[docno], 0.0, kind)

    def _check(self, sources: Sources) -> None:
        if "hard" in self.negatives.kinds and sources.run is None:
            raise RankwellError(
                "negatives: expected a run to take hard ones from, found none: make one with `rankwell rank`, "
                "or choose others (random:1, judged:all)"
            )
        if not any(qid in sources.queries for qid in sources.judgments):
            raise RankwellError(
                f"pairs: expected queries with judgments, found {len(sources.queries):,} queries and judgments of "
                f"{len(sources.judgments):,} others"
            )

    def _around(self, qid: str, sources: Sources, everything: Sequence[str]) -> Around:
        run = sources.run if sources.run is not None and qid in sources.run else None
        top = [] if run is None else run[qid].docnos[: self.negatives.depth].tolist()
        if "hard" in self.negatives.kinds and not top:
            self.skipped["queries without a ranking to take hard negatives from"] += 1
        ranked = [docno for docno in top if self._has(docno, sources)] if "hard" in self.negatives.kinds else []
        grades = sources.judgments[qid]
        judged = [docno for docno, grade in grades.items() if grade < 1 and docno in sources.documents]
        return Around(ranked, judged, everything, set(sources.judgments.relevant(qid, 1)))

    def _has(self, docno: str, sources: Sources) -> bool:
        there = docno in sources.documents
        self.skipped["documents that are not in the collection"] += not there
        return there

    def _texts(self, qid: str, query: str, document: Document, label: float, kind: str) -> Iterator[Made]:
        texts = list(enumerate(self._document_texts(document)))
        self.skipped["documents without a text"] += not texts
        if self.top is not None and self.scorer is not None and len(texts) > self.top:
            scores = self.scorer.scores(self.scorer.logits([(query, text) for _, text in texts]))
            best = sorted(range(len(texts)), key=lambda place: (-float(scores[place]), place))[: self.top]
            texts = [texts[place] for place in sorted(best)]
        for number, text in texts:
            yield Made(Pair(qid, document.id, query, text, label), kind, number, self._parts(document))

    def _parts(self, document: Document) -> dict[str, str]:
        if not self.parts:
            return {}
        taken_apart = DocumentParts()
        return {"title": taken_apart.title(document), "abstract": taken_apart.abstract(document)}

    @cached_property
    def _document_texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)
