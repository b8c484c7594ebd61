"""`rankwell demo`: the main job on the bundled collection, which every machine with a Python has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankwell.collections import Collection
    from rankwell.core import Judgments, Queries, Stage
    from rankwell.index import Index

SHOWN = 3  # documents and queries to show
WIDTH = 110
BI_ENCODER, CROSS_ENCODER = "minilm-l6", "ms-marco-minilm-l12"
DEPTH = 30  # documents that BERT re-ranks a query
FIELDS = {"title": 0.3, "signature": 0.1, "docstring": 0.6}


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the index and the pages.")] = Path("demo"),
) -> None:
    """Show what Rankwell does with a collection that every Python has: its own documentation."""
    from rankwell.collections import open_collection

    started = time.perf_counter()
    collection = open_collection("rankwell:python")
    queries, judgments = collection.queries(), collection.judgments()
    print("rankwell:python is the documentation of Python's standard library, read from this interpreter,")
    print(f"with {len(queries)} queries as people type them and {judgments.count:,} graded judgments.\n")
    _statistics(collection, queries, judgments, out)
    index = _indexed(collection, out / "index")
    _searches(index, queries, judgments)
    _quality(index, queries, judgments, out)
    print(f"\nAll of this took {time.perf_counter() - started:.0f} s. Now with your own documents:\n")
    print("    rankwell index YOURS.csv --out yours\n    rankwell search yours 'what you are looking for'")


def _statistics(collection: Collection, queries: Queries, judgments: Judgments, out: Path) -> None:
    """What the collection is like."""
    from rankwell.core import atomic_write
    from rankwell.encode import TokenCounter, default_tokenizer
    from rankwell.report import collection_statistics

    model = default_tokenizer()
    counter = TokenCounter(model) if model else None
    found = collection_statistics(collection.documents(), queries, judgments, count_tokens=counter)
    print("\n".join(table.render("table") for table in found.tables()[:3]))
    with atomic_write(out / "statistics.html") as file:
        file.write(found.page("rankwell:python", "rankwell stats rankwell:python").html().encode())
    print(f"all of it, with pictures: {out / 'statistics.html'}\n")


def _indexed(collection: Collection, folder: Path) -> Index:
    """Index the documents, anew."""
    import shutil

    from rankwell.index import Index, IndexWriter, with_metadata_names

    shutil.rmtree(folder, ignore_errors=True)
    started = time.perf_counter()
    names, documents = with_metadata_names(collection.documents())
    with IndexWriter(folder, metadata=names) as writer:
        writer.add_all(documents)
    index = Index.open(folder)
    print(f"Indexed {len(index):,} documents in {time.perf_counter() - started:.1f} s.\n")
    return index


def _searches(index: Index, queries: Queries, judgments: Judgments) -> None:
    """A few queries with what is found; the judgment stands in front of each document (- is unjudged)."""
    from rankwell.rank import BM25

    for qid in list(queries)[:SHOWN]:
        run = BM25(index, k=SHOWN)(queries.only([qid]))
        print(f"  {queries[qid].text()}")
        for docno, score in run[qid]:
            passage = " ".join(index.snippet(docno, queries[qid].text(), 70, ["docstring"]).marked().split())
            print(f"    {judgments[qid].get(docno, '-')}  {score:6.2f}  {docno}: {passage}"[:WIDTH])
    print()


def _quality(index: Index, queries: Queries, judgments: Judgments, out: Path) -> None:
    """Several ways to search, measured against the judgments, with the differences tested."""
    from rankwell.core import atomic_write
    from rankwell.evaluate import compare
    from rankwell.rank import BM25, RM3, RandomRanker
    from rankwell.report.comparison_page import comparison_page
    from rankwell.report.comparison_tables import comparison_table

    systems: dict[str, Stage] = {
        "BM25": BM25(index, k=100),
        "BM25, AND": BM25(index, k=100, match="and"),
        "BM25 by fields": BM25(index, k=100, weights=FIELDS),
        "BM25 + RM3": RM3(BM25(index, k=100)),
        **_neural(index),
        "random": RandomRanker(docnos=tuple(index.documents), k=100),
    }
    runs, seconds = {}, {}
    for name, stage in systems.items():
        started = time.perf_counter()
        runs[name] = stage(queries)
        seconds[name] = time.perf_counter() - started
    found = compare(judgments, runs, ["nDCG@10", "R@100"])
    print(comparison_table(found).render("table"), end="")
    for sentence in found.warnings():
        print(f"note: {sentence}")
    times = ", ".join(f"{name} {1000 * took / len(queries):,.0f} ms" for name, took in seconds.items())
    print(f"time a query: {times}")
    page = comparison_page(found, texts=queries.texts(), command="rankwell demo")
    with atomic_write(out / "comparison.html") as file:
        file.write(page.html().encode())
    print(f"the same with pictures: {out / 'comparison.html'}")


def _neural(index: Index) -> dict[str, Stage]:
    """A bi-encoder, a hybrid and a cross-encoder, as far as their models have been fetched."""
    from rankwell.core import Progress
    from rankwell.dense import embed
    from rankwell.encode import fetched_models, load_text_encoder
    from rankwell.rank import BM25, Dense, Hybrid
    from rankwell.rerank import CrossEncoder

    found: dict[str, Stage] = {}
    here = fetched_models()
    if BI_ENCODER in here:
        started = time.perf_counter()
        with Progress(f"encoding by {BI_ENCODER}", unit="documents", total=len(index)) as progress:
            embed(index, load_text_encoder(BI_ENCODER), graph=False, progress=progress)
        print(f"Encoded {len(index):,} documents with {BI_ENCODER} in {time.perf_counter() - started:.0f} s.\n")
        found["bi-encoder"] = dense = Dense(index, k=100)
        found["BM25 + bi-encoder"] = Hybrid((BM25(index, k=100), dense))
    if CROSS_ENCODER in here:
        first = found.get("BM25 + bi-encoder", BM25(index, k=100))
        found["BM25 + BERT"] = BM25(index, k=100) >> CrossEncoder(CROSS_ENCODER, k=DEPTH)
        if BI_ENCODER in here:
            found["both + BERT"] = first >> CrossEncoder(CROSS_ENCODER, k=DEPTH)
    for name in {BI_ENCODER, CROSS_ENCODER} - set(here):
        print(f"note: no {name} here, so no row for it: rankwell models add {name}")
    return found
