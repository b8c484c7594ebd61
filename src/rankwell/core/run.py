"""A run: for every query its documents, best first."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from rankwell.core.arrays import TEXT, Floats, Integers, Strings, strings
from rankwell.core.document import Document
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.frames import column, frame
from rankwell.core.order import ranking_order
from rankwell.core.query import Queries

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Ranking:
    """The documents of one query, best first."""

    docnos: Strings
    scores: Floats

    def __len__(self) -> int:
        return len(self.docnos)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        """Document ids with their scores."""
        return zip(self.docnos.tolist(), self.scores.tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked documents of many queries, in columns, always in the order of the one tie rule (`rankwell.core.order`).

    Query i has the documents `docnos[offsets[i]:offsets[i + 1]]`; a query without results is there too. `queries` and
    `documents` (a mapping that fetches on demand) travel along, so that the next stage has the texts. Build one with
    `from_rows`, `from_dict`, `from_columns` or `from_frame`, which sort and check.
    """

    qids: tuple[str, ...]
    offsets: Integers
    docnos: Strings
    scores: Floats
    tag: str = "rankwell"
    queries: Queries | None = None
    documents: Mapping[str, Document] | None = None

    @classmethod
    def from_columns(
        cls, qids: Sequence[str], offsets: npt.ArrayLike, docnos: Strings, scores: npt.ArrayLike, **others: Any
    ) -> Run:
        """From columns in any order within a query; ids may be UTF-8 bytes. Scores become 32-bit and must be finite."""
        bounds = np.asarray(offsets, dtype=np.int64)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which is refused below
            values = np.asarray(scores).astype(np.float32) + np.float32(0)  # -0 becomes 0: equal runs, equal bytes
        _check_columns(qids, bounds, docnos, values)
        order = ranking_order(bounds, docnos, values)
        if order is not None:
            docnos, values = docnos[order], values[order]
        return cls(tuple(qids), bounds, docnos.astype(TEXT, copy=False), values, **others)

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], **others: Any) -> Run:
        """From `{qid: {docno: score}}`, as pytrec_eval, BEIR and ranx hold it."""
        offsets = np.cumsum([0, *(len(of_query) for of_query in scores.values())])
        docnos = strings([docno for of_query in scores.values() for docno in of_query])
        values = [float(score) for of_query in scores.values() for score in of_query.values()]
        return cls.from_columns(list(scores), offsets, docnos, np.array(values, dtype=np.float64), **others)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, float]], **others: Any) -> Run:
        """From (qid, docno, score) in any order."""
        scores: dict[str, dict[str, float]] = {}
        for qid, docno, score in rows:
            of_query = scores.setdefault(qid, {})
            if docno in of_query:
                raise RankwellError(
                    f"run: expected each document once a query, found {docno!r} twice for query {qid!r}"
                )
            of_query[docno] = score
        return cls.from_dict(scores, **others)

    @classmethod
    def from_frame(cls, table: pd.DataFrame, **others: Any) -> Run:
        """From a data frame with the columns qid, docno, score (or query_id, doc_id, score)."""
        qids, docnos, scores = (column(table, name) for name in ("qid", "docno", "score"))
        try:
            values = scores.astype(float)
        except (TypeError, ValueError) as error:
            raise RankwellError(f"data frame: expected numbers as scores, found others ({error})") from error
        return cls.from_rows(zip(qids.astype(str), docnos.astype(str), values, strict=True), **others)

    @classmethod
    def of_queries(cls, queries: Queries, documents: Mapping[str, Document] | None = None) -> Run:
        """The run before the first stage: every query, no document yet."""
        nothing = np.zeros(0, dtype=np.float32)
        return cls(
            tuple(queries),
            np.zeros(len(queries) + 1, dtype=np.int64),
            strings([]),
            nothing,
            queries=queries,
            documents=documents,
        )

    def __len__(self) -> int:
        """How many query-document pairs there are."""
        return len(self.docnos)

    def __iter__(self) -> Iterator[str]:
        return iter(self.qids)

    def __contains__(self, qid: object) -> bool:
        return qid in self._places

    @cached_property
    def _places(self) -> dict[str, int]:
        return {qid: place for place, qid in enumerate(self.qids)}

    def __getitem__(self, qid: str) -> Ranking:
        place = self._places[qid]
        span = slice(self.offsets[place], self.offsets[place + 1])
        return Ranking(self.docnos[span], self.scores[span])

    def __eq__(self, other: object) -> bool:
        """The same documents with the same scores for the same queries; tags and texts do not matter."""
        if not isinstance(other, Run):
            return NotImplemented
        return self.qids == other.qids and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("offsets", "docnos", "scores")
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, too large to hash on every look-up

    def __repr__(self) -> str:
        return f"Run({self.tag!r}, {len(self.qids)} queries, {len(self)} documents)"

    def rankings(self) -> Iterator[tuple[str, Ranking]]:
        """Query by query."""
        bounds = self.offsets.tolist()
        for place, qid in enumerate(self.qids):
            span = slice(bounds[place], bounds[place + 1])
            yield qid, Ranking(self.docnos[span], self.scores[span])

    @property
    def ranks(self) -> Integers:
        """The rank of every document within its query, from 1."""
        return np.arange(1, len(self) + 1) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def top(self, k: int) -> Run:
        """The k best documents of every query."""
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        kept = self.ranks <= k
        sizes = np.minimum(np.diff(self.offsets), k)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return replace(self, offsets=offsets, docnos=self.docnos[kept], scores=self.scores[kept])

    def with_scores(self, scores: npt.ArrayLike) -> Run:
        """The same documents with new scores (one a document, in this run's order), in their new order."""
        travelling = {"tag": self.tag, "queries": self.queries, "documents": self.documents}
        return Run.from_columns(self.qids, self.offsets, self.docnos, scores, **travelling)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """As `{qid: {docno: score}}`."""
        return {qid: dict(ranking) for qid, ranking in self.rankings()}

    def to_frame(self) -> pd.DataFrame:
        """As a data frame with the columns qid, docno, score, rank, and query and text where they are known."""
        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        columns: dict[str, Any] = {
            "qid": qids,
            "docno": self.docnos.astype(object),
            "score": self.scores,
            "rank": self.ranks,
        }
        if self.queries is not None:
            texts = self.queries.texts()
            columns["query"] = [texts.get(qid, "") for qid in qids]
        if self.documents is not None:
            columns["text"] = [self.documents[docno].text() for docno in self.docnos.tolist()]
        return frame(columns)

    def fingerprint(self) -> str:
        """SHA-256 over queries, documents and scores."""
        digest = hashlib.sha256(orjson.dumps([self.qids, self.docnos.tolist()]))
        digest.update(self.offsets.tobytes() + self.scores.tobytes())
        return digest.hexdigest()


def _check_columns(qids: Sequence[str], bounds: Integers, docnos: Strings, values: Floats) -> None:
    """Raise where the columns do not belong together, an id stands twice, or a score is not finite."""
    rising = len(bounds) == len(qids) + 1 and bounds[0] == 0 and bool((np.diff(bounds) >= 0).all())
    if not rising or bounds[-1] != len(docnos) or len(docnos) != len(values):
        found = f"{len(qids)} queries, {len(bounds)} offsets, {len(docnos)} documents, {len(values)} scores"
        raise RankwellError(
            f"run: expected one rising offset more than queries and as many scores as documents, found {found}"
        )
    if len(set(qids)) < len(qids):
        twice = next(qid for qid, times in Counter(qids).items() if times > 1)
        raise RankwellError(f"run: expected each query once, found {twice!r} twice")
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        qid = qids[int(np.searchsorted(bounds, place, side="right")) - 1]
        docno = str(docnos[place : place + 1].astype(TEXT)[0])
        raise RankwellError(
            f"run: expected finite scores, found {values[place]} for document {docno!r} of query {qid!r}"
        )
