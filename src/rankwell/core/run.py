"""Runs: the documents of each query, best first; the tie rule; normalised scores."""

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
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.records import Document, Queries, column, frame
from rankwell.core.run_lines import column_order, worth_loading
from rankwell.core.showing import Shown
from rankwell.core.text_column import TextColumn

if TYPE_CHECKING:
    import pandas as pd


PAIR = 2


def ranking_order(offsets: Integers, docnos: Strings | TextColumn, scores: Floats) -> Integers | None:
    """The permutation that sorts every query's documents, or None where they are sorted already.

    Runs are nearly always sorted by score already with a few ties, so only queries with rising scores are sorted, and
    only documents of equal score are compared by id.
    """
    if len(scores) < PAIR:
        return None
    if isinstance(docnos, TextColumn) and worth_loading(len(scores)):
        return column_order(offsets, docnos, scores)
    inside = np.ones(len(scores) - 1, dtype=bool)  # neighbours of the same query
    borders = offsets[1:-1]
    inside[borders[(borders > 0) & (borders < len(scores))] - 1] = False
    if not (inside & (scores[1:] >= scores[:-1])).any():
        return None
    order = np.arange(len(scores), dtype=np.int64)
    rises = np.flatnonzero(inside & (scores[1:] > scores[:-1]))
    tied = np.flatnonzero(inside & (scores[1:] == scores[:-1]))
    if not len(rises) and not (docnos[tied] < docnos[tied + 1]).any():
        return None
    for query in np.unique(np.searchsorted(offsets, rises, side="right") - 1):
        start, end = offsets[query], offsets[query + 1]
        order[start:end] = start + np.argsort(-scores[start:end], kind="stable")
    _settle_ties(order, docnos, inside & (scores[order][1:] == scores[order][:-1]))
    return order


def _settle_ties(order: Integers, docnos: Strings | TextColumn, tied: np.ndarray) -> None:
    """Sort the ids in each group of equal scores in descending order. `tied[i]`: i and i + 1 have equal scores."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], tied, [False])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2] + 1
    pairs = ends - starts == PAIR
    first, second = order[starts[pairs]], order[starts[pairs] + 1]
    wrong = np.asarray(docnos[first] < docnos[second])
    order[starts[pairs]] = np.where(wrong, second, first)
    order[starts[pairs] + 1] = np.where(wrong, first, second)
    for start, end in zip(starts[~pairs].tolist(), ends[~pairs].tolist(), strict=True):
        group = order[start:end]
        order[start:end] = group[np.argsort(docnos[group], kind="stable")[::-1]]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The documents of one query, best first."""

    docnos: Strings
    scores: Floats

    def __len__(self) -> int:
        return len(self.docnos)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.docnos.tolist(), self.scores.tolist(), strict=True)


