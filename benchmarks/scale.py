"""An index in ClickHouse beside the embedded one: how fast it is loaded and searched, and how that grows.

    python benchmarks/scale.py [--sizes 100000,500000,2000000] [--queries 200] [--shards 1,2,3] [--picture scale.svg]

Every size is indexed once, pushed into chDB and into clusters of 1, 2 and 3 shards (real servers on this machine, one
replica each), and asked the same queries one at a time on one connection, after ten for warming up. The rankings are
compared with those of the embedded index on the way. All servers share this machine's cores: what more shards give on
machines of their own is not measured here, what they cost is. Figures go to FOLDER/scale.json as they come, and what
is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import engine_corpus
from rankwell.core import Document
from rankwell.index import Index, IndexWriter, is_index

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from clickhouse_servers import running_cluster

DEPTHS = (10, 100, 1000)
WARM = 10


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def built(folder: Path, size: int, queries: int) -> tuple[Path, list[str], float]:
    """An embedded index of so many documents, the queries, and how long building took (0: it was there)."""
    corpus, path = engine_corpus.make(folder, size, queries), folder / f"index-{size}"
    begun = time.perf_counter()
    if not is_index(path):
        with IndexWriter(path) as writer:
            writer.add_all(Document(docno, {"text": text}) for docno, text in engine_corpus.texts(corpus))
        return path, corpus.queries[:queries], time.perf_counter() - begun
    return path, corpus.queries[:queries], 0.0


@contextmanager
def place(kind: str, folder: Path, size: int) -> Iterator[tuple[str, list[int]]]:
    """An empty place to push to (`chdb`, or a number of shards), and the process numbers of its servers."""
    where = folder / f"place-{kind}-{size}"
    shutil.rmtree(where, ignore_errors=True)
    try:
        if kind == "chdb":
            yield f"chdb://{where}", []
        else:
            with running_cluster(where, int(kind), 1) as cluster:
                yield cluster.address("bench", timeout=300), [node.pid for node in cluster.nodes]
    finally:
        shutil.rmtree(where, ignore_errors=True)


def cpu_seconds(servers: list[int]) -> float:
    """What this process has used so far, and the servers with these process numbers."""
    ticks = 0
    for pid in servers:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # user and system
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def searches(index: Any, queries: list[str], expected: Any, servers: list[int]) -> dict[str, Any]:
    """Milliseconds a query for each depth, of time and of CPU; and how many rankings differ from the embedded one's."""
    found: dict[str, Any] = {}
    for k in DEPTHS:
        for query in queries[:WARM]:
            index.search(query, k).docnos  # noqa: B018 -- the ids belong to an answer
        times, different, used = [], 0, cpu_seconds(servers)
        for place_of, query in enumerate(queries):
            begun = time.perf_counter()
            names = index.search(query, k).docnos.tolist()
            times.append(1000 * (time.perf_counter() - begun))
            different += expected is not None and names != expected[k][place_of]
        cpu = 1000 * (cpu_seconds(servers) - used) / len(queries)
        middle, worst = percentile(times, 0.5), percentile(times, 0.99)
        found[str(k)] = {"p50": middle, "p99": worst, "cpu": cpu, "different": different}
    return found


def measure(kind: str, folder: Path, size: int, queries: int) -> dict[str, Any]:
    """One place and one size, in this process."""
    path, asked, seconds = built(folder, size, queries)
    index = Index.open(path)
    if kind == "embedded":
        return {
            "load": seconds,
            "bytes": sum(index.info()["bytes"].values()),
            "search": searches(index, asked, None, []),
        }
    from rankwell.clickhouse import push
    from rankwell.index import open_index

    expected = {k: [index.search(query, k).docnos.tolist() for query in asked] for k in DEPTHS}
    with place(kind, folder, size) as (address, servers):
        begun = time.perf_counter()
        push(index, address)
        seconds = time.perf_counter() - begun
        there = open_index(address)
        where = folder / f"place-{kind}-{size}"
        size_there = sum(file.stat().st_size for file in where.rglob("*") if file.is_file())
        return {"load": seconds, "bytes": size_there, "search": searches(there, asked, expected, servers)}


