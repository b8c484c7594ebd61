"""`rankwell index`: make an index of documents, or add to one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import options
from rankwell.cli.session import reading
from rankwell.collections import Reading
from rankwell.core import Document, RankwellError


def at_least_one(documents: Iterable[Document], source: str, how: Reading) -> Iterator[Document]:
    """The documents, of which there must be one: an index of nothing is hardly what was meant."""
    empty = True
    for document in documents:
        empty = False
        yield document
    if empty:
        bad = f" ({how.problems.count:,} bad records left out)" if how.problems.count else ""
        raise RankwellError(f"{source}: expected documents, found none{bad}")


def index(
    source: options.Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the index.", show_default=False)],
    append: Annotated[
        bool, typer.Option("--append", help="Add to the index; documents of the same id are replaced.")
    ] = False,
    analyzer: Annotated[
        str, typer.Option(help="LANGUAGE[:STOPWORDS[:STEMMER]], such as english, german, english:nltk:porter, cjk.")
    ] = "english",
    positions: Annotated[bool, typer.Option("--positions", help="Keep positions, for phrases.")] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Index documents. Every other column becomes metadata that --filter can ask for."""
    from rankwell.analysis import parse_analyzer
    from rankwell.collections import ColumnChoice, open_collection, unique
    from rankwell.index import Index, IndexWriter, is_index, with_metadata_names

    if is_index(out) and not append:
        raise RankwellError(f"{out}: an index is here already: add to it with --append, or choose another folder")
    choice = ColumnChoice.parse(id_column, fields, metadata)
    collection = open_collection(source, format)
    with reading(f"indexing {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = at_least_one(collection.documents(how, choice), source, how)
        if append and is_index(out):
            writer = IndexWriter(out)
        else:
            names, documents = with_metadata_names(unique(documents, how, source))
            writer = IndexWriter(out, parse_analyzer(analyzer), metadata=names, positions=positions)
        with writer:
            writer.add_all(how.progress.track(documents))
    found = Index.open(out)
    if not quiet:
        columns = f"; metadata: {', '.join(found.metadata)}" if found.metadata else ""
        print(f"{out}: {len(found):,} documents; fields: {', '.join(found.fields)}{columns}", file=sys.stderr)