@dataclass(frozen=True, eq=False, repr=False)
class Run(Shown):
    """Ranked documents of many queries, in columns, always in the order of the one tie rule (`rankwell.core.run`).

    Query i has the documents `docnos[offsets[i]:offsets[i + 1]]`; queries without results are included. `queries` and
    `documents` (a mapping that reads on demand) are kept, so that the next stage has the texts. `docnos` may be a
    `TextColumn`, which is an array of strings for everybody who uses it, and makes them only then. Create one with
    `from_rows`, `from_dict`, `from_columns` or `from_frame`, which sort and check.

    >>> Run.from_dict({"q1": {"d1": 2.5, "d2": 3.5}})["q1"].docnos.tolist()
    ['d2', 'd1']
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
        cls,
        qids: Sequence[str],
        offsets: npt.ArrayLike,
        docnos: Strings | TextColumn,
        scores: npt.ArrayLike,
        **others: Any,
    ) -> Run:
        """Create from columns in any order within a query; ids may be UTF-8 bytes. Scores must be finite in 32 bits."""
        bounds = np.asarray(offsets, dtype=np.int64)
        with np.errstate(over="ignore"):  # overflows become infinite, which is refused below
            values = np.asarray(scores).astype(np.float32, copy=False) + np.float32(
                0
            )  # -0 becomes 0: equal runs, equal bytes
        _check_columns(qids, bounds, docnos, values)
        order = ranking_order(bounds, docnos, values)
        if order is not None:
            docnos, values = docnos[order], values[order]
        return cls(tuple(qids), bounds, docnos.astype(TEXT, copy=False), values, **others)

    @classmethod
    def from_dict(cls, scores: Mapping[str, Mapping[str, float]], **others: Any) -> Run:
        """Create from `{qid: {docno: score}}`, as in pytrec_eval, BEIR and ranx."""
        offsets = np.cumsum([0, *(len(of_query) for of_query in scores.values())])
        docnos = strings([docno for of_query in scores.values() for docno in of_query])
        values = [float(score) for of_query in scores.values() for score in of_query.values()]
        return cls.from_columns(list(scores), offsets, docnos, np.array(values, dtype=np.float64), **others)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, float]], **others: Any) -> Run:
        """Create from (qid, docno, score) in any order."""
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
        """Create from a data frame with the columns qid, docno, score (or query_id, doc_id, score)."""
        qids, docnos, scores = (column(table, name) for name in ("qid", "docno", "score"))
        try:
            values = scores.astype(float)
        except (TypeError, ValueError) as error:
            raise RankwellError(f"data frame: expected numbers as scores, found others ({error})") from error
        return cls.from_rows(zip(qids.astype(str), docnos.astype(str), values, strict=True), **others)

    @classmethod
    def of_queries(cls, queries: Queries, documents: Mapping[str, Document] | None = None) -> Run:
        """The run before the first stage: all queries, without documents."""
        offsets, scores = np.zeros(len(queries) + 1, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return cls(tuple(queries), offsets, strings([]), scores, queries=queries, documents=documents)

    def __len__(self) -> int:
        """Number of query-document pairs."""
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
        """The ranking of each query, with its id."""
        bounds = self.offsets.tolist()
        for place, qid in enumerate(self.qids):
            span = slice(bounds[place], bounds[place + 1])
            yield qid, Ranking(self.docnos[span], self.scores[span])

    @property
    def ranks(self) -> Integers:
        """The rank of each document within its query, from 1."""
        return np.arange(1, len(self) + 1) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def top(self, k: int) -> Run:
        """The k best documents of every query."""
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        kept = self.ranks <= k
        offsets = np.concatenate(([0], np.cumsum(np.minimum(np.diff(self.offsets), k))))
        return replace(self, offsets=offsets, docnos=self.docnos[kept], scores=self.scores[kept])

    def without_own(self) -> Run:
        """The run without documents that have their query's own id: in some collections queries are documents."""
        places = np.repeat(np.arange(len(self.qids)), np.diff(self.offsets))
        kept = strings(self.qids)[places] != self.docnos
        offsets = np.concatenate(([0], np.cumsum(np.bincount(places[kept], minlength=len(self.qids)))))
        return replace(self, offsets=offsets, docnos=self.docnos[kept], scores=self.scores[kept])

    def with_scores(self, scores: npt.ArrayLike) -> Run:
        """The same documents with new scores (one per document, in this run's order), sorted again."""
        travelling = {"tag": self.tag, "queries": self.queries, "documents": self.documents}
        return Run.from_columns(self.qids, self.offsets, self.docnos, scores, **travelling)

    def to_dict(self) -> dict[str, dict[str, float]]:
        """The run as `{qid: {docno: score}}`."""
        return {qid: dict(ranking) for qid, ranking in self.rankings()}

    def to_frame(self) -> pd.DataFrame:
        """A data frame with the columns qid, docno, score, rank, and query and text where they are known."""
        qids = np.repeat(np.array(self.qids, dtype=object), np.diff(self.offsets))
        docnos = self.docnos.astype(object)
        columns: dict[str, Any] = {"qid": qids, "docno": docnos, "score": self.scores, "rank": self.ranks}
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


def _check_columns(qids: Sequence[str], bounds: Integers, docnos: Strings | TextColumn, values: Floats) -> None:
    """Raise where the columns do not fit together, an id is repeated, or a score is not finite."""
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


Values = npt.NDArray[np.float64]


def sigmoid(logits: npt.NDArray[np.floating[Any]]) -> Values:
    """1 / (1 + e^-x), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))


def unit(run: Run) -> Values:
    """Min-max: (s - lowest) / (highest - lowest), from 0 to 1. Where all scores are equal, each is 1."""
    scores = run.scores.astype(np.float64)
    lowest, highest = of_query(np.minimum, scores, run), of_query(np.maximum, scores, run)
    return np.divide(scores - lowest, highest - lowest, out=np.ones(len(scores)), where=highest > lowest)


def of_query(combine: np.ufunc, values: Values, run: Run) -> Values:
    """For each document the result of `combine` over all values of its query."""
    sizes = np.diff(run.offsets)
    filled = np.flatnonzero(sizes)  # reduceat cannot handle an empty slice
    if not len(filled):
        return np.zeros(0)
    return np.repeat(combine.reduceat(values, run.offsets[filled]), sizes[filled])
