"""Queries: an id and one or more wordings of the same information need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rankwell.core.errors import RankwellError


class Query(NamedTuple):
    """One topic. `texts` has its wordings by name (`query`, `question`, `narrative`); the first is the default."""

    id: str
    texts: Mapping[str, str]

    def text(self, field: str | None = None) -> str:
        """The wording of that name, or the default one."""
        if field is None:
            return next(iter(self.texts.values()), "")
        if field not in self.texts:
            known = ", ".join(self.texts) or "none"
            raise RankwellError(f"query {self.id}: expected a text named {field!r}, found {known}")
        return self.texts[field]


class Queries(Mapping[str, Query]):
    """The queries of a collection by id, in the order of reading."""

    __slots__ = ("_queries",)

    def __init__(self, queries: Iterable[Query] = ()) -> None:
        self._queries: dict[str, Query] = {}
        for query in queries:
            if query.id in self._queries:
                raise RankwellError(f"queries: expected each id once, found {query.id!r} twice")
            self._queries[query.id] = query

    @classmethod
    def of(cls, texts: str | Iterable[str] | Mapping[str, str]) -> Queries:
        """Create from plain text: one string, several (numbered from 1), or texts by id."""
        if isinstance(texts, str):
            texts = [texts]
        if not isinstance(texts, Mapping):
            texts = {str(number): text for number, text in enumerate(texts, 1)}
        return cls(Query(qid, {"query": text}) for qid, text in texts.items())

    def __getitem__(self, qid: str) -> Query:
        return self._queries[qid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)

    def __repr__(self) -> str:
        return f"Queries({len(self)} queries, texts: {', '.join(self.fields) or 'none'})"

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of all wordings, in order of first appearance."""
        return tuple(dict.fromkeys(name for query in self._queries.values() for name in query.texts))

    def texts(self, field: str | None = None) -> dict[str, str]:
        """Query id -> text of that name (or the default one)."""
        return {qid: query.text(field) for qid, query in self._queries.items()}

    def only(self, qids: Iterable[str]) -> Queries:
        """The queries with these ids, in the order of this collection; unknown ids are ignored."""
        wanted = set(qids)
        return Queries(query for qid, query in self._queries.items() if qid in wanted)
