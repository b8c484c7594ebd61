"""`rankwell delete | get | verify | info | merge`: look after an index."""

from __future__ import annotations

import sys
from typing import Annotated

import orjson
import typer

from rankwell.cli import options

Ids = Annotated[list[str], typer.Argument(help="Document ids.", show_default=False)]


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
    from rankwell.clickhouse import open_index
    from rankwell.core import RankwellError

    documents = open_index(folder).documents
    for docno in ids:
        if docno not in documents:
            raise RankwellError(f"{folder}: expected a document {docno!r}, found none of that id")
        found = documents[docno]
        row = {"id": found.id, **found.fields, "metadata": dict(found.metadata)}
        print(orjson.dumps(row).decode())


def verify(folder: options.IndexFolder) -> None:
    """Check every byte of an index, and of the vectors beside it."""
    from rankwell.dense import embeddings_of
    from rankwell.index import Index

    found = Index.open(folder)
    found.verify()
    for embeddings in embeddings_of(found):
        embeddings.verify()
    print(f"{folder}: commit {found.commit}, {len(found):,} documents: all is well")


def info(
    folder: options.IndexAddress, as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False
) -> None:
    """Say what is in an index."""
    from rankwell.clickhouse import all_vectors_of, open_index

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
