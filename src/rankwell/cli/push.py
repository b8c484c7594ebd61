"""`rankwell push`: an index or documents into ClickHouse."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwell.cli import options

if TYPE_CHECKING:
    from rankwell.clickhouse import Pushed


def push(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="An index, or documents as `rankwell index` takes them.", show_default=False
        ),
    ],
    address: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="Where to: clickhouse://user@host,host/database?cluster=name or chdb:///folder."
        ),
    ],
    load: Annotated[
        int | None,
        typer.Option(help="Documents that are there or not as one; 131072 of an index, 16384 for each worker."),
    ] = None,
    stale: Annotated[float, typer.Option(help="Seconds of silence after which another push is taken for dead.")] = 60.0,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the rows of deleted documents for good.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Documents: processes that analyse and send; as many as cores by default.")
    ] = None,
    analyzer: Annotated[
        str | None, typer.Option(help="Documents: as for `rankwell index`; english by default.")
    ] = None,
    positions: Annotated[bool, typer.Option("--positions", help="Documents: keep positions, for phrases.")] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Copy an index and its vectors, or documents, into ClickHouse; again, and only what has changed is sent."""
    from rankwell.clickhouse import parse_address
    from rankwell.core import ParameterError
    from rankwell.index import is_index

    if load is not None and load < 1:
        raise ParameterError("--load", expected="a number of documents, at least 1", found=load)
    where = parse_address(address)
    settings: dict[str, Any] = {"stale": stale, "purge": purge} | ({} if load is None else {"load": load})
    started = time.perf_counter()
    if is_index(Path(source)):
        for name, given in {
            "--workers": workers,
            "--analyzer": analyzer,
            "--positions": positions,
            "--format": format,
            "--fields": fields,
            "--id": id_column,
            "--metadata": metadata,
        }.items():
            if given:
                raise ParameterError(
                    name, expected="documents that are still to be indexed", found=f"an index, {source}"
                )
        done = _push_index(source, address, settings, quiet=quiet)
    else:
        settings |= {"workers": workers, "positions": positions}
        chosen = (format, id_column, fields, metadata)
        done = _push_documents(source, address, settings, analyzer, chosen, encoding, skip_bad=skip_bad, quiet=quiet)
    if not quiet:
        changes = f"{done.added:,} documents sent, {done.deleted:,} deleted, {done.vectors:,} vectors"
        if purge:
            changes += f", {done.purged:,} purged"
        seconds = time.perf_counter() - started
        print(
            f"{where}: commit {done.commit}, {done.documents:,} documents ({changes}; {seconds:.1f} s)", file=sys.stderr
        )


def _push_index(folder: str, address: str, settings: dict[str, Any], *, quiet: bool) -> Pushed:
    from rankwell.clickhouse import push as push_index
    from rankwell.core import Progress
    from rankwell.index import Index

    with Progress(f"pushing {folder}", unit="documents", quiet=quiet) as progress:
        try:
            return push_index(Index.open(folder), address, progress=progress, **settings)
        except BaseException:
            _say_kept(progress.count)
            raise


def _push_documents(
    source: str,
    address: str,
    settings: dict[str, Any],
    analyzer: str | None,
    chosen: tuple[str | None, str | None, str | None, str | None],
    encoding: str,
    *,
    skip_bad: bool,
    quiet: bool,
) -> Pushed:
    from rankwell.analysis import parse_analyzer
    from rankwell.cli.index import at_least_one
    from rankwell.cli.session import reading
    from rankwell.clickhouse import push_documents
    from rankwell.collections import ColumnChoice, open_collection, unique

    collection, choice = open_collection(source, chosen[0]), ColumnChoice.parse(*chosen[1:])
    settings = {**settings, "analyzer": parse_analyzer(analyzer or "english")}
    with reading(f"pushing {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = unique(at_least_one(collection.documents(how, choice), source, how), how, source)
        try:
            return push_documents(how.progress.track(documents), address, **settings)
        except BaseException:
            _say_kept(how.progress.count)
            raise


def _say_kept(count: int) -> None:
    if count:
        print("what was sent so far is kept: the same command goes on from there", file=sys.stderr)
