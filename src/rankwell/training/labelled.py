"""Pairs from judgments: relevant documents, and negatives of several kinds."""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from rankwell.core import Document, Judgments, ParameterError, Queries, RankwellError, Run, Template
from rankwell.core.parameters import Flag, Whole, check_parameters, like, param
from rankwell.index import Index, IndexWriter
from rankwell.models.learning.pairs import Pair
from rankwell.models.reranking.passages import DocumentTexts, Passages
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.models.reranking.scores import Scorer
from rankwell.models.review_rankers.architectures import DocumentParts
from rankwell.retrieve import BM25

ALL = -1
DEPTH = 40  # documents of a run to mine hard negatives from
WRITTEN = "hard, random or judged with a number a relevant document, or all: hard:4,random:1"


class Around(NamedTuple):
    """The candidates for one query's negatives; `relevant` documents are never drawn."""

    ranked: Sequence[str]  # top of a run
    judged: Sequence[str]  # judged not relevant
    everything: Sequence[str]
    relevant: Collection[str]


@dataclass(frozen=True)
class Negatives:
    """Number of negatives per relevant document, by kind: `{"hard": 4, "random": 1}`; ALL for all there are.

    hard: from the run's top `depth` documents (document-ranking study: the top 40 of BM25). judged: documents
    with a grade below 1. random: any document of the collection. None of them has a grade of 1 or more, whatever
    the least grade of a positive is, and each is drawn at most once per query.
    """

    counts: tuple[tuple[str, int], ...] = (("hard", 4),)
    depth: int = param(DEPTH, "Depth in the run to which hard negatives are looked for.", Whole(1))

    def __post_init__(self) -> None:
        for kind, count in self.counts:
            if kind not in KINDS or (count < 1 and count != ALL) or (kind == "random" and count == ALL):
                raise ParameterError("negatives", expected=WRITTEN, found=f"{kind}:{count}")
        check_parameters(self)

    @classmethod
    def parse(cls, text: str, depth: int = DEPTH) -> Negatives:
        """Parse `hard:4,random:1`, `hard:all`, or `none`."""
        if text == "none":
            return cls((), depth)
        counts = []
        for part in text.split(","):
            kind, _, count = part.strip().partition(":")
            if not (count.isdecimal() or count == "all"):
                raise ParameterError("negatives", expected=WRITTEN, found=text)
            counts.append((kind, ALL if count == "all" else int(count)))
        return cls(tuple(counts), depth)

    def __str__(self) -> str:
        return ",".join(f"{kind}:{'all' if count == ALL else count}" for kind, count in self.counts) or "none"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds with a number above 0."""
        return tuple(kind for kind, _ in self.counts)

    def drawn(self, around: Around, positives: int, chooser: random.Random) -> Iterator[tuple[str, str]]:
        """Draw documents with their kinds; fewer than asked for where there are not enough."""
        taken = set(around.relevant)
        for kind, count in self.counts:
            for docno in KINDS[kind](around, taken, None if count == ALL else count * positives, chooser):
                taken.add(docno)
                yield docno, kind


Draw = Callable[[Around, set[str], int | None, random.Random], Collection[str]]


def _random(around: Around, taken: set[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    """Sample random documents; nearly all are allowed, so that a few extra draws suffice."""
    size = min((wanted or 0) + len(taken), len(around.everything))
    drawn = [around.everything[place] for place in chooser.sample(range(len(around.everything)), size)]
    return [docno for docno in drawn if docno not in taken][:wanted]


def _some(listed: Sequence[str], taken: set[str], wanted: int | None, chooser: random.Random) -> Collection[str]:
    pool = [docno for docno in listed if docno not in taken]
    return pool if wanted is None or wanted >= len(pool) else chooser.sample(pool, wanted)


KINDS: dict[str, Draw] = {
    "hard": lambda around, *how: _some(around.ranked, *how),
    "judged": lambda around, *how: _some(around.judged, *how),
    "random": _random,
}


EXTRA: dict[str, str] = {"kind": "string", "passage": "int64"}
PARTS = {"title": "string", "abstract": "string"}  # columns of pairs with documents split into title and abstract
RELEVANT = "relevant"


class LabelledPair(NamedTuple):
    """A pair, its kind (relevant, hard, judged, random), the number of its passage, and further columns."""

    pair: Pair
    kind: str
    passage: int
    parts: Mapping[str, str] = MappingProxyType({})

    @property
    def columns(self) -> dict[str, Any]:
        """The values of the columns besides those of `Pair`."""
        return {"kind": self.kind, "passage": self.passage, **self.parts}


class Sources(NamedTuple):
    """The input of labelled pairs. The run is needed for hard negatives only."""

    documents: Mapping[str, Document]
    queries: Queries
    judgments: Judgments
    run: Run | None = None


@dataclass(frozen=True)
class Labelled:
    """Settings of pairs made from judgments.

    Documents with `least` as their grade or more are labelled 1 (or with their grade), whether or not a run has found
    them; `negatives` says which others are labelled 0. A passage has its document's label; of the `top` ones
    Simplified TinyBERT takes five. The pairs of a query stand together: they are its group. What is drawn for a query
    depends only on the seed and the query's id.
    """

    negatives: Negatives = field(default_factory=Negatives)
    document: str | None = like(RerankSettings, "document")
    passages: Passages | None = like(
        RerankSettings, "passages", help="Make pairs of passages: words:overlap such as 150:50, or paragraphs."
    )
    top: int | None = param(
        None, "Only so many of a document's passages: those that the scorer gives the highest scores.", Whole(1)
    )
    scorer: Scorer | None = field(default=None, repr=False)
    least: int = param(1, "Lowest grade of a relevant document.", Whole(1))
    graded: bool = param(False, "Use the grades as labels, instead of 1 and 0.", Flag())
    query_field: str | None = like(RerankSettings, "query_field")
    parts: bool = param(False, "Also keep title and abstract apart, for rankwell train architecture.", Flag())
    seed: int = param(0, "Random seed for everything that is drawn.", Whole())
    skipped: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self, but=["passages"])
        if self.document is not None:
            Template(self.document)
        if self.top is not None and (self.passages is None or self.scorer is None):
            expected = "a number from 1, with passages and a model that scores them"
            raise ParameterError("top passages", expected=expected, found=self.top)
        if self.parts and self.passages is not None:
            raise ParameterError("parts", expected="whole documents, or passages without parts", found="both")

    @property
    def columns(self) -> dict[str, str]:
        """The additional columns of the pairs, with their types."""
        return {**EXTRA, **(PARTS if self.parts else {})}

    def made(self) -> dict[str, Any]:
        """The settings as a dictionary, for the record."""
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

    def pairs(self, sources: Sources) -> Iterator[LabelledPair]:
        """The pairs query by query, relevant documents first; `skipped` then counts unused input by reason."""
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

    def _texts(self, qid: str, query: str, document: Document, label: float, kind: str) -> Iterator[LabelledPair]:
        texts = list(enumerate(self._document_texts(document)))
        self.skipped["documents without a text"] += not texts
        if self.top is not None and self.scorer is not None and len(texts) > self.top:
            scores = self.scorer.scores(self.scorer.logits([(query, text) for _, text in texts]))
            best = sorted(range(len(texts)), key=lambda place: (-float(scores[place]), place))[: self.top]
            texts = [texts[place] for place in sorted(best)]
        for number, text in texts:
            yield LabelledPair(Pair(qid, document.id, query, text, label), kind, number, self._parts(document))

    def _parts(self, document: Document) -> dict[str, str]:
        if not self.parts:
            return {}
        taken_apart = DocumentParts()
        return {"title": taken_apart.title(document), "abstract": taken_apart.abstract(document)}

    @cached_property
    def _document_texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)


def bm25_run(
    documents: Iterable[Document],
    queries: Queries,
    depth: int,
    query_field: str | None = None,
    folder: Path | None = None,
) -> Run:
    """BM25's top `depth` documents of each query, from a temporary index in `folder`."""
    with tempfile.TemporaryDirectory(prefix=".rankwell-", dir=folder) as temporary:
        path = Path(temporary) / "index"
        with IndexWriter(path) as writer:
            writer.add_all(documents)
        stage = BM25(Index.open(path), k=depth, query_field=query_field, threads=os.cpu_count() or 1)
        run = stage(queries)
    return Run(run.qids, run.offsets, run.docnos, run.scores, run.tag, queries)
