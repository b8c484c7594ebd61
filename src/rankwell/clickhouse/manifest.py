"""What a commit in ClickHouse consists of: kept as one JSON text in a row of `commits`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.errors import NO_TABLE, EngineError
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.tables import Tables
from rankwell.core import RankwellError

VERSION = 2
OLDEST_WRITTEN = 2  # to which we can add: before it documents had no lengths


@dataclass(frozen=True)
class VectorSet:
    """Vectors of one name: who made them, and the loads that brought them."""

    name: str
    model: str
    dimensions: int
    encoder: Mapping[str, Any]
    made_with: str
    field: str | None
    document: str | None
    count: int
    loads: tuple[int, ...]
    table: str = "vectors"  # one of their own where the engine keeps a graph of them


@dataclass(frozen=True)
class Commit:
    """An index as readers see it from one commit on."""

    analyzer: Mapping[str, Any]
    fields: tuple[str, ...]  # their number in `postings` is their place, from 1; 0 is all of them together
    metadata: Mapping[str, str]  # name -> number, text or nothing (no document has a value)
    commit: int = 0
    documents: int = 0
    limit: int = 0  # numbers of documents are below this
    holes: tuple[tuple[int, int], ...] = ()  # numbers (first, count) whose documents were never complete
    batches: tuple[int, ...] = ()  # of `dead`
    deaths: int = 0
    averages: Mapping[str, float] = field(default_factory=dict)
    vectors: tuple[VectorSet, ...] = ()
    source: str = ""  # the fingerprint of the index that was copied, its vectors included
    positions: bool = False

    def fingerprint(self) -> str:
        """A name for this content."""
        return hashlib.sha256(_written(self)).hexdigest()

    def space(self, name: str) -> int | None:
        """The number of a field in `postings`; None where there is no such field."""
        if not name:
            return 0
        return self.fields.index(name) + 1 if name in self.fields else None


def read_commit(engine: Engine, tables: Tables) -> Commit | None:
    """The last commit that the server which answers knows; None where there is none."""
    statement = sql("SELECT manifest FROM {commits} ORDER BY commit DESC LIMIT 1", commits=tables.own("commits"))
    try:
        return _last([engine.ask(statement)], tables)
    except EngineError as error:
        if error.code in NO_TABLE:
            return None
        raise


def read_last_commit(engine: Engine, tables: Tables) -> Commit | None:
    """The last commit that any server knows: a writer may have died between two of them. Raises where it is too old."""
    statement = sql("SELECT manifest FROM {commits} ORDER BY commit DESC LIMIT 1", commits=tables.own("commits"))
    answers = engine.ask_each(statement)
    if any(orjson.loads(text)["version"] < OLDEST_WRITTEN for answer in answers for text in answer.get("manifest", ())):
        raise RankwellError(f"{engine.address}: was filled by an earlier Rankwell: push into another database")
    return _last(answers, tables)


def text_of(commit: Commit) -> str:
    """As it is kept."""
    return _written(commit).decode()


def _written(commit: Commit) -> bytes:
    return orjson.dumps({"version": VERSION, **asdict(commit)})


def _last(answers: list[dict[str, Any]], tables: Tables) -> Commit | None:
    found = [_parsed(text, tables) for answer in answers for text in answer.get("manifest", ())]
    return max(found, key=lambda commit: commit.commit, default=None)


def _parsed(text: str, tables: Tables) -> Commit:
    body = orjson.loads(text)
    version = body.pop("version")
    if version > VERSION:
        where = tables.database
        raise RankwellError(f"{where}: written by a newer Rankwell (format {version}, this one reads {VERSION})")
    body["fields"] = tuple(body["fields"])
    body["holes"] = tuple((first, count) for first, count in body["holes"])
    body["batches"] = tuple(body["batches"])
    body["vectors"] = tuple(VectorSet(**{**of, "loads": tuple(of["loads"])}) for of in body["vectors"])
    return Commit(**body)
