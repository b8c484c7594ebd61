"""Real collections on the embedded engine and on a cluster: every query's ranking is the embedded index's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clickhouse_servers import Cluster
from rankwell.clickhouse import push
from rankwell.collections import open_collection
from rankwell.core import Queries, Run, Stage
from rankwell.index import Index, IndexWriter, open_index
from rankwell.retrieve import BM25, RM3

pytestmark = pytest.mark.slow

# Fields, and an expression that some hundred documents match.
COLLECTIONS = {
    "scifact": ({"title": 0.3, "text": 0.7}, "title:cell AND (mice OR human) NOT cancer"),
    "cranfield": ({"title": 0.5, "text": 1.0}, "title:flow OR (pressure AND NOT wing)"),
    "vaswani": ({"text": 1.0}, "(circuit OR transistor) AND NOT noise"),
}
SPLITS = {"scifact": "test"}  # the 300 queries that everybody measures with
DEPTH = 100


def stages(index: Index, weights: dict[str, float], expression: str) -> dict[str, Stage]:
    fields = {name: weight for name, weight in weights.items() if name in index.fields}
    threads = {"k": DEPTH, "threads": 4}
    return {
        "BM25": BM25(index, **threads),
        "fields": BM25(index, weights=fields or dict.fromkeys(index.fields, 1.0), **threads),
        "AND": BM25(index, match="and", **threads),
        "RM3": RM3(BM25(index, **threads)),
        "expression": BM25(index, match=f"expr:{expression}" if "title" in index.fields else "expr:flow", **threads),
    }


@pytest.fixture(scope="module")
def embedded(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Index, Queries]]:
    made: dict[str, tuple[Index, Queries]] = {}

    def index_of(name: str) -> tuple[Index, Queries]:
        if name not in made:
            folder, collection = tmp_path_factory.mktemp(name), open_collection(data / name)
            with IndexWriter(folder) as writer:
                writer.add_all(collection.documents())
            made[name] = Index.open(folder), collection.queries().only(collection.judgments(SPLITS.get(name)))
        return made[name]

    return index_of


@pytest.fixture(params=["chdb", "cluster"])
def place(request: pytest.FixtureRequest) -> Callable[[str], str]:
    if request.param == "chdb":
        folder = request.getfixturevalue("chdb_folder")
        return lambda name: f"chdb://{folder}?database={name}"
    cluster: Cluster = request.getfixturevalue("cluster")
    return lambda name: cluster.address(name, timeout=120)


def same(first: Run, second: Run) -> None:
    for qid in first.qids:
        assert first[qid].docnos.tolist() == second[qid].docnos.tolist(), qid
        np.testing.assert_allclose(first[qid].scores, second[qid].scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)], ids=["fifth", "all"])
@pytest.mark.parametrize("name", COLLECTIONS)
def test_every_ranking_is_the_embedded_index_s(
    embedded: Callable[[str], tuple[Index, Queries]], place: Callable[[str], str], name: str, step: int
) -> None:
    index, queries = embedded(name)
    queries = queries.only(list(queries)[::step])
    push(index, place(name))
    there = open_index(place(name))
    weights, expression = COLLECTIONS[name]
    ours, theirs = stages(index, weights, expression), stages(there, weights, expression)
    for kind in ours:
        first = ours[kind](queries)
        assert len(first) > 0, kind
        same(first, theirs[kind](queries))
