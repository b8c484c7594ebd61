"""Pairs without labels: queries and the documents that a ranker finds for them, for a teacher to score."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rankwell.core import Document, ParameterError, Queries, RankwellError, Run, Template
from rankwell.core.progress import SILENT, Progress
from rankwell.rerank import Passages
from rankwell.rerank.texts import DocumentTexts
from rankwell.train.labelled import EXTRA, Made
from rankwell.train.negatives import Around, Negatives
from rankwell.train.pairs import Pair, Pairs
from rankwell.train.pairs_writer import PairsWriter
from rankwell.train.spool import Spool

UNLABELLED = "unlabelled"  # in the column `kind`; the label of such a pair, 0, means nothing


@dataclass(frozen=True)
class Unlabelled:
    """Settings of pairs that are made without judgments.

    `documents` says how many a query gets: `hard` are among the `depth` best of a run, `random` any. Whether they are
    relevant, nobody has said. Texts are made as for labelled pairs. What is drawn for a query depends on the seed and
    on its id, not on other queries.
    """

    documents: Negatives = field(default_factory=lambda: Negatives.parse("hard:all"))
    document: str | None = None
    passages: Passages | None = None
    query_field: str | None = None
    seed: int = 0
    skipped: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "judged" in self.documents.kinds:
            raise ParameterError("negatives", expected="hard and random ones, without judgments", found="judged")
        if self.document is not None:
            Template(self.document)

    def made(self) -> dict[str, Any]:
        """The settings in plain words, for the record."""
        return {
            "kind": UNLABELLED,
            "documents": str(self.documents),
            "depth": self.documents.depth,
            "document": self.document,
            "passages": None if self.passages is None else repr(self.passages),
            "query_field": self.query_field,
        }

    def pairs(self, documents: Mapping[str, Document], queries: Queries, run: Run | None) -> Iterator[Made]:
        """Query by query; `skipped` then says what could not be used, and why."""
        if "hard" in self.documents.kinds and run is None:
            raise RankwellError("unlabelled pairs: expected a run to take documents from, found none")
        everything = list(documents) if "random" in self.documents.kinds else []
        for query in queries.values():
            text = query.text(self.query_field)
            ranked = [] if run is None or query.id not in run else run[query.id].docnos[: self.documents.depth].tolist()
            if not text.strip() or not (ranked or everything):
                self.skipped["queries without a text" if not text.strip() else "queries without a ranking"] += 1
                continue
            around = Around([docno for docno in ranked if docno in documents], [], everything, ())
            chooser = random.Random(f"{self.seed}/{query.id}")  # noqa: S311 -- reproducible, no secret
            for docno, _ in self.documents.drawn(around, 1, chooser):
                for number, passage in enumerate(self._texts(documents[docno])):
                    yield Made(Pair(query.id, docno, text, passage, 0.0), UNLABELLED, number)

    @cached_property
    def _texts(self) -> DocumentTexts:
        return DocumentTexts(None if self.document is None else Template(self.document), self.passages)


def write_unlabelled(
    out: Path | str,
    documents: Mapping[str, Document],
    queries: Queries,
    run: Run | None,
    settings: Unlabelled,
    *,
    source: Mapping[str, Any] | None = None,
    progress: Progress = SILENT,
) -> Pairs:
    """Pairs of queries and what a run found for them; `source` says where they are from, for the record."""
    if settings.document is not None and isinstance(documents, Spool):
        Template(settings.document).check(documents.fields)
    made = {**(source or {}), **settings.made(), "run": None if run is None else run.fingerprint()}
    writer = PairsWriter(out, made=made, seed=settings.seed, extra=EXTRA)
    with writer:
        for found in progress.track(settings.pairs(documents, queries, run)):
            writer.add(found.pair, kind=found.kind, passage=found.passage)
        writer.made["left_out"] = {reason: count for reason, count in settings.skipped.items() if count}
    return writer.open()
