"""Tables that the replicas of a shard keep alike by themselves, with the help of a Keeper (or ZooKeeper)."""

from __future__ import annotations

from collections.abc import Iterable

from rankwell.clickhouse.engine import Engine
from rankwell.clickhouse.errors import EngineError
from rankwell.clickhouse.literals import sql
from rankwell.clickhouse.tables import Tables
from rankwell.core import RankwellError

MACROS = ("replica", "shard")


def check_keeper(engine: Engine) -> None:
    """Raise where a server has no Keeper, or does not say which shard and replica it is."""
    where = engine.address
    if not where.cluster:
        raise RankwellError(f"{where}: expected cluster=NAME with replicated=1: one server has no replicas")
    try:
        engine.ask_each(sql("SELECT count() AS n FROM system.zookeeper WHERE path = {root}", root="/"))
    except EngineError as error:
        raise RankwellError(
            f"{where}: expected a Keeper in the servers' configuration (<zookeeper>) for replicated=1: {error}"
        ) from error
    found = engine.ask_each(sql("SELECT macro FROM system.macros WHERE macro IN {names} ORDER BY macro", names=MACROS))
    for (host, port), answer in zip(where.hosts, found, strict=True):
        missing = [name for name in MACROS if name not in answer.get("macro", ())]
        if missing:
            raise RankwellError(
                f"{host}:{port}: expected macros shard and replica in its configuration (<macros>) for replicated=1, "
                f"found none named {' or '.join(missing)}"
            )


def is_replicated(engine: Engine, tables: Tables) -> bool:
    """Whether the tables are such; raises where the address asks for it and they are not."""
    statement = sql(
        "SELECT engine FROM system.tables WHERE database = {database} AND name = {name}",
        database=tables.database,
        name="postings",
    )
    kinds = {kind for answer in engine.ask_each(statement) for kind in answer.get("engine", ())}
    found = any(kind.startswith("Replicated") for kind in kinds)
    if engine.address.replicated and not found:
        raise RankwellError(
            f"{engine.address}: expected replicated tables, found plain ones of an earlier push: push into another "
            "database"
        )
    return found


def catch_up(engine: Engine, tables: Tables, names: Iterable[str]) -> None:
    """Wait until every replica has all rows of these tables that any has."""
    for name in names:
        engine.run_each(sql("SYSTEM SYNC REPLICA {table}", table=tables.own(name)))