def table(found: dict[str, Any]) -> None:
    """Markdown."""
    print(
        "| documents | where | load s | documents a second | MB | "
        + " | ".join(f"top {k} p50 / p99 ms" for k in DEPTHS)
        + " |"
    )
    print("|" + "---|" * (5 + len(DEPTHS)))
    for name, one in found.items():
        size, kind = name.split(" ")
        where = {"embedded": "embedded", "chdb": "chDB"}.get(kind, f"{kind} shard" + "s" * (kind != "1"))
        rate = f"{int(size) / one['load']:,.0f}" if one["load"] else "-"
        times = [f"{one['search'][str(k)]['p50']:.1f} / {one['search'][str(k)]['p99']:.1f}" for k in DEPTHS]
        figures = f"{one['load']:.1f} | {rate} | {one['bytes'] / 1e6:,.0f} | {' | '.join(times)}"
        print(f"| {int(size):,} | {where} | {figures} |")
    for name, one in found.items():
        if "cpu" in one["search"]["10"]:
            print(f"{name}: " + ", ".join(f"{one['search'][str(k)]['cpu']:.1f} ms of CPU for top {k}" for k in DEPTHS))
    wrong = {name: [of["different"] for of in one["search"].values()] for name, one in found.items()}
    print(f"\nrankings that differ from the embedded index's: {sum(map(sum, wrong.values()))}")


def draw(found: dict[str, Any], out: Path) -> None:
    """Two pictures, a line for each place: the median time by documents, and by k for the size in the middle."""
    from rankwell.report.pictures import Line, lines

    sizes = sorted({int(name.split(" ")[0]) for name in found})
    middle = sizes[len(sizes) // 2]
    by_size, by_depth = [], []
    for kind in dict.fromkeys(name.split(" ")[1] for name in found):
        where = {"embedded": "embedded", "chdb": "chDB"}.get(kind, f"{kind} shard" + "s" * (kind != "1"))
        there = [size for size in sizes if f"{size} {kind}" in found]
        medians = {size: [found[f"{size} {kind}"]["search"][str(k)]["p50"] for k in DEPTHS] for size in there}
        by_size.append(Line(where, [size / 1e6 for size in there], [medians[size][0] for size in there]))
        if middle in medians:
            by_depth.append(Line(where, DEPTHS, medians[middle]))
    lines(by_size, title="Median time of a query, top 10", x="million documents", y="milliseconds").save(out)
    title = f"Median time of a query, {middle:,} documents"
    lines(by_depth, title=title, x="documents asked for (k)", y="milliseconds").save(out.with_stem(f"{out.stem}-k"))


def main() -> None:
    """Measure every size in every place, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000,500000,2000000", help="documents, with commas between")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--shards", default="1,2,3")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rankwell-scale")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.one:
        size, kind = options.one.split(" ")
        print(json.dumps(measure(kind, options.folder, int(size), options.queries)))
        return
    kept = options.folder / "scale.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    names = [
        f"{size} {kind}"
        for size in options.sizes.split(",")
        for kind in ("embedded", "chdb", *filter(None, options.shards.split(",")))
    ]
    for name in names:
        if name not in found:
            command = [sys.executable, __file__, "--one", name, "--queries", str(options.queries)]
            done = subprocess.run(
                [*command, "--folder", str(options.folder)], stdout=subprocess.PIPE, text=True, check=True
            )
            found[name] = json.loads(done.stdout.strip().splitlines()[-1])
            kept.write_text(json.dumps(found))
            print(name, json.dumps(found[name]), file=sys.stderr, flush=True)
    chosen = {name: found[name] for name in names}
    table(chosen)
    if options.picture:
        draw(chosen, options.picture)


if __name__ == "__main__":
    main()
