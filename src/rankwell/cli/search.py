"""`rankwell search`: one query, answered on the terminal."""

from __future__ import annotations

import sys
from typing import Annotated

import orjson
import typer

from rankwell.cli import options

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def search(
    folder: options.IndexFolder,
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
    explain: Annotated[bool, typer.Option("--explain", help="Show what each term adds to a score.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Search an index with BM25."""
    from rankwell.cli.rankers import RankerOptions
    from rankwell.index import Index
    from rankwell.match import parse_match
    from rankwell.rank import explain_score
    from rankwell.report.cells import one_line

    index = Index.open(folder)
    chosen = RankerOptions(k, match, filter, k1, b, idf, weights, rm3, rm3_settings, threads=1)
    found = chosen.ranker(index)(words)["1"]
    asked = parse_match(match).words(words)
    marks = (BOLD, PLAIN) if sys.stdout.isatty() else ("[", "]")
    rows = []
    for rank, (docno, score) in enumerate(found, 1):
        document = index.documents[docno]
        snippet = index.snippet(docno, asked, fields=[name for name in index.fields if name != "title"])
        row = {"rank": rank, "id": docno, "score": score, "title": document.fields.get("title", "")}
        row |= {"snippet": snippet.text, "highlights": snippet.highlights, "metadata": dict(document.metadata)}
        if explain:
            row["terms"] = [vars(part) for part in explain_score(chosen.bm25(index), asked, docno)]
        rows.append(row)
        if not as_json:
            _print(row, snippet.marked(*marks, shown=one_line))
    if as_json:
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    elif not rows:
        print("nothing found", file=sys.stderr)


def _print(row: dict[str, object], passage: str) -> None:
    from rankwell.report.cells import one_line

    title = one_line(str(row["title"]))
    print(f"{row['rank']:>3}. {one_line(str(row['id']))}  {row['score']:.4f}" + (f"  {title}" if title else ""))
    if passage.strip():
        print(f"     {' '.join(passage.split())}")
    for part in row.get("terms", ()):  # type: ignore[attr-defined]  # a list where it is there
        field = f" in {part['field']}" if part["field"] else ""
        about = f"{part['frequency']}x, in {part['documents']:,} documents, idf {part['idf']:.3f}"
        print(f"       {part['part']:.4f}  {part['term']}{field} ({about})")
