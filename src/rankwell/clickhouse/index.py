"""An index that lives in ClickHouse: one commit of it, open for reading, with what stages ask of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwell.analysis import Analyzer
from rankwell.clickhouse.address import parse_address
from rankwell.clickhouse.bm25 import Ranking, all_best
from rankwell.clickhouse.columns import RemoteColumn
from rankwell.clickhouse.documents import RemoteDocuments
from rankwell.clickhouse.engine import APART, Engine, Settings, open_engine
from rankwell.clickhouse.literals import Sql, joined, sql
from rankwell.clickhouse.manifest import Commit, read_commit
from rankwell.clickhouse.native import Columns
from rankwell.clickhouse.phrases import phrase_condition
from rankwell.clickhouse.selection import EVERYTHING, NOTHING, Selection
from rankwell.clickhouse.tables import Tables
from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Floats, Integers, Strings, strings
from rankwell.core.order import ranking_order
from rankwell.index import Hits, Scoring, Snippet
from rankwell.index.plan import QueryTerms, TermStatistics, planned, query_terms
from rankwell.index.snippets import snippet_of

DEFAULT = Scoring()
SPARE = 32  # documents beyond k that a shard sends, among which those of equal score are mostly found
TOGETHER = 16  # queries in one statement
MOST_NUMBERS = 20_000  # in one statement
MOST_REMEMBERED = 200_000
Found = tuple[Integers, Floats]


class ClickHouseIndex:
    """An index as it was at one commit, in a cluster or in the embedded engine.

    It has the methods of `rankwell.index.Index` that stages use. In place of a mask over documents stands a
    `Selection`, a condition that the engine evaluates where the documents are. A number is given to one document only.
    """

    def __init__(self, engine: Engine, tables: Tables, commit: Commit) -> None:
        self.engine, self.tables, self._commit = engine, tables, commit
        self.address = self.path = engine.address
        self.analyzer = Analyzer.from_config(commit.analyzer)
        self.fields = commit.fields
        self.metadata = tuple(commit.metadata)
        self.positions = commit.positions
        self.commit, self.size = commit.commit, commit.limit
        self.average_lengths: Mapping[str, float] = commit.averages
        self._statistics: dict[tuple[str, str], TermStatistics] = {}
        self._docnos: dict[int, str] = {}

    @classmethod
    def open(cls, address: str) -> Self:
        """Open the last commit."""
        parsed = parse_address(address)
        engine, tables = open_engine(parsed), Tables(parsed.database, parsed.cluster)
        commit = read_commit(engine, tables)
        if commit is None:
            raise RankwellError(f"{parsed}: expected an index, found none: copy one with `rankwell push DIR {parsed}`")
        return cls(engine, tables, commit)

    def __len__(self) -> int:
        return self._commit.documents

    def __repr__(self) -> str:
        return f"ClickHouseIndex({str(self.address)!r}, commit {self.commit}, {len(self)} documents)"

    def fingerprint(self) -> str:
        """A name for this content."""
        return self._commit.fingerprint()

    def ask(self, statement: Sql, *, apart: bool = False, settings: Settings | None = None) -> Columns:
        """The engine's answer; `apart`: each shard's own, one after the other."""
        return self.engine.ask(statement, {**(APART if apart and self.tables.cluster else {}), **(settings or {})})

    def where(self, among: Selection | None = None) -> Sql:
        """The condition on a document's number to be live at this commit, and among these."""
        commit = self._commit
        parts = [sql("document < {limit}", limit=commit.limit)]
        parts += [sql("NOT (document >= {first} AND document < {end})", first=f, end=f + n) for f, n in commit.holes]
        if commit.batches:
            dead = sql(
                "document NOT IN (SELECT document FROM {dead} WHERE batch IN {batches})",
                dead=self.tables.own("dead"),
                batches=commit.batches,
            )
            parts.append(dead)
        if among is not None and among.condition != EVERYTHING:
            parts.append(among.condition)
        return joined("AND", parts)

    def last_commit(self) -> int:
        """The number of the last commit that there is now; that of this one where nobody answers."""
        try:
            found = read_commit(self.engine, self.tables)
        except RankwellError:
            return self.commit
        return self.commit if found is None else found.commit

    @cached_property
    def documents(self) -> RemoteDocuments:
        """The stored documents by id."""
        return RemoteDocuments(self)

    @property
    def vector_sets(self) -> Mapping[str, Any]:
        """What is known about each of the index's vectors, by name."""
        return {of.name: of for of in self._commit.vectors}

    def search(
        self,
        queries: str | QueryTerms | Iterable[str | QueryTerms],
        k: int = 10,
        scoring: Scoring = DEFAULT,
        *,
        within: npt.ArrayLike | Selection | None = None,
        prune: bool = True,  # noqa: ARG002 -- the engine looks at every posting; the result is the same
        threads: int = 1,
    ) -> Hits:
        """The k best documents of each query (or of a single one), as `Index.search` finds them."""
        if k < 1:
            raise ParameterError("k", expected="a number of documents, at least 1", found=k)
        self.check_fields(scoring.weights or ())
        asked = [queries] if isinstance(queries, (str, Mapping)) else list(queries)
        allowed = self.where(None if within is None else self.mask(within))
        terms = [query_terms(query, self.analyzer, distinct=scoring.distinct) for query in asked]
        self._learn({(term, field) for of in terms for term in of for field in scoring.weights or ("",)})
        plans = [planned(of_query, scoring, len(self), self.statistics) for of_query in terms]
        rankings = [
            Ranking(plan, list(of), scoring, self._commit, self.tables, allowed)
            for plan, of in zip(plans, terms, strict=True)
        ]
        groups = [rankings[start : start + TOGETHER] for start in range(0, len(rankings), TOGETHER)]
        with ThreadPoolExecutor(max(1, min(threads, len(groups)))) as pool:
            found = [of for group in pool.map(lambda group: self._candidates(group, k), groups) for of in group]
        return self.ranked(found, k)

    def check_fields(self, names: Iterable[str]) -> None:
        """Raise where a field is not in the index."""
        for name in names:
            if name not in self.fields:
                known = ", ".join(self.fields) or "none"
                raise ParameterError("field", expected=f"one of those in {self.path} ({known})", found=name)

    def statistics(self, term: str, field: str = "") -> TermStatistics:
        """In how many live documents a term is."""
        self._learn([(term, field)])
        return self._statistics[term, field]

    def holding(self, term: str, field: str = "") -> Selection:
        """The documents that hold a term."""
        space = self._commit.space(field)
        if space is None:
            return Selection(NOTHING, self)
        condition = sql(
            "document IN (SELECT document FROM {postings} WHERE field = {space} AND term = {term})",
            postings=self.tables.own("postings"),
            space=space,
            term=term,
        )
        return Selection(condition, self)

    def holding_phrase(self, text: str, field: str = "") -> Selection:
        """The documents that hold the words of a text one after the other, in that or in any field."""
        if not self.positions:
            raise RankwellError(
                f"{self.path} keeps no positions: make the index with positions (--positions) and push it into another "
                "database to look for phrases"
            )
        spaces = [space for name in ((field,) if field else self.fields) if (space := self._commit.space(name))]
        occurrences = [(term, place) for term, place, *_ in self.analyzer.positions(text)]
        if not spaces or not occurrences:
            return Selection(NOTHING, self)
        return Selection(phrase_condition(occurrences, spaces, self.tables), self)

    @property
    def live(self) -> Selection:
        """All documents."""
        return Selection(EVERYTHING, self)

    @cached_property
    def columns(self) -> Mapping[str, RemoteColumn]:
        """The metadata columns."""
        kinds = enumerate(self._commit.metadata.items())
        return {name: RemoteColumn(self, place, kind) for place, (name, kind) in kinds}

    def count(self, among: Selection) -> int:
        """How many documents there are among these."""
        if among.condition == EVERYTHING:
            return len(self)
        documents = self.tables.all("documents")
        statement = sql("SELECT count() AS n FROM {all} WHERE {live}", all=documents, live=self.where(among))
        return int(self.ask(statement, apart=True)["n"].sum())

    def first_ids(self, among: Selection, count: int) -> Integers:
        """So many of these documents as come first among equal scores: by id, descending."""
        statement = sql(
            "SELECT document, docno FROM {all} WHERE {live} ORDER BY docno DESC LIMIT {count}",
            all=self.tables.all("documents"),
            live=self.where(among),
            count=max(0, count),
        )
        found = self.ask(statement, apart=True) if count > 0 else {}
        return self._by_id(found, count)

    def docnos(self, documents: npt.ArrayLike) -> Strings:
        """The ids of documents by their numbers."""
        numbers = np.asarray(documents, dtype=np.int64).tolist()
        missing = [number for number in dict.fromkeys(numbers) if number not in self._docnos]
        if len(self._docnos) + len(missing) > MOST_REMEMBERED:
            self._docnos, missing = {}, list(dict.fromkeys(numbers))
        for start in range(0, len(missing), MOST_NUMBERS):
            statement = sql(
                "SELECT document, docno FROM {all} WHERE document IN {numbers}",
                all=self.tables.all("documents"),
                numbers=tuple(missing[start : start + MOST_NUMBERS]),
            )
            found = self.ask(statement, apart=True)
            self._docnos.update(zip(found["document"].tolist() if found else (), found.get("docno", ()), strict=True))
        names = [self._docnos[number] for number in numbers]
        self.documents.expect(names)
        return strings(names)

    def number(self, docno: str) -> int | None:
        """The number of a document, or None."""
        stored = self.tables.all("stored")
        statement = sql(
            "SELECT document FROM {all} WHERE docno = {docno} AND {live}", all=stored, docno=docno, live=self.where()
        )
        return next(iter(self.ask(statement).get("document", np.zeros(0, dtype=np.int64)).tolist()), None)

    def terms_of(self, docno: str, field: str = "") -> Counter[str]:
        """A document's terms with how often each comes, from its stored text: what query expansion needs."""
        texts = self.documents[docno].fields
        names = [field] if field else [name for name in self.fields if name in texts]
        return Counter(term for name in names for term in self.analyzer(texts.get(name, "")))

    def snippet(
        self, docno: str, query: str | QueryTerms, characters: int = 200, fields: Sequence[str] | None = None
    ) -> Snippet:
        """A passage of a document with the places of the query's terms in it; of these fields, or of all."""
        terms = set(self.analyzer(query) if isinstance(query, str) else query)
        texts = self.documents[docno].fields
        chosen = [texts[name] for name in fields or self.fields if name in texts]
        return snippet_of(chosen, terms, self.analyzer, characters)

    def info(self) -> dict[str, Any]:
        """What there is to say about the index."""
        return {
            "path": str(self.path),
            "commit": self.commit,
            "documents": len(self),
            "deleted": self._commit.deaths,
            "engine": ".".join(map(str, self.engine.version)),
            "cluster": self.tables.cluster or "one server",
            "fields": list(self.fields),
            "metadata": list(self.metadata),
            "positions": self.positions,
            "analyzer": self.analyzer.config(),
            "average_lengths": dict(self.average_lengths),
        }

    def mask(self, within: npt.ArrayLike | Selection) -> Selection:
        """Documents by selection or by number as a selection."""
        if isinstance(within, Selection):
            return within
        given = np.asarray(within)
        if given.size and given.dtype.kind not in "iu":
            raise ParameterError("within", expected="numbers of documents, or a selection", found=str(given.dtype))
        if not given.size:
            return Selection(NOTHING, self)
        return Selection(sql("document IN {numbers}", numbers=tuple(given.reshape(-1).tolist())), self)

    def _learn(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Fetch the statistics of terms that are not known yet, all at once."""
        missing = [pair for pair in wanted if pair not in self._statistics]
        if len(self._statistics) + len(missing) > MOST_REMEMBERED:
            self._statistics.clear()
            missing = list(wanted)
        spaces = {self._commit.space(field): field for _, field in missing}
        for pair in missing:
            self._statistics[pair] = TermStatistics((), 0)
        for part in _portions(sorted({term for term, _ in missing}), MOST_NUMBERS):
            statement = sql(
                "SELECT field, term, documents FROM {terms} "
                "WHERE commit = {commit} AND field IN {spaces} AND term IN {words}",
                terms=self.tables.own("terms"),
                commit=self.commit,
                spaces=tuple(space for space in spaces if space is not None),
                words=tuple(part),
            )
            found = self.ask(statement)
            rows = zip(found.get("field", ()), found.get("term", ()), found.get("documents", ()), strict=True)
            for space, term, documents in rows:
                self._statistics[term, spaces[int(space)]] = TermStatistics((), int(documents))

    def _candidates(self, rankings: Sequence[Ranking], k: int) -> list[Found]:
        """For each query the documents that may be among the k best, those of equal score included."""
        asked = [ranking for ranking in rankings if not ranking.hopeless]
        rows = self.ask(all_best(asked, k + SPARE), apart=True) if asked else {}
        queries = np.asarray(rows.get("query", ()), dtype=np.int64)
        documents = np.asarray(rows.get("document", ()), dtype=np.int64)
        scores = np.asarray(rows.get("score", ()), dtype=np.float32)
        places = {id(ranking): place for place, ranking in enumerate(asked)}
        found = []
        for ranking in rankings:
            own = queries == places.get(id(ranking), -1)
            found.append(self._with_ties(ranking, documents[own], scores[own], k))
        return found

    def _with_ties(self, ranking: Ranking, documents: Integers, scores: Floats, k: int) -> Found:
        """What the shards sent, with all documents that have the score of the k-th."""
        sent = k + SPARE
        if len(scores) < sent:
            return documents, scores
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        if (scores >= last).sum() < sent:  # no shard can have kept one of the last score to itself
            return documents[scores >= last], scores[scores >= last]
        # More documents of the last score than were sent, perhaps: their shards know which ids come first.
        above = scores > last
        tied = self._by_id(self.ask(ranking.with_score(float(last), k), apart=True), k - int(above.sum()))
        equal = np.full(len(tied), last, dtype=np.float32)
        return np.concatenate((documents[above], tied)), np.concatenate((scores[above], equal))

    def _by_id(self, found: Columns, count: int) -> Integers:
        """Rows of several shards by id, descending."""
        names = found.get("docno", [])
        numbers = np.asarray(found.get("document", ()), dtype=np.int64)
        order = sorted(range(len(names)), key=names.__getitem__, reverse=True)[:count]
        return numbers[order] if order else np.zeros(0, dtype=np.int64)

    def ranked(self, found: Sequence[Found], k: int) -> Hits:
        """In order, by the one tie rule."""
        sizes = [0, *accumulate(len(documents) for documents, _ in found)]
        documents = np.concatenate([np.zeros(0, dtype=np.int64), *(documents for documents, _ in found)])
        scores = np.concatenate([np.zeros(0, dtype=np.float32), *(scores for _, scores in found)])
        names = self.docnos(documents)
        order = ranking_order(np.array(sizes), names, scores)
        if order is not None:
            documents, scores = documents[order], scores[order]
        kept = np.concatenate(
            [
                np.zeros(0, dtype=np.int64),
                *(np.arange(a, min(b, a + k)) for a, b in pairwise(sizes)),
            ]
        )
        offsets = np.cumsum([0, *(min(b - a, k) for a, b in pairwise(sizes))])
        hits = Hits(offsets, documents[kept], scores[kept], self)
        self.documents.expect(hits.docnos.tolist())
        return hits


def _portions(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[start : start + size] for start in range(0, len(values), size))
