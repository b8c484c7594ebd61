"""`rankwell index | delete | get | verify | info | merge | push`: make an index and look after it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import orjson
from typer import Argument, Option, confirm

from rankwell.analysis import Analyzer, choose_analyzer, parse_analyzer
from rankwell.cli import options
from rankwell.cli.syncing import keep_in_step
from rankwell.collections import ColumnChoice, Reading, open_collection, preview, unique
from rankwell.collections.preview import CHANGE
from rankwell.collections.table_reading import TableReading
from rankwell.core import Document, ParameterError, Progress, RankwellError
from rankwell.index import (
    Index,
    IndexWriter,
    SyncOptions,
    is_index,
    keep_tables,
    open_index,
    read_tables,
    with_metadata_names,
)
from rankwell.index.syncing import check_row_number
from rankwell.vectors import all_vectors_of, verify_vectors


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
    out: Annotated[Path | None, Option("--out", "-o", help="The folder of the index.")] = None,
    append: Annotated[
        bool, Option("--append", help="Add to the index; documents of the same id are replaced.")
    ] = False,
    sync: Annotated[
        bool, Option("--sync", help="Add, replace and delete what has changed in the source since the last time.")
    ] = False,
    watch: Annotated[
        bool, Option("--watch", help="The same whenever files of the source change, until Ctrl-C.")
    ] = False,
    allow_empty: Annotated[
        bool, Option("--allow-empty", help="With --sync: a source that is empty or gone deletes all its documents.")
    ] = False,
    show: Annotated[bool, Option("--preview", help="Only show how the source would be read.")] = False,
    as_json: Annotated[bool, Option("--json", help="With --preview: print it as JSON.")] = False,
    analyzer: Annotated[
        str | None,
        Option(
            help="LANGUAGE[:STOPWORDS[:STEMMER]], such as english, german, english:nltk:porter, cjk "
            "(default: that of the documents' language)."
        ),
    ] = None,
    positions: Annotated[bool, Option("--positions", help="Store positions, for phrase queries.")] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    dates: options.Dates = None,
    encoding: options.Encoding = "auto",
    parts: Annotated[
        bool, Option("--parts", help="Make a document of each page, slide, chapter or section of a file.")
    ] = False,
    skip_bad: options.SkipBad = False,
    bad_list: Annotated[
        Path | None,
        options.path_option("With --skip-bad: the list of all bad records (default: OUT.bad.txt).", "--bad-list"),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Index documents. Words are searchable; short values become metadata that --filter can ask for."""
    choice = ColumnChoice.parse(id_column, fields, metadata, dates)
    if show:
        seen = preview(source, format, columns=choice, encoding=encoding, parts=parts)
        print(orjson.dumps(seen.for_json(), option=orjson.OPT_INDENT_2).decode() if as_json else seen)
        return
    if out is None:
        raise RankwellError("--out: expected the folder of the index, found none (--preview needs none)")
    analysis, there = None if analyzer is None else parse_analyzer(analyzer), is_index(out)
    listing = bad_list or out.with_name(f"{out.name}.bad.txt")
    if sync or watch:
        if append:
            raise ParameterError("--append", expected="either --append or --sync", found="both")
        if not there:
            _agree_on(source, format, choice, encoding, quiet=quiet)
        chosen = SyncOptions(
            format, choice, None if there else analysis, None if there else positions, skip_bad or watch, allow_empty
        )
        how_read = {"encoding": encoding, "skip_bad": skip_bad, "bad_list": listing, "parts": parts}
        keep_in_step(source, out, chosen, how_read, watch=watch, quiet=quiet)
        return
    if there and not append:
        raise RankwellError(
            f"{out}: an index is here already: add to it with --append, keep it in step with --sync, or choose another "
            "folder"
        )
    collection = open_collection(source, format)
    label = f"indexing {collection.name}"
    with options.reading(
        label, "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet, bad_list=listing, parts=parts
    ) as how:
        before = Index.open(out) if there else None
        if before is not None:
            how.tables.kept = read_tables(out)
            how.tables.fields = () if how.tables.kept else before.fields
        documents = _shown(at_least_one(collection.documents(how, choice), collection.name, how), how, quiet=quiet)
        if before is not None:
            documents = _no_row_numbers(documents, before, how)
            writer = IndexWriter(out)
        else:
            names, documents = with_metadata_names(unique(documents, how, collection.name))
            analysis, documents = (analysis, documents) if analysis else _language(documents, quiet=quiet)
            writer = IndexWriter(out, analysis, metadata=names, positions=positions)
        with writer:
            writer.add_all(how.progress.track(documents))
        keep_tables(out, how.tables.read)
    if not quiet:
        _tell_made(Index.open(out), before, how)


