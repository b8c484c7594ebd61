"""`rankwell demo`: the main job on the bundled collection, which every machine with a Python has."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

SHOWN = 3  # documents and queries to show
WIDTH = 100


def demo(
    out: Annotated[Path, typer.Option(help="The folder for the page with the pictures.")] = Path("demo"),
) -> None:
    """Show what Rankwell does with a collection that every Python has: its own documentation."""
    from rankwell.collections import open_collection
    from rankwell.core import atomic_write
    from rankwell.encode import TokenCounter, default_tokenizer
    from rankwell.report import collection_statistics

    started = time.perf_counter()
    collection = open_collection("rankwell:python")
    documents = {document.id: document for document in collection.documents()}
    queries, judgments = collection.queries(), collection.judgments()
    print("rankwell:python is the documentation of Python's standard library, read from this interpreter,")
    print(f"with {len(queries)} queries and {judgments.count:,} graded judgments that come with Rankwell.\n")

    for document in list(documents.values())[:: len(documents) // SHOWN][:SHOWN]:
        print(f"  {document.id}"[:WIDTH])
        print(f"      {document.fields['docstring'].splitlines()[0]}"[:WIDTH])
    print("\nQueries as people type them, and what they should find (3 is exactly the answer):\n")
    for qid, query in list(queries.items())[:SHOWN]:
        best = sorted(judgments[qid].items(), key=lambda pair: -pair[1])[: SHOWN + 1]
        print(f"  {query.text()}")
        print("      " + "   ".join(f"{grade} {docno}" for docno, grade in best))

    model = default_tokenizer()
    counter = TokenCounter(model) if model else None
    statistics = collection_statistics(documents.values(), queries, judgments, count_tokens=counter)
    print("\nrankwell stats rankwell:python\n")
    print("\n\n".join(table.render("table") for table in statistics.tables()))
    with atomic_write(out / "statistics.html") as file:
        file.write(statistics.page("rankwell:python", "rankwell stats rankwell:python").html().encode())
    print(f"\nThe same with pictures: {out / 'statistics.html'} ({time.perf_counter() - started:.1f} s in all)")
    print("Now with your own documents: rankwell stats YOURS.csv")
