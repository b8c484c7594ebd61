"""`rankwell demo`: the whole loop on the bundled collection, which every machine with a Python has."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankwell.collections import Collection
    from rankwell.core import Judgments, Queries
    from rankwell.index import Index


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the index, the runs and the pages.")] = Path("demo"),
    serve: Annotated[
        bool | None, typer.Option(help="Keep the search page open until Ctrl-C.", show_default="on a terminal")
    ] = None,
) -> None:
    """Index, search, re-rank, compare and serve a collection that every Python has: its own documentation."""
    from rankwell.cli.demo_steps import CROSS_ENCODER, DEPTH, Searches, is_here, show_page
    from rankwell.collections import open_collection

    started = time.perf_counter()
    collection = open_collection("rankwell:python")
    queries, judgments = collection.queries(), collection.judgments()
    print("rankwell:python is the documentation of Python's standard library, read from this interpreter,")
    print(f"with {len(queries)} queries as people type them and {judgments.count:,} graded judgments.")
    with _step(1, "What is in it?"):
        _statistics(collection, queries, judgments, out)
    with _step(2, "Index it"):
        index = _indexed(collection, out / "index")
    searches = Searches(index, queries, judgments, out)
    with _step(3, "Search by words: BM25"):
        searches.by_words()
    with _step(4, "Search by meaning: a bi-encoder"):
        searches.by_meaning()
    with _step(5, f"Let BERT read the top {DEPTH}"):
        searches.by_bert()
    with _step(6, "Is it better?"):
        searches.compare()
    print(f"\n7. The page\n   Six steps took {time.perf_counter() - started:.0f} s; now for the search page.")
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    words = next(iter(queries.values())).text()
    model = CROSS_ENCODER if is_here(CROSS_ENCODER) else None
    show_page(out / "index", model, words, stay=terminal if serve is None else serve)


@contextlib.contextmanager
def _step(number: int, title: str) -> Iterator[None]:
    """A heading before, and what it took behind."""
    print(f"\n{number}. {title}", flush=True)
    started = time.perf_counter()
    yield
    print(f"   took {time.perf_counter() - started:.1f} s", flush=True)


def _statistics(collection: Collection, queries: Queries, judgments: Judgments, out: Path) -> None:
    """What the collection is like."""
    from rankwell.core import atomic_write
    from rankwell.models.base import TokenCounter, default_tokenizer
    from rankwell.report import collection_statistics

    model = default_tokenizer()
    counter = TokenCounter(model) if model else None
    found = collection_statistics(collection.documents(), queries, judgments, count_tokens=counter)
    print("\n".join(table.render("table") for table in found.tables()[:2]), end="")
    with atomic_write(out / "statistics.html") as file:
        file.write(found.page("rankwell:python", "rankwell stats rankwell:python").html().encode())
    print(f"   all of it, with pictures: {out / 'statistics.html'}")


def _indexed(collection: Collection, folder: Path) -> Index:
    """Index the documents, anew."""
    import shutil

    from rankwell.index import Index, IndexWriter, with_metadata_names

    shutil.rmtree(folder, ignore_errors=True)
    names, documents = with_metadata_names(collection.documents())
    with IndexWriter(folder, metadata=names) as writer:
        writer.add_all(documents)
    index = Index.open(folder)
    print(f"   {len(index):,} documents are in {folder}, which can be updated while it is searched")
    return index
