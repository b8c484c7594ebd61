"""`rankwell rank`: many queries, answered as a run."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Annotated

import typer

from rankwell.cli import options


def rank(
    folder: options.IndexFolder,
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
    query_field: Annotated[
        str | None, typer.Option(help="Which wording of the queries: question, narrative, ...")
    ] = None,
    split: options.Split = None,
    tag: Annotated[str | None, typer.Option(help="The run's name; BM25 or RM3 where it is not given.")] = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank documents for many queries and write a TREC run."""
    from rankwell.cli.rankers import RankerOptions
    from rankwell.collections import read_any_queries, write_run
    from rankwell.index import Index

    chosen = RankerOptions(k, match, filter, k1, b, idf, weights, rm3, rm3_settings, query_field, threads)
    asked = read_any_queries(queries, split)
    started = time.perf_counter()
    run = chosen.ranker(Index.open(folder))(asked)
    seconds = time.perf_counter() - started
    write_run(out, replace(run, tag=tag or ("RM3" if rm3 else "BM25")), "trec")
    if not quiet:
        speed = f"{len(asked) / max(seconds, 1e-9):,.0f} queries a second"
        print(f"{out}: {len(asked):,} queries, {len(run):,} documents, {speed}", file=sys.stderr)
