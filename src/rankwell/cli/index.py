"""`rankwell index | delete | get | verify | info | merge | push`: make an index and look after it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import orjson
from typer import Argument, Option

from rankwell.analysis import parse_analyzer
from rankwell.cli import options
from rankwell.collections import ColumnChoice, Reading, open_collection, unique
from rankwell.core import Document, ParameterError, Progress, RankwellError
from rankwell.index import Index, IndexWriter, is_index, open_index, with_metadata_names
from rankwell.vectors import all_vectors_of, embeddings_of


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
    out: Annotated[Path, Option("--out", "-o", help="The folder of the index.")],
    append: Annotated[
        bool, Option("--append", help="Add to the index; documents of the same id are replaced.")
    ] = False,
    analyzer: Annotated[
        str, Option(help="LANGUAGE[:STOPWORDS[:STEMMER]], such as english, german, english:nltk:porter, cjk.")
    ] = "english",
    positions: Annotated[bool, Option("--positions", help="Store positions, for phrase queries.")] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Index documents. Every other column becomes metadata that --filter can ask for."""
    if is_index(out) and not append:
        raise RankwellError(f"{out}: an index is here already: add to it with --append, or choose another folder")
    choice = ColumnChoice.parse(id_column, fields, metadata)
    collection = open_collection(source, format)
    with options.reading(f"indexing {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = at_least_one(collection.documents(how, choice), source, how)
        if append and is_index(out):
            writer = IndexWriter(out)
        else:
            names, documents = with_metadata_names(unique(documents, how, source))
            writer = IndexWriter(out, parse_analyzer(analyzer), metadata=names, positions=positions)
        with writer:
            writer.add_all(how.progress.track(documents))
    made = Index.open(out)
    if not quiet:
        columns = f"; metadata: {', '.join(made.metadata)}" if made.metadata else ""
        options.tell(f"{out}: {len(made):,} documents; fields: {', '.join(made.fields)}{columns}")


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
    """Check every byte of an index, and of the vectors beside it."""
    index = Index.open(folder)
    index.verify()
    for embeddings in embeddings_of(index):
        embeddings.verify()
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
    encoding: options.Encoding = "utf-8",
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
