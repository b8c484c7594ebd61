"""A cluster on paper: how many cores and how much disk an index of N documents needs, and whether the sum is right.

    python benchmarks/scale_simulation.py [--documents 1e9] [--shards 64] [--replicas 2] [--cores 16] [--rate 20] ...

The arithmetic takes a mean query and divides. The simulation draws queries one by one (how many postings each has is
log-normal, with the measured spread), sends each to one replica of every shard, lets it wait there for a free core, and
ends it with its slowest shard; then it waits for a re-ranker. What is not in it: caches, merges, the network's own
delays, and that a statement may use several cores. docs/scaling.md says where the defaults come from.
"""

from __future__ import annotations

import argparse
import heapq
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Plan:
    """What there is, and what each thing costs."""

    documents: float = 1e9
    shards: int = 64
    replicas: int = 2
    cores: int = 16  # of a server
    rate: float = 20.0  # queries a second
    share: float = 0.085  # postings of a mean query, of all documents
    spread: float = 0.8  # standard deviation of the logarithm of a query's postings
    fixed: float = 2.7e-3  # seconds of CPU for a statement, whatever it finds
    statements: float = 3.0  # for a query: statistics, scores, ids
    posting: float = 640e-9  # seconds of CPU for a posting
    k: int = 1000
    row: int = 8  # bytes of a document and its score on the way
    postings_each: float = 26.0  # distinct terms of a document
    copies: float = 2.0  # of each posting: in its field, and in all fields together
    posting_bytes: float = 6.7
    document_bytes: float = 173.0  # id and stored text
    vector_bytes: float = 0.0
    depth: int = 100  # documents that a model reads
    pair: float = 5.5e-3  # seconds of a re-ranker's core for a pair
    reranker_cores: int = 16

    @property
    def shard_seconds(self) -> float:
        """CPU of one shard for a mean query."""
        return self.statements * self.fixed + self.documents / self.shards * self.share * self.posting

    @property
    def load(self) -> float:
        """The part of a server's time that queries take."""
        return self.rate * self.shard_seconds / (self.replicas * self.cores)

    @property
    def rerankers(self) -> int:
        """Replicas of the re-ranker that are busy for 70 % of the time at most."""
        return max(1, math.ceil(self.rate * self.depth * self.pair / (0.7 * self.reranker_cores)))


def arithmetic(plan: Plan) -> dict[str, str]:
    """By hand."""
    shard = plan.documents / plan.shards
    disk = shard * (plan.postings_each * plan.copies * plan.posting_bytes + plan.document_bytes + plan.vector_bytes)
    network = plan.shards * plan.k * plan.row
    return {
        "documents a shard": f"{shard / 1e6:,.1f} million",
        "disk of a server": f"{disk / 1e9:,.0f} GB",
        "postings of a mean query on a shard": f"{shard * plan.share / 1e6:,.2f} million",
        "CPU of a shard for a mean query": f"{1000 * plan.shard_seconds:,.0f} ms",
        "busy": f"{plan.load:.0%}",
        "memory of a query on a shard": f"{shard * plan.share * 32 / 1e6:,.0f} MB",
        "network of a query": f"{network / 1e3:,.0f} kB",
        "network in all": f"{plan.rate * network / 1e6:,.1f} MB/s",
        "re-ranker replicas": f"{plan.rerankers}",
    }


def simulate(plan: Plan, queries: int, seed: int = 0) -> dict[str, float]:
    """The same as events: seconds until a query's last shard has answered, and until it is re-ranked."""
    chance = np.random.default_rng(seed)
    arrivals = np.cumsum(chance.exponential(1 / plan.rate, queries))
    lists = chance.lognormal(-(plan.spread**2) / 2, plan.spread, queries)  # of mean 1
    work = plan.statements * plan.fixed + lists * (plan.shard_seconds - plan.statements * plan.fixed)
    ended, busy = arrivals.copy(), 0.0
    for _ in range(plan.shards):
        free = [[0.0] * plan.cores for _ in range(plan.replicas)]
        uneven = chance.normal(1, 0.02, queries)  # hashes spread documents nearly evenly
        for query in range(queries):
            cores = free[int(chance.integers(plan.replicas))]
            seconds = work[query] * max(0.1, uneven[query])
            end = max(arrivals[query], heapq.heappop(cores)) + seconds
            heapq.heappush(cores, end)
            ended[query] = max(ended[query], end)
            busy += seconds
    order = np.argsort(ended)
    models = [0.0] * (plan.rerankers * plan.reranker_cores)
    heapq.heapify(models)
    done = np.zeros(queries)
    for query in order:
        last = 0.0
        for _ in range(plan.reranker_cores):  # a query's pairs go to as many cores as a replica has
            end = max(ended[query], heapq.heappop(models)) + plan.depth / plan.reranker_cores * plan.pair
            heapq.heappush(models, end)
            last = max(last, end)
        done[query] = last
    first, both = ended - arrivals, done - arrivals
    return {
        "busy": busy / (plan.shards * plan.replicas * plan.cores * float(arrivals[-1])),
        "median": float(np.median(first)),
        "p99": float(np.percentile(first, 99)),
        "median with re-ranking": float(np.median(both)),
        "p99 with re-ranking": float(np.percentile(both, 99)),
    }


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in vars(Plan()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--queries", type=int, default=3000)
    options = vars(parser.parse_args())
    queries = options.pop("queries")
    plan = Plan(**options)
    for name, text in arithmetic(plan).items():
        print(f"{name:40} {text}")
    found = simulate(plan, queries)
    print(f"\nsimulated, {queries:,} queries:")
    for name, value in found.items():
        print(f"{name:40} " + (f"{value:.0%}" if name == "busy" else f"{1000 * value:,.0f} ms"))


if __name__ == "__main__":
    main()
