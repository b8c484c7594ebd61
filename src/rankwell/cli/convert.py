"""`rankwell convert`: collections, documents, queries, judgments and runs from one format to another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli.session import reading


def convert(
    source: options.Source,
    out: Annotated[Path, typer.Argument(help="A file whose ending names the format, or a folder.", show_default=False)],
    kind: Annotated[
        str | None,
        typer.Option(help="What is converted: collection, documents, queries, qrels or run; guessed if not named."),
    ] = None,
    read_as: Annotated[str | None, typer.Option("--from", help="The format to read; guessed if not named.")] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="The format to write; told by OUT's ending if not named.")
    ] = None,
    sample: Annotated[
        list[str] | None, typer.Option(help="Cut out a sub-collection NAME:QUERIES:DOCUMENTS; several share nothing.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of --sample.")] = 0,
    split: options.Split = None,
    drop_negative: Annotated[
        bool, typer.Option("--drop-negative", help="Judgments below 0 mean not judged (TREC-COVID).")
    ] = False,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert between formats, or cut sub-collections out of a collection."""
    from rankwell.collections import ColumnChoice
    from rankwell.collections.convert import Conversion
    from rankwell.collections.sample import Part

    choice = ColumnChoice.parse(id_column, fields, metadata)
    job = Conversion(source, out, kind, read_as, write_as, split, choice, drop_negative)
    with reading(f"converting {source}", "records", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        said = job.sampled([Part.parse(text) for text in sample], seed, how) if sample else job.converted(how)
    if not quiet:
        print(said, file=sys.stderr)
