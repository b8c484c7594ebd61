"""`rankwell search | rank`: one query answered on the terminal, or many as a run."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from rankwell.cli import options
from rankwell.cli.rerank import example_text, known_relevant
from rankwell.collections import read_any_queries, write_run
from rankwell.core.parameters import parameters
from rankwell.index import open_index
from rankwell.pipelines import Explained, RankerOptions, RerankOptions
from rankwell.pipelines.options import ShownOptions
from rankwell.report.table import one_line
from rankwell.retrieve import BM25, parse_match

if TYPE_CHECKING:
    from rankwell.core import Queries, Run
    from rankwell.index import SearchIndex
    from rankwell.models.explanation import StageRank
    from rankwell.pipelines import Explanation
    from rankwell.retrieve import TermPart


QUERY_FIELD = parameters(BM25)["query_field"]
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


@options.declared
def search(
    folder: options.IndexAddress,
    first: ShownOptions,
    second: RerankOptions,
    words: Annotated[str, typer.Argument(help="What to look for; plain text, never parsed.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show why each document stands where it does.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Search an index: by words, by embeddings or both, and let a cross-encoder re-rank the top."""
    index = open_index(folder)
    again = None
    if second.rerank is not None:
        again = replace(second, quiet=True, relevant=example_text(second.relevant))
    found = Explained(index, replace(first, k=second.deep(first.k), threads=1), again, words)
    asked = parse_match(first.match).words(words)
    marks = (BOLD, PLAIN) if sys.stdout.isatty() else ("[", "]")
    rows = []
    for rank, (docno, score) in enumerate(found.ranking(first.k), 1):
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
    title = one_line(str(row["title"]))
    print(f"{row['rank']:>3}. {one_line(str(row['id']))}  {row['score']:.4f}" + (f"  {title}" if title else ""))
    if passage.strip():
        print(f"     {' '.join(passage.split())}")
    for line in explanation_lines(why) if why else ():
        print(f"       {line}")


def explanation_lines(why: Explanation) -> list[str]:
    """The terms, the places after each stage, and the best of the passages that a model read."""
    lines = [_term(part) for part in why.terms]
    if len(why.places) > 1:
        lines.append(" -> ".join(_place(place) for place in why.places))
    if why.read is not None and why.read.best is not None:
        best, count = why.read.best, len(why.read.passages)
        of = f"best of {count} passages" if count > 1 else "read"
        lines.append(f"{of}, {best.probability:.3f}: {one_line(best.text)[:200]}")
    return lines


def _term(part: TermPart) -> str:
    field = f" in {part.field}" if part.field else ""
    about = f"{part.frequency}x, in {part.documents:,} documents, idf {part.idf:.3f}"
    return f"{part.part:.4f}  {part.term}{field} ({about})"


def _place(place: StageRank) -> str:
    if place.rank is None:
        return f"{place.stage}: not found"
    return f"{place.stage}: {place.rank}. ({place.score:.4f})"


@options.declared
def rank(
    folder: options.IndexAddress,
    queries: Annotated[
        str, typer.Argument(help="Queries in any format, or a collection that has some.", show_default=False)
    ],
    out: options.RunOut,
    first: RankerOptions,
    second: RerankOptions,
    query_field: Annotated[str | None, typer.Option(help=QUERY_FIELD.help)] = QUERY_FIELD.default,
    split: options.Split = None,
    tag: Annotated[str | None, typer.Option(help="Run tag (default: the name of the ranker).")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank documents for many queries and write a TREC run."""
    again = None
    if second.rerank is not None:
        relevant = known_relevant(second.relevant)
        again = replace(second, query_field=query_field, threads=threads, quiet=quiet, relevant=relevant)
    chosen = replace(first, k=second.deep(first.k), query_field=query_field, threads=threads)
    asked, index = read_any_queries(queries, split), open_index(folder)
    started = time.perf_counter()
    if on is None:
        stage = chosen.ranker(index, asked.texts(query_field))
        run = (stage if again is None else (stage >> again.stage(index)).top(first.k))(asked)
    else:
        run = _on(on, index, (chosen, again, first.k, str(folder)), asked, quiet=quiet)
    seconds = time.perf_counter() - started
    write_run(out, replace(run, tag=tag or (run.tag if again else chosen.name)), "trec")
    if not quiet:
        speed = f"{len(asked) / max(seconds, 1e-9):,.0f} queries a second"
        print(f"{out}: {len(asked):,} queries, {len(run):,} documents, {speed}", file=sys.stderr)


def _on(
    on: str,
    index: SearchIndex,
    stages: tuple[RankerOptions, RerankOptions | None, int, str],
    queries: Queries,
    *,
    quiet: bool,
) -> Run:
    """The same with the work done by others."""
    from rankwell.core import Progress
    from rankwell.ray import RankTask, rank_on, worker_address

    task = RankTask.of(index, *stages)
    with Progress("ranking", unit="queries", total=len(queries), quiet=quiet) as progress:
        return rank_on(worker_address(on, stages[0].threads), task, queries, progress)