def _language(documents: Iterator[Document], *, quiet: bool) -> tuple[Analyzer, Iterator[Document]]:
    """The analyzer of the documents' language, which is announced, and all documents."""
    language, documents = choose_analyzer(documents)
    if language.note and not quiet:
        options.tell(f"language: {language.note} (--analyzer says it otherwise)")
    return language.analyzer, documents


def _shown(documents: Iterator[Document], how: Reading, *, quiet: bool) -> Iterator[Document]:
    """The documents, after saying how their table is read; where that is in doubt, a person is asked first."""
    first = list(islice(documents, 1))  # now the first table is known
    with how.progress.paused():
        _agree(how.tables.read, quiet=quiet)
    return chain(first, documents)


def _agree_on(source: str, format: str | None, choice: ColumnChoice, encoding: str, *, quiet: bool) -> None:
    """Say how the tables of a source are read, before anything is done; a bad file is told when it is read."""
    tables: Sequence[TableReading] = ()
    with suppress(RankwellError):
        tables = preview(source, format, columns=choice, encoding=encoding).tables
    _agree(tables, quiet=quiet)


def _agree(tables: Sequence[TableReading], *, quiet: bool) -> None:
    """Say how tables are read, and on a terminal ask where that is in doubt."""
    if quiet or not tables:
        return
    for line in [line for table in tables for line in table.lines()]:
        options.tell(line)
    options.tell(CHANGE)
    doubts = any(table.doubts for table in tables)
    asked = doubts and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if asked and not confirm("Read it so?", default=True, err=True):
        raise RankwellError(f"nothing was indexed: {CHANGE}")


def _no_row_numbers(documents: Iterator[Document], before: Index, how: Reading) -> Iterator[Document]:
    """The documents; an id made of a row's number must not take the place of another document."""
    for document in documents:
        if document.id in before.documents:
            check_row_number(document, before.documents[document.id], how)
        yield document


def _tell_made(made: Index, before: Index | None, how: Reading) -> None:
    """What is in the index now; after --append, how many documents are new."""
    columns = f"; metadata: {', '.join(made.metadata)}" if made.metadata else ""
    if before is not None:
        added = len(made) - len(before)
        options.tell(f"{added:,} documents added, {how.progress.count - added:,} replaced")
    if how.place.repeated:
        options.tell(f"{how.place.repeated:,} rows are there twice, and were indexed once")
    options.tell(f"{made.path}: {len(made):,} documents; fields: {', '.join(made.fields)}{columns}")


Ids = Annotated[list[str], Argument(help="Document ids.")]


def delete(folder: options.IndexFolder, ids: Ids) -> None:
    """Delete documents from an index."""
    documents = Index.open(folder).documents
    unknown = [docno for docno in ids if docno not in documents]
    if unknown:
        raise RankwellError(
            f"{folder}: expected ids of its documents, found {', '.join(map(repr, unknown))}; none was deleted"
        )
    with IndexWriter(folder) as writer:
        for docno in ids:
            writer.delete(docno)
    options.tell(f"deleted {len(set(ids))}, {len(Index.open(folder)):,} are left")


