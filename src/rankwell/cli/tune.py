"""`rankwell tune`: choose k1, b and field weights by cross-validation over queries."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import completing, options
from rankwell.cli.options import reading
from rankwell.core import ParameterError


def tune(
    folder: options.IndexFolder,
    queries: Annotated[str, typer.Argument(help="Queries in any format, or a collection that has some.")],
    qrels: Annotated[str, typer.Argument(help="Judgments in any format, or a collection that has some.")],
    measure: Annotated[
        str, typer.Option("--measure", "-m", help="Measure to optimise.", autocompletion=completing.measures)
    ] = "nDCG@10",
    k1: Annotated[str, typer.Option(help="Values to try, separated by commas.")] = "0.6,0.9,1.2,1.5,2.0",
    b: Annotated[str, typer.Option(help="Values to try, separated by commas.")] = "0.3,0.4,0.6,0.75,0.9",
    weights: Annotated[str | None, typer.Option(help="Also try weights for these fields: title,abstract.")] = None,
    steps: Annotated[int, typer.Option(help="Number of steps between weight 0 and 1.")] = 4,
    folds: Annotated[int, typer.Option(help="Number of cross-validation folds.")] = 5,
    seed: options.Seed = 0,
    k: Annotated[int, typer.Option("-k", help="Number of documents for each query.")] = 100,
    split: options.Split = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps results, so that an interrupted run can continue.")
    ] = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try a grid of BM25 parameters; the cross-validated value is what to expect on new queries."""
    from rankwell.collections import read_any_qrels, read_any_queries
    from rankwell.core import Progress
    from rankwell.index import Index
    from rankwell.pipelines import tune as tune_stage
    from rankwell.pipelines import weight_grid
    from rankwell.report.sweep import tuning_table
    from rankwell.retrieve import BM25

    grid: dict[str, list[object]] = {"k1": [*parse_numbers("--k1", k1)], "b": [*parse_numbers("--b", b)]}
    if weights:
        grid["weights"] = [*weight_grid([name.strip() for name in weights.split(",")], steps)]
    asked, judged = read_any_queries(queries, split), read_any_qrels(qrels, split)
    with Progress("tuning", unit="settings", quiet=quiet) as progress:
        stage = BM25(Index.open(folder), k=k)
        found = tune_stage(stage, grid, asked, judged, measure, folds=folds, seed=seed, cache=cache, progress=progress)
    print(tuning_table(found.rows(), str(found.measure)).render(output), end="")
    if output == "table":
        best = ", ".join(f"{name}={value}" for name, value in found.best.setting.items())
        print(f"\nbest on all queries: {best} ({found.best.value:.4f})")
        print(f"to expect on new queries ({folds}-fold cross-validation): {found.cross_validated:.4f}")


def parse_numbers(name: str, text: str) -> list[float]:
    """`0.9,1.2` as numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ParameterError(name, expected="numbers separated by commas", found=text) from error


def stats(
    source: options.Source,
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="Count tokens as this model sees them: a short name or a folder.")
    ] = None,
    limit: Annotated[int, typer.Option(help="The model's token limit.")] = 512,
    output: options.Output = "table",
    pictures: Annotated[Path | None, typer.Option(help="Write the pictures into this folder (PNG).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one page with tables and pictures.")] = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe a collection: fields, lengths, judgments, years, duplicates; as tables, pictures or a page."""
    from rankwell.collections import ColumnChoice, open_collection, read_qrels, read_queries, unique
    from rankwell.core import atomic_write
    from rankwell.models.base import TokenCounter, default_tokenizer
    from rankwell.report import collection_statistics

    collection = open_collection(source, format)
    choice = ColumnChoice.parse(id_column, fields, metadata)
    model = tokenizer or default_tokenizer()
    with reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        asked = (
            read_queries(queries, reading=how)
            if queries
            else collection.queries(split, how)
            if collection.read_queries
            else None
        )
        judged = (
            read_qrels(qrels, reading=how)
            if qrels
            else collection.judgments(split, how)
            if split or collection.splits
            else None
        )
        documents = how.progress.track(unique(collection.documents(how, choice), how, source))
        found = collection_statistics(
            documents, asked, judged, count_tokens=TokenCounter(model) if model else None, token_limit=limit
        )
    if output == "json":
        print(found.to_json(), end="")
    else:
        print("\n".join(table.render(output) for table in found.tables()), end="")
    if pictures:
        for name, picture in found.pictures().items():
            picture.save(pictures / f"{name}.png")
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        command = shlex.join(["rankwell", *sys.argv[1:]])
        with atomic_write(html) as file:
            file.write(found.page(f"{source}: collection statistics", command).html().encode())
        print(f"page: {html}", file=sys.stderr)
