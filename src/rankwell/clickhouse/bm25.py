"""BM25 and phrases inside ClickHouse, as aggregations over the postings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.manifest import Commit
from rankwell.clickhouse.values import Sql, joined, listed, sql
from rankwell.core import RankwellError
from rankwell.index.scoring import Plan, Scoring


def all_best(rankings: Sequence[QueryStatements], k: int) -> Sql:
    """The best documents for several queries in one statement; `query` is the index of each in the list."""
    parts = [
        sql("SELECT toUInt32({place}) AS query, document, score FROM ({best})", place=place, best=ranking.best(k))
        for place, ranking in enumerate(rankings)
    ]
    return Sql(" UNION ALL ".join(map(str, parts)))


@dataclass(frozen=True)
class QueryStatements:
    """The statements of one query: its terms in the order of its plan's groups, and the allowed documents."""

    plan: Plan
    terms: Sequence[str]
    scoring: Scoring
    commit: Commit
    engine: Engine
    allowed: Sql

    @property
    def hopeless(self) -> bool:
        """Whether no document can match: no term exists, or with AND one is missing."""
        there = {line.group for line in self.plan.lines}
        return not there or (self.scoring.match == "and" and len(there) < self.plan.groups)

    def best(self, k: int) -> Sql:
        """The k best documents of each shard and their scores."""
        return sql(
            "{scores} ORDER BY score DESC, document LIMIT {k}", scores=self._scores(self.engine.all["postings"]), k=k
        )

    def with_score(self, score: float, k: int) -> Sql:
        """The first k ids among the documents of exactly that score, on each shard."""
        return self.engine.sql(
            "SELECT document, docno FROM {all[documents]} WHERE document IN (SELECT document FROM ({scores})) "
            "ORDER BY docno DESC LIMIT {k}",
            scores=self._scores(self.engine.own["postings"], sql("score = toFloat32({score})", score=score)),
            k=k,
        )

    def _scores(self, postings: Sql, *conditions: Sql) -> Sql:
        """The scores of all matching documents in a table, as far as they meet the conditions."""
        if self.scoring.match == "and":  # each term of the query, in any field
            seen = Sql("count()") if len(self._fields()) == 1 else Sql("uniqExact(term)")
            conditions = (sql("{seen} = {groups}", seen=seen, groups=self.plan.groups), *conditions)
        return sql(
            "SELECT document, toFloat32(sum({part})) AS score FROM {postings} "
            "WHERE {lists} AND {allowed} GROUP BY document{having}",
            part=self._part(),
            postings=postings,
            lists=self._lists(),
            allowed=self.allowed,
            having=sql(" HAVING {all}", all=joined("AND", conditions)) if conditions else Sql(""),
        )

    def _fields(self) -> dict[str, dict[str, float]]:
        """The existing terms of each field, with their weights."""
        fields: dict[str, dict[str, float]] = {}
        for line in self.plan.lines:
            fields.setdefault(line.field, {})[self.terms[line.group]] = line.weight
        return fields

    def _lists(self) -> Sql:
        """The condition that selects the posting lists."""
        parts = [
            sql("field = {field} AND term IN {terms}", field=self._space(name), terms=tuple(weights))
            for name, weights in self._fields().items()
        ]
        return sql("({lists})", lists=joined("OR", parts))

    def _part(self) -> Sql:
        """The contribution of a posting: weight * tf / (tf + k1 * (1 - b + b * length / average))."""
        scoring, parts = self.scoring, []
        for name, weights in self._fields().items():
            values = list(map(float, weights.values()))
            weight = sql("{weight}", weight=values[0])
            if len(weights) > 1:
                weight = sql("transform(term, {terms}, {weights}, 0.0)", terms=list(weights), weights=values)
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

    def _space(self, name: str) -> int:
        space = self.commit.space(name)
        if space is None:
            raise RankwellError(f"field {name!r}: not in the index")
        return space


def phrase_condition(occurrences: Sequence[tuple[str, int]], spaces: Sequence[int], engine: Engine) -> Sql:
    """The condition that a document has these terms at the same distances, within one field.

    Each occurrence of a term implies a start of the phrase; the phrase is where all of its terms imply the same.
    """
    shifts: dict[str, list[int]] = {}
    for term, place in occurrences:
        shifts.setdefault(term, []).append(place)
    return engine.sql(
        "document IN (SELECT document FROM {own[postings]} ARRAY JOIN {begins} AS begin WHERE field IN {spaces} "
        "AND term IN {terms} GROUP BY document, field, begin HAVING count() = {count})",
        begins=_begins(shifts),
        spaces=tuple(spaces),
        terms=tuple(shifts),
        count=len(occurrences),
    )


def _begins(shifts: dict[str, list[int]]) -> Sql:
    """The phrase starts that a posting implies."""
    parts = []
    for term, places in shifts.items():
        each = [sql("arrayMap(at -> toInt64(at) - {place}, positions)", place=place) for place in places]
        parts.append((term, each[0] if len(each) == 1 else sql("arrayConcat({each})", each=listed(each))))
    if len(parts) == 1:
        return parts[0][1]
    pairs = [sql("term = {term}, {begins}", term=term, begins=begins) for term, begins in parts[:-1]]
    return sql("multiIf({pairs}, {last})", pairs=listed(pairs), last=parts[-1][1])