def get(folder: options.IndexAddress, ids: Ids) -> None:
    """Print documents as JSON, a line each."""
    documents = open_index(folder).documents
    for docno in ids:
        if docno not in documents:
            raise RankwellError(f"{folder}: expected a document {docno!r}, found none of that id")
        stored = documents[docno]
        print(orjson.dumps({"id": docno, **stored.fields, "metadata": dict(stored.metadata)}).decode())


def verify(folder: options.IndexFolder) -> None:
    """Compare an index, and the vectors beside it, with their checksums."""
    index = Index.open(folder)
    index.verify()
    verify_vectors(index)
    print(f"{folder}: commit {index.commit}, {len(index):,} documents: all is well")


def info(
    folder: options.IndexAddress, as_json: Annotated[bool, Option("--json", help="Print as JSON.")] = False
) -> None:
    """Say what is in an index."""
    index = open_index(folder)
    facts = index.info()
    vectors = [embeddings.info() for embeddings in all_vectors_of(index)]
    if as_json:
        print(orjson.dumps({**facts, "vectors": vectors}, option=orjson.OPT_INDENT_2).decode())
        return
    for name, value in facts.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
        print(f"{name:16} {shown}")
    for of in vectors:
        about = f"{of['documents']:,} documents, {of['dimensions']} numbers each by {of['model']}"
        lacking = f"; {of['without']:,} documents lack one: rankwell encode {folder}" if of["without"] else ""
        print(f"{'vectors':16} {of['name']}: {about}{lacking}")


def merge(folder: options.IndexFolder) -> None:
    """Make one segment of all; deleted documents are gone for good."""
    options.tell(f"{folder}: {len(Index.open(folder).merge()):,} documents in one segment")


def push(
    source: Annotated[str, Argument(metavar="SOURCE", help="An index, or documents as `rankwell index` takes them.")],
    address: Annotated[
        str,
        Argument(metavar="URL", help="Where to: clickhouse://user@host,host/database?cluster=name or chdb:///folder."),
    ],
    load: Annotated[
        int | None,
        Option(help="Documents that become visible together (default: 131072 from an index, 16384 for each worker)."),
    ] = None,
    stale: Annotated[
        float, Option(help="Seconds without a sign of life after which another push counts as dead.")
    ] = 60.0,
    purge: Annotated[bool, Option("--purge", help="Remove the rows of deleted documents for good.")] = False,
    workers: Annotated[int | None, Option(help="Documents: number of processes (default: number of cores).")] = None,
    analyzer: Annotated[str | None, Option(help="Documents: as for `rankwell index`; english by default.")] = None,
    positions: Annotated[bool, Option("--positions", help="Documents: store positions, for phrase queries.")] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Copy an index and its vectors, or documents, into ClickHouse; again, and only what has changed is sent."""
    from rankwell import clickhouse

    if load is not None and load < 1:
        raise ParameterError("--load", expected="a number of documents, at least 1", found=load)
    where = clickhouse.parse_address(address)
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
        with (
            Progress(f"pushing {source}", unit="documents", quiet=quiet) as progress,
            options.keeping("sent", progress),
        ):
            done = clickhouse.push(Index.open(source), address, progress=progress, **settings)
    else:
        collection, choice = open_collection(source, format), ColumnChoice.parse(id_column, fields, metadata)
        settings |= {"workers": workers, "positions": positions, "analyzer": parse_analyzer(analyzer or "english")}
        pushing = options.reading(f"pushing {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet)
        with pushing as how, options.keeping("sent", how.progress):
            documents = unique(at_least_one(collection.documents(how, choice), source, how), how, source)
            done = clickhouse.push_documents(how.progress.track(documents), address, **settings)
    if not quiet:
        changes = f"{done.added:,} documents sent, {done.deleted:,} deleted, {done.vectors:,} vectors"
        changes += f", {done.purged:,} purged" if purge else ""
        changes += f"; {time.perf_counter() - started:.1f} s"
        options.tell(f"{where}: commit {done.commit}, {done.documents:,} documents ({changes})")
