"""An index in ClickHouse: one commit, open for reading, as a `SearchIndex`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwell.analysis import Analyzer
from rankwell.clickhouse.bm25 import QueryStatements, all_best, phrase_condition
from rankwell.clickhouse.documents import EVERYTHING, NOTHING, RemoteColumn, RemoteDocuments, Selection
from rankwell.clickhouse.engine import APART, Engine, open_engine
from rankwell.clickhouse.manifest import Commit, read_commit
from rankwell.clickhouse.values import Answer, Settings, Sql, joined
from rankwell.clickhouse.vectors import RemoteEmbeddings
from rankwell.core import Floats, Integers, ParameterError, RankwellError, Strings, strings
from rankwell.core.run import ranking_order
from rankwell.index import Hits, Mask, Scoring, SearchIndex
from rankwell.index.scoring import QueryTerms, TermStatistics, planned, query_terms

DEFAULT = Scoring()
SPARE = 32  # documents beyond k that a shard sends, which usually include the ties
TOGETHER = 16  # queries in one statement
MOST_NUMBERS = 20_000  # numbers in one statement
MOST_REMEMBERED = 200_000
Found = tuple[Integers, Floats]


class ClickHouseIndex(SearchIndex):
    """An index at one commit, in a cluster or in the embedded engine.

    Its masks are `Selection`s, conditions that the engine evaluates where the documents are. Document numbers are
    never reused.
    """

    def __init__(self, engine: Engine, commit: Commit) -> None:
        self.engine, self._commit = engine, commit
        self.address = self.path = engine.address
        self.analyzer = Analyzer.from_config(commit.analyzer)
        self.fields = commit.fields
        self.metadata = tuple(commit.metadata)
        self.positions = commit.positions
        self.commit, self.size = commit.commit, commit.limit
        self._statistics: dict[tuple[str, str], TermStatistics] = {}
        self._docnos: dict[int, str] = {}

    @classmethod
    def open(cls, address: str) -> Self:
        """Open the last commit."""
        engine = open_engine(address)
        commit = read_commit(engine)
        if commit is None:
            where = engine.address
            raise RankwellError(f"{where}: expected an index, found none: copy one with `rankwell push DIR {where}`")
        return cls(engine, commit)

    def __len__(self) -> int:
        return self._commit.documents

    def __repr__(self) -> str:
        return f"ClickHouseIndex({str(self.address)!r}, commit {self.commit}, {len(self)} documents)"

    def fingerprint(self) -> str:
        """A fingerprint of the content."""
        return self._commit.fingerprint()

    def ask(
        self, statement: str | Sql, /, *, apart: bool = False, settings: Settings | None = None, **values: Any
    ) -> Answer:
        """The engine's answer; `apart`: the answers of all shards, concatenated."""
        more = APART if apart and self.engine.address.cluster else {}
        return self.engine.ask(statement, {**more, **(settings or {})}, **values)

    def where(self, among: Selection | None = None) -> Sql:
        """The condition that a document is live at this commit, and in the given set."""
        commit, part = self._commit, self.engine.sql
        parts = [part("document < {limit}", limit=commit.limit)]
        parts += [part("NOT (document >= {first} AND document < {end})", first=f, end=f + n) for f, n in commit.holes]
        if commit.batches:
            dead = "document NOT IN (SELECT document FROM {own[dead]} WHERE batch IN {batches})"
            parts.append(part(dead, batches=commit.batches))
        if among is not None and among.condition != EVERYTHING:
            parts.append(among.condition)
        return joined("AND", parts)

    def last_commit(self) -> int:
        """The number of the last commit now; that of this one where no server answers."""
        try:
            last = read_commit(self.engine)
        except RankwellError:
            return self.commit
        return self.commit if last is None else last.commit

    @cached_property
    def documents(self) -> RemoteDocuments:
        """The stored documents by id."""
        return RemoteDocuments(self)

    @property
    def average_lengths(self) -> Mapping[str, float]:
        """The average length of each field (and of "") over the live documents with it."""
        return self._commit.averages

    def vectors(self) -> Mapping[str, RemoteEmbeddings]:
        """The index's vectors by name."""
        return {about.name: RemoteEmbeddings(self, about) for about in self._commit.vectors}

    def search(
        self,
        queries: str | QueryTerms | Iterable[str | QueryTerms],
        k: int = 10,
        scoring: Scoring = DEFAULT,
        *,
        within: npt.ArrayLike | Mask | None = None,
        prune: bool = True,  # noqa: ARG002 -- the engine reads every posting; the result is the same
        threads: int = 1,
    ) -> Hits:
        """The k best documents of each query (or of a single one), the same as with `Index.search`."""
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        self.check_fields(scoring.weights or ())
        asked = [queries] if isinstance(queries, (str, Mapping)) else list(queries)
        allowed = self.where(None if within is None else self.mask(within))
        terms = [query_terms(query, self.analyzer, distinct=scoring.distinct) for query in asked]
        self._learn({(term, field) for of in terms for term in of for field in scoring.weights or ("",)})
        plans = [planned(of_query, scoring, len(self), self.statistics) for of_query in terms]
        rankings = [
            QueryStatements(plan, list(of), scoring, self._commit, self.engine, allowed)
            for plan, of in zip(plans, terms, strict=True)
        ]
        groups = [rankings[start : start + TOGETHER] for start in range(0, len(rankings), TOGETHER)]
        with ThreadPoolExecutor(max(1, min(threads, len(groups)))) as pool:
            candidates = [of for group in pool.map(lambda group: self._candidates(group, k), groups) for of in group]
        return self.ranked(candidates, k)

    def statistics(self, term: str, field: str = "") -> TermStatistics:
        """The number of live documents with a term."""
        self._learn([(term, field)])
        return self._statistics[term, field]

    def holding(self, term: str, field: str = "") -> Selection:
        """The documents with a term."""
        space = self._commit.space(field)
        if space is None:
            return Selection(NOTHING, self)
        condition = self.engine.sql(
            "document IN (SELECT document FROM {own[postings]} WHERE field = {space} AND term = {term})",
            space=space,
            term=term,
        )
        return Selection(condition, self)

    def holding_phrase(self, text: str, field: str = "") -> Selection:
        """The documents with the words of a text in a row, in that or in any field."""
        if not self.positions:
            raise RankwellError(
                f"{self.path} keeps no positions: make the index with positions (--positions) and push it into another "
                "database to look for phrases"
            )
        spaces = [space for name in ((field,) if field else self.fields) if (space := self._commit.space(name))]
        occurrences = [(term, place) for term, place, *_ in self.analyzer.positions(text)]
        if not spaces or not occurrences:
            return Selection(NOTHING, self)
        return Selection(phrase_condition(occurrences, spaces, self.engine), self)

    @property
    def live(self) -> Selection:
        """All documents of this commit."""
        return Selection(EVERYTHING, self)

    @cached_property
    def columns(self) -> Mapping[str, RemoteColumn]:
        """The metadata columns by name."""
        kinds = enumerate(self._commit.metadata.items())
        return {name: RemoteColumn(self, place, kind) for place, (name, kind) in kinds}

    def count(self, among: Selection) -> int:
        """The number of documents in the given set."""
        if among.condition == EVERYTHING:
            return len(self)
        statement = "SELECT count() AS n FROM {all[documents]} WHERE {live}"
        return int(self.ask(statement, apart=True, live=self.where(among))["n"].sum())

    def first_ids(self, among: Mask, count: int) -> Integers:
        """The first `count` of these documents by the tie rule: by id, descending."""
        if count < 1:
            return np.zeros(0, dtype=np.int64)
        first = "SELECT document, docno FROM {all[documents]} WHERE {live} ORDER BY docno DESC LIMIT {count}"
        return _by_id(self.ask(first, apart=True, live=self.where(self.mask(among)), count=count), count)

    def docnos(self, documents: npt.ArrayLike) -> Strings:
        """The ids of documents by their numbers."""
        numbers = np.asarray(documents, dtype=np.int64).tolist()
        missing = [number for number in dict.fromkeys(numbers) if number not in self._docnos]
        if len(self._docnos) + len(missing) > MOST_REMEMBERED:
            self._docnos, missing = {}, list(dict.fromkeys(numbers))
        for start in range(0, len(missing), MOST_NUMBERS):
            statement = "SELECT document, docno FROM {all[documents]} WHERE document IN {numbers}"
            some = tuple(missing[start : start + MOST_NUMBERS])
            self._docnos.update(self.ask(statement, apart=True, numbers=some).rows("document", "docno"))
        names = [self._docnos[number] for number in numbers]
        self.documents.expect(names)
        return strings(names)

    def number(self, docno: str) -> int | None:
        """The number of a document, or None."""
        statement = "SELECT document FROM {all[stored]} WHERE docno = {docno} AND {live}"
        return next(iter(self.ask(statement, docno=docno, live=self.where()).column("document")), None)

    def info(self) -> dict[str, Any]:
        """Facts about the index, for display."""
        return {
            "path": str(self.path),
            "commit": self.commit,
            "documents": len(self),
            "deleted": self._commit.deaths,
            "engine": ".".join(map(str, self.engine.version)),
            "cluster": self.engine.address.cluster or "one server",
            "fields": list(self.fields),
            "metadata": list(self.metadata),
            "positions": self.positions,
            "analyzer": self.analyzer.config(),
            "average_lengths": dict(self.average_lengths),
        }

    def mask(self, within: npt.ArrayLike | Mask) -> Selection:
        """A selection from a selection or from document numbers."""
        if isinstance(within, Selection):
            return within
        given = np.asarray(within)
        if given.size and given.dtype.kind not in "iu":
            raise ParameterError("within", expected="numbers of documents, or a selection", found=str(given.dtype))
        if not given.size:
            return Selection(NOTHING, self)
        return Selection(self.engine.sql("document IN {numbers}", numbers=tuple(given.reshape(-1).tolist())), self)

    def _learn(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Fetch the statistics of all unknown terms at once."""
        missing = [pair for pair in wanted if pair not in self._statistics]
        if len(self._statistics) + len(missing) > MOST_REMEMBERED:
            self._statistics.clear()
            missing = list(wanted)
        spaces = {self._commit.space(field): field for _, field in missing}
        for pair in missing:
            self._statistics[pair] = TermStatistics((), 0)
        terms = sorted({term for term, _ in missing})
        for start in range(0, len(terms), MOST_NUMBERS):
            counts = self.ask(
                "SELECT field, term, documents FROM {own[terms]} "
                "WHERE commit = {commit} AND field IN {spaces} AND term IN {words}",
                commit=self.commit,
                spaces=tuple(space for space in spaces if space is not None),
                words=tuple(terms[start : start + MOST_NUMBERS]),
            )
            for space, term, documents in counts.rows("field", "term", "documents"):
                self._statistics[term, spaces[space]] = TermStatistics((), documents)

    def _candidates(self, rankings: Sequence[QueryStatements], k: int) -> list[Found]:
        """For each query the candidates for the k best documents, ties included."""
        asked = [ranking for ranking in rankings if not ranking.hopeless]
        rows = self.ask(all_best(asked, k + SPARE), apart=True) if asked else Answer()
        queries, documents, scores = rows.integers("query"), rows.integers("document"), rows.floats("score")
        places = {id(ranking): place for place, ranking in enumerate(asked)}
        candidates = []
        for ranking in rankings:
            own = queries == places.get(id(ranking), -1)
            candidates.append(self._with_ties(ranking, documents[own], scores[own], k))
        return candidates

    def _with_ties(self, ranking: QueryStatements, documents: Integers, scores: Floats, k: int) -> Found:
        """The shards' documents, with all documents that have the score of the k-th."""
        sent = k + SPARE
        if len(scores) < sent:
            return documents, scores
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        if (scores >= last).sum() < sent:  # no shard can have held back a document of the last score
            return documents[scores >= last], scores[scores >= last]
        # There may be more documents of the last score than were sent: the shards know which ids come first.
        above = scores > last
        tied = _by_id(self.ask(ranking.with_score(float(last), k), apart=True), k - int(above.sum()))
        equal = np.full(len(tied), last, dtype=np.float32)
        return np.concatenate((documents[above], tied)), np.concatenate((scores[above], equal))

    def ranked(self, candidates: Sequence[Found], k: int) -> Hits:
        """The documents in ranking order, by the tie rule."""
        sizes = [0, *accumulate(len(documents) for documents, _ in candidates)]
        documents = np.concatenate([np.zeros(0, dtype=np.int64), *(documents for documents, _ in candidates)])
        scores = np.concatenate([np.zeros(0, dtype=np.float32), *(scores for _, scores in candidates)])
        order = ranking_order(np.array(sizes), self.docnos(documents), scores)
        if order is not None:
            documents, scores = documents[order], scores[order]
        kept = np.concatenate([np.zeros(0, dtype=np.int64), *(np.arange(a, min(b, a + k)) for a, b in pairwise(sizes))])
        offsets = np.cumsum([0, *(min(b - a, k) for a, b in pairwise(sizes))])
        hits = Hits(offsets, documents[kept], scores[kept], self)
        self.documents.expect(hits.docnos.tolist())
        return hits


def _by_id(answer: Answer, count: int) -> Integers:
    """The documents of several shards sorted by id, descending."""
    names = answer.column("docno")
    order = sorted(range(len(names)), key=names.__getitem__, reverse=True)[:count]
    return answer.integers("document")[np.array(order, dtype=np.int64)]
