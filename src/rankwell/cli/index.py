"""`rankwell index | delete | get | verify | info | merge | push`: make an index and look after it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from rankwell.cli import options
from rankwell.cli.options import reading
from rankwell.collections import Reading
from rankwell.core import Document, RankwellError

if TYPE_CHECKING:
    from rankwell.clickhouse import Pushed


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
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder of the index.")],
    append: Annotated[
        bool, typer.Option("--append", help="Add to the index; documents of the same id are replaced.")
    ] = False,
    analyzer: Annotated[
        str, typer.Option(help="LANGUAGE[:STOPWORDS[:STEMMER]], such as english, german, english:nltk:porter, cjk.")
    ] = "english",
    positions: Annotated[bool, typer.Option("--positions", help="Store positions, for phrase queries.")] = False,
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


Ids = Annotated[list[str], typer.Argument(help="Document ids.")]


def delete(folder: options.IndexFolder, ids: Ids) -> None:
    """Delete documents from an index."""
    from rankwell.core import RankwellError
    from rankwell.index import Index, IndexWriter

    documents = Index.open(folder).documents
    unknown = [docno for docno in ids if docno not in documents]
    if unknown:
        raise RankwellError(
            f"{folder}: expected ids of its documents, found {', '.join(map(repr, unknown))}; none was deleted"
        )
    with IndexWriter(folder) as writer:
        for docno in ids:
            writer.delete(docno)
    print(f"deleted {len(set(ids))}, {len(Index.open(folder)):,} are left", file=sys.stderr)


def get(folder: options.IndexAddress, ids: Ids) -> None:
    """Print documents as JSON, a line each."""
    from rankwell.core import RankwellError
    from rankwell.index import open_index

    documents = open_index(folder).documents
    for docno in ids:
        if docno not in documents:
            raise RankwellError(f"{folder}: expected a document {docno!r}, found none of that id")
        found = documents[docno]
        row = {"id": found.id, **found.fields, "metadata": dict(found.metadata)}
        print(orjson.dumps(row).decode())


def verify(folder: options.IndexFolder) -> None:
    """Check every byte of an index, and of the vectors beside it."""
    from rankwell.index import Index
    from rankwell.vectors import embeddings_of

    found = Index.open(folder)
    found.verify()
    for embeddings in embeddings_of(found):
        embeddings.verify()
    print(f"{folder}: commit {found.commit}, {len(found):,} documents: all is well")


def info(
    folder: options.IndexAddress, as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False
) -> None:
    """Say what is in an index."""
    from rankwell.index import open_index
    from rankwell.vectors import all_vectors_of

    index = open_index(folder)
    found = index.info()
    vectors = [embeddings.info() for embeddings in all_vectors_of(index)]
    if as_json:
        found["vectors"] = vectors
        print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
        return
    for name, value in found.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else value
        print(
            f"{name:16} {shown:,}" if isinstance(shown, int) and not isinstance(shown, bool) else f"{name:16} {shown}"
        )
    for of in vectors:
        about = f"{of['documents']:,} documents, {of['dimensions']} numbers each by {of['model']}"
        lacking = f"; {of['without']:,} documents lack one: rankwell encode {folder}" if of["without"] else ""
        print(f"{'vectors':16} {of['name']}: {about}{lacking}")


def merge(folder: options.IndexFolder) -> None:
    """Make one segment of all; deleted documents are gone for good."""
    from rankwell.index import Index

    found = Index.open(folder).merge()
    print(f"{folder}: {len(found):,} documents in one segment", file=sys.stderr)


def push(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="An index, or documents as `rankwell index` takes them.")
    ],
    address: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="Where to: clickhouse://user@host,host/database?cluster=name or chdb:///folder."
        ),
    ],
    load: Annotated[
        int | None,
        typer.Option(
            help="Documents that become visible together (default: 131072 from an index, 16384 for each worker)."
        ),
    ] = None,
    stale: Annotated[
        float, typer.Option(help="Seconds without a sign of life after which another push counts as dead.")
    ] = 60.0,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the rows of deleted documents for good.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Documents: number of processes (default: number of cores).")
    ] = None,
    analyzer: Annotated[
        str | None, typer.Option(help="Documents: as for `rankwell index`; english by default.")
    ] = None,
    positions: Annotated[
        bool, typer.Option("--positions", help="Documents: store positions, for phrase queries.")
    ] = False,
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
    from rankwell.cli.options import reading
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
