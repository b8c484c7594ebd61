"""`rankwell stats`: what a collection is like."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli.session import reading


def stats(
    source: options.Source,
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Count tokens as this model sees them: a short name or a folder.")
    ] = None,
    limit: Annotated[int, typer.Option(help="The model's token limit.")] = 512,
    output: options.Output = "table",
    pictures: Annotated[Path | None, typer.Option(help="Write the pictures into this folder (PNG).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one page with tables and pictures.")] = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe a collection: fields, lengths, judgments, years, duplicates; as tables, pictures or a page."""
    from rankwell.collections import ColumnChoice, open_collection, read_qrels, read_queries, unique
    from rankwell.core import atomic_write
    from rankwell.encode import TokenCounter, default_tokenizer
    from rankwell.report import collection_statistics

    collection = open_collection(source, format)
    choice = ColumnChoice.parse(id_column, fields, metadata)
    model = tokenizer or default_tokenizer()
    with reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        asked = (
            read_queries(queries, reading=how)
            if queries
            else collection.queries(split, how)
            if collection.read_queries
            else None
        )
        judged = (
            read_qrels(qrels, reading=how)
            if qrels
            else collection.judgments(split, how)
            if split or collection.splits
            else None
        )
        documents = how.progress.track(unique(collection.documents(how, choice), how, source))
        found = collection_statistics(
            documents, asked, judged, count_tokens=TokenCounter(model) if model else None, token_limit=limit
        )
    if output == "json":
        print(found.to_json(), end="")
    else:
        print("\n".join(table.render(output) for table in found.tables()), end="")
    if pictures:
        for name, picture in found.pictures().items():
            picture.save(pictures / f"{name}.png")
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        command = shlex.join(["rankwell", *sys.argv[1:]])
        with atomic_write(html) as file:
            file.write(found.page(f"{source}: collection statistics", command).html().encode())
        print(f"page: {html}", file=sys.stderr)
