"""`rankwell rank`: many queries, answered as a run."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options

if TYPE_CHECKING:
    from rankwell.core import Queries, Run
    from rankwell.index import Index
    from rankwell.pipelines import RankerOptions, RerankOptions


def rank(
    folder: options.IndexAddress,
    queries: Annotated[
        str, typer.Argument(help="Queries in any format, or a collection that has some.", show_default=False)
    ],
    out: options.RunOut,
    k: Annotated[int, typer.Option("-k", help="How many documents a query.")] = 1000,
    match: options.MatchOption = "or",
    filter: options.FilterOption = None,
    k1: options.K1 = 1.2,
    b: options.B = 0.75,
    idf: options.IdfOption = "lucene",
    weights: options.Weights = None,
    rm3: options.Rm3 = False,
    rm3_settings: options.Rm3Settings = "10,10,0.5",
    dense: options.Dense = False,
    hybrid: options.Hybrid = False,
    vectors: options.Vectors = None,
    hnsw: options.Hnsw = False,
    variants: options.Variants = 0,
    rerank: options.Rerank = None,
    depth: options.Depth = None,
    document: options.Template = None,
    passages: options.Passages = None,
    aggregate: options.Aggregate = None,
    interpolate: options.Interpolate = None,
    precision: options.Precision = None,
    relevant: options.Relevant = None,
    query_field: Annotated[
        str | None, typer.Option(help="Which wording of the queries: question, narrative, ...")
    ] = None,
    split: options.Split = None,
    tag: Annotated[str | None, typer.Option(help="The run's name; what ranked it where it is not given.")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank documents for many queries and write a TREC run."""
    from rankwell.cli.known_relevant import known_relevant
    from rankwell.clickhouse import open_index
    from rankwell.collections import read_any_queries, write_run
    from rankwell.pipelines import RankerOptions, RerankOptions

    again = None
    if rerank is not None:
        how = (depth, document, passages, aggregate, interpolate, precision, query_field, threads, quiet)
        again = RerankOptions(rerank, *how, known_relevant(relevant))
    deep = k if again is None else again.deep(k)
    words = (deep, match, filter, k1, b, idf, weights, rm3, rm3_settings, query_field, threads)
    chosen = RankerOptions(*words, dense, hybrid, vectors, hnsw, variants)
    asked, index = read_any_queries(queries, split), open_index(folder)
    started = time.perf_counter()
    if on is None:
        stage = chosen.ranker(index, asked.texts(query_field))
        run = (stage if again is None else (stage >> again.stage(index)).top(k))(asked)
    else:
        run = _on(on, index, (chosen, again, k, str(folder)), asked, quiet=quiet)
    seconds = time.perf_counter() - started
    write_run(out, replace(run, tag=tag or (run.tag if rerank else chosen.name)), "trec")
    if not quiet:
        speed = f"{len(asked) / max(seconds, 1e-9):,.0f} queries a second"
        print(f"{out}: {len(asked):,} queries, {len(run):,} documents, {speed}", file=sys.stderr)


def _on(
    on: str,
    index: Index,
    stages: tuple[RankerOptions, RerankOptions | None, int, str],
    queries: Queries,
    *,
    quiet: bool,
) -> Run:
    """The same with the work done by others."""
    from rankwell.core import Progress
    from rankwell.scale import Address, Ranking, rank_on

    task = Ranking.of(index, *stages)
    with Progress("ranking", unit="queries", total=len(queries), quiet=quiet) as progress:
        return rank_on(Address.parse(on, stages[0].threads), task, queries, progress)
