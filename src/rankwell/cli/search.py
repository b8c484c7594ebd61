"""`rankwell search`: one query, answered on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from rankwell.cli import options

if TYPE_CHECKING:
    from rankwell.pipelines import Explanation

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def search(
    folder: options.IndexAddress,
    words: Annotated[str, typer.Argument(help="What to look for; plain text, never parsed.")] = "",
    k: Annotated[int, typer.Option("-k", help="How many documents.")] = 10,
    match: options.MatchOption = "or",
    filter: options.FilterOption = None,
    k1: options.K1 = 1.2,
    b: options.B = 0.75,
    idf: options.IdfOption = "lucene",
    weights: options.Weights = None,
    rm3: options.Rm3 = False,
    rm3_settings: options.Rm3Settings = "10,10,0.5",
    dense: options.Dense = False,
    hybrid: options.Hybrid = False,
    vectors: options.Vectors = None,
    hnsw: options.Hnsw = False,
    variants: options.Variants = 0,
    rerank: options.Rerank = None,
    depth: options.Depth = None,
    document: options.Template = None,
    passages: options.Passages = None,
    aggregate: options.Aggregate = None,
    interpolate: options.Interpolate = None,
    precision: options.Precision = None,
    relevant: Annotated[
        str | None, typer.Option(help="For models that read an example: the text of a relevant abstract.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each document stands where it does.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Search an index: by words, by embeddings or both, and let a cross-encoder re-rank the top."""
    from rankwell.cli.known_relevant import example_text
    from rankwell.clickhouse import open_index
    from rankwell.match import parse_match
    from rankwell.pipelines import Explained, RankerOptions, RerankOptions
    from rankwell.report.cells import one_line

    index = open_index(folder)
    again = None
    if rerank is not None:
        how = (depth, document, passages, aggregate, interpolate, precision)
        again = RerankOptions(rerank, *how, quiet=True, relevant=example_text(relevant))
    deep = k if again is None else again.deep(k)
    chosen = RankerOptions(
        deep, match, filter, k1, b, idf, weights, rm3, rm3_settings, None, 1, dense, hybrid, vectors, hnsw, variants
    )
    found = Explained(index, chosen, again, words)
    asked = parse_match(match).words(words)
    marks = (BOLD, PLAIN) if sys.stdout.isatty() else ("[", "]")
    rows = []
    for rank, (docno, score) in enumerate(found.ranking(k), 1):
        stored = index.documents[docno]
        snippet = index.snippet(docno, asked, fields=[name for name in index.fields if name != "title"])
        row = {"rank": rank, "id": docno, "score": score, "title": stored.fields.get("title", "")}
        row |= {"snippet": snippet.text, "highlights": snippet.highlights, "metadata": dict(stored.metadata)}
        why = found.why(docno, asked) if explain else None
        if why is not None:
            row |= why.for_json()
        rows.append(row)
        if not as_json:
            _print(row, snippet.marked(*marks, shown=one_line), why)
    if as_json:
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    elif not rows:
        print("nothing found", file=sys.stderr)


def _print(row: dict[str, Any], passage: str, why: Explanation | None) -> None:
    from rankwell.cli.explaining import explanation_lines
    from rankwell.report.cells import one_line

    title = one_line(str(row["title"]))
    print(f"{row['rank']:>3}. {one_line(str(row['id']))}  {row['score']:.4f}" + (f"  {title}" if title else ""))
    if passage.strip():
        print(f"     {' '.join(passage.split())}")
    for line in explanation_lines(why) if why else ():
        print(f"       {line}")
