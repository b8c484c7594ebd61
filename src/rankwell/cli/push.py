"""`rankwell push`: an index into ClickHouse."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from rankwell.cli import options


def push(
    folder: options.IndexFolder,
    address: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="Where to: clickhouse://user@host,host/database?cluster=name or chdb:///folder."
        ),
    ],
    load: Annotated[int, typer.Option(help="Documents that are there or not as one; what a dead push loses.")] = 1
    << 17,
    stale: Annotated[float, typer.Option(help="Seconds of silence after which another push is taken for dead.")] = 60.0,
    quiet: options.Quiet = False,
) -> None:
    """Copy an index and its vectors into ClickHouse; again, and only what has changed is sent."""
    from rankwell.clickhouse import parse_address
    from rankwell.clickhouse import push as push_index
    from rankwell.core import ParameterError, Progress
    from rankwell.index import Index

    if load < 1:
        raise ParameterError("--load", expected="a number of documents, at least 1", found=load)
    where = parse_address(address)
    started = time.perf_counter()
    with Progress(f"pushing {folder}", unit="documents", quiet=quiet) as progress:
        try:
            done = push_index(Index.open(folder), address, progress=progress, load=load, stale=stale)
        except BaseException:
            if progress.count:
                print("what was sent so far is kept: the same command goes on from there", file=sys.stderr)
            raise
    if not quiet:
        seconds = time.perf_counter() - started
        changes = f"{done.added:,} documents sent, {done.deleted:,} deleted, {done.vectors:,} vectors"
        print(
            f"{where}: commit {done.commit}, {done.documents:,} documents ({changes}; {seconds:.1f} s)", file=sys.stderr
        )
