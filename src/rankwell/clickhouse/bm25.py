"""BM25 as one aggregation over the postings: every shard scores its own documents and sends its best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankwell.clickhouse.literals import Sql, joined, sql
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.tables import Tables
from rankwell.core import RankwellError
from rankwell.index.plan import Plan
from rankwell.index.scoring import Scoring


def all_best(rankings: Sequence[Ranking], k: int) -> Sql:
    """The best documents for several queries in one statement; `query` is the place of each in the list."""
    parts = [
        sql("SELECT toUInt32({place}) AS query, document, score FROM ({best})", place=place, best=ranking.best(k))
        for place, ranking in enumerate(rankings)
    ]
    return Sql(" UNION ALL ".join(map(str, parts)))


@dataclass(frozen=True)
class Ranking:
    """The statements of one query: its terms in the order of its plan's groups, and which documents may be found."""

    plan: Plan
    terms: Sequence[str]
    scoring: Scoring
    commit: Commit
    tables: Tables
    allowed: Sql

    @property
    def hopeless(self) -> bool:
        """Whether no document can match: nobody holds a term, or not each one under AND."""
        there = {line.group for line in self.plan.lines}
        return not there or (self.scoring.match == "and" and len(there) < self.plan.groups)

    def best(self, k: int) -> Sql:
        """The k best documents of each shard and their scores."""
        return sql("{scores} ORDER BY score DESC, document LIMIT {k}", scores=self._scores("postings"), k=k)

    def with_score(self, score: float, k: int) -> Sql:
        """Of the documents of exactly that score the k whose ids come first, on each shard."""
        scores = self._scores("postings", shared=False, more=sql("score = toFloat32({score})", score=score))
        return sql(
            "SELECT document, docno FROM {documents} WHERE document IN (SELECT document FROM ({scores})) "
            "ORDER BY docno DESC LIMIT {k}",
            documents=self.tables.all("documents"),
            scores=scores,
            k=k,
        )

    def _scores(self, table: str, *, shared: bool = True, more: Sql | None = None) -> Sql:
        """Scores of all documents that match. `shared` asks all shards, else a server asks its own table."""
        conditions = [part for part in (self._complete(), more) if part is not None]
        return sql(
            "SELECT document, toFloat32(sum({part})) AS score FROM {postings} "
            "WHERE {lists} AND {allowed} GROUP BY document{having}",
            part=self._part(),
            postings=self.tables.all(table) if shared else self.tables.own(table),
            lists=self._lists(),
            allowed=self.allowed,
            having=sql(" HAVING {all}", all=joined("AND", conditions)) if conditions else Sql(""),
        )

    def _fields(self) -> dict[str, dict[str, float]]:
        """For each field the terms that are there, with their weights."""
        found: dict[str, dict[str, float]] = {}
        for line in self.plan.lines:
            found.setdefault(line.field, {})[self.terms[line.group]] = line.weight
        return found

    def _lists(self) -> Sql:
        """Which posting lists are read."""
        parts = [
            sql("field = {field} AND term IN {terms}", field=self._space(name), terms=tuple(weights))
            for name, weights in self._fields().items()
        ]
        return sql("({lists})", lists=joined("OR", parts))

    def _part(self) -> Sql:
        """What a posting adds: weight * tf / (tf + k1 * (1 - b + b * length / average))."""
        scoring, parts = self.scoring, []
        for name, weights in self._fields().items():
            weight = (
                sql(
                    "transform(term, {terms}, {weights}, 0.0)",
                    terms=list(weights),
                    weights=list(map(float, weights.values())),
                )
                if len(weights) > 1
                else sql("{weight}", weight=float(next(iter(weights.values()))))
            )
            slope = scoring.k1 * scoring.b / self.commit.averages[name]
            part = sql(
                "{weight} * frequency / (frequency + {least} + {slope} * length)",
                weight=weight,
                least=float(scoring.k1 * (1 - scoring.b)),
                slope=float(slope),
            )
            parts.append((self._space(name), part))
        if len(parts) == 1:
            return parts[0][1]
        pairs = [f"field = {space}, {part}" for space, part in parts[:-1]]
        return Sql(f"multiIf({', '.join(pairs)}, {parts[-1][1]})")

    def _complete(self) -> Sql | None:
        """AND: each term of the query, in any field."""
        if self.scoring.match != "and":
            return None
        seen = Sql("count()") if len(self._fields()) == 1 else Sql("uniqExact(term)")
        return sql("{seen} = {groups}", seen=seen, groups=self.plan.groups)

    def _space(self, name: str) -> int:
        space = self.commit.space(name)
        if space is None:
            raise RankwellError(f"field {name!r}: not in the index")
        return space
