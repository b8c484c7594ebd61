"""`rankwell rerank`: the top of a run, re-ordered by a model that reads query and document together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import completing, options

if TYPE_CHECKING:
    from rankwell.core import Document, Run, Stage
    from rankwell.rerank import Reranker, Tally


def rerank(
    run: Annotated[Path, typer.Argument(help="The run to re-rank.", show_default=False, readable=False)],
    queries: Annotated[
        str, typer.Option(help="Queries in any format, or a collection that has some.", show_default=False)
    ],
    model: Annotated[
        str,
        typer.Option(
            help="A model's name or folder (see rankwell models list).",
            show_default=False,
            autocompletion=completing.cross_encoders,
        ),
    ],
    out: options.RunOut,
    index: Annotated[str | None, typer.Option(help="The index with the documents: a folder, or in ClickHouse.")] = None,
    documents: Annotated[str | None, typer.Option(help="A collection with the documents, instead of an index.")] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help="How many documents a query; the others stay below. 100 by default, 20 by a model that compares them.",
        ),
    ] = None,
    document: Annotated[
        str | None, typer.Option(help="The document's text: '{title} {abstract}'; all fields by default.")
    ] = None,
    query_field: Annotated[
        str | None, typer.Option(help="Which wording of the queries: question, narrative, ...")
    ] = None,
    split: options.Split = None,
    passages: Annotated[
        str | None, typer.Option(help="Score passages: words:overlap such as 150:50, or paragraphs.")
    ] = None,
    aggregate: options.Aggregate = None,
    aggregate_as: Annotated[
        str | None, typer.Option(help="Aggregate passages as probability (the default) or logit.")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Write probabilities, not logits.")] = False,
    interpolate: Annotated[
        float | None, typer.Option(help="Mix with the run: this much of the model, the rest of the run (0 to 1).")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens a pair; as many as the model takes by default.")
    ] = None,
    query_tokens: Annotated[int | None, typer.Option(help="Tokens of the query, out of these.")] = None,
    precision: Annotated[str | None, typer.Option(help="fp32 or int8; what the model has by default.")] = None,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave documents that are not found below the others.")
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither use nor keep scores.")] = False,
    tag: Annotated[str | None, typer.Option(help="The new run's name; the model's by default.")] = None,
    relevant: options.Relevant = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Re-rank the top of a run with a model that reads query and document. Scores are kept: a second time is quick."""
    from rankwell.cli.known_relevant import known_relevant
    from rankwell.clickhouse import open_index
    from rankwell.collections import read_any_queries, read_run, write_run
    from rankwell.core import ParameterError
    from rankwell.rerank import Interpolate, Passages, RerankWishes, reranker

    if (index is None) == (documents is None):
        found = "neither" if index is None else "both"
        raise ParameterError("documents", expected="one of --index and --documents", found=found)
    wishes = RerankWishes(
        k=k,
        document=document,
        query_field=query_field,
        passages=None if passages is None else Passages.parse(passages),
        aggregate=aggregate,
        aggregate_as=aggregate_as,
        scores="probability" if probabilities else None,
        max_tokens=max_tokens,
        query_tokens=query_tokens,
        precision=precision,
        relevant=known_relevant(relevant),
        missing="below" if skip_missing else "error",
        index=None if index is None else open_index(index),
        cache=not no_cache,
        threads=threads,
        quiet=quiet,
    )
    again = reranker(model, wishes)
    top: Stage = again if on is None else _on(on, threads, again)
    stage: Stage = top if interpolate is None else Interpolate(top, interpolate)
    stage.check()
    first = replace(read_run(run), queries=read_any_queries(queries, split))
    if documents is not None:
        first = _with_documents(first, again, documents, quiet=quiet)
    with _going_on(again.tally, kept=again.keeps_scores and not no_cache):
        new = stage(first)
    write_run(out, replace(new, tag=tag or new.tag), "trec")
    if not quiet:
        print(f"{out}: {len(new.qids):,} queries, {again.tally}", file=sys.stderr)


def _on(on: str, threads: int | None, reranker: Reranker) -> Stage:
    """The re-ranker with its work done by others."""
    from rankwell.scale import Address, RerankOn

    return RerankOn(reranker, Address.parse(on, threads))


def _with_documents(run: Run, reranker: Reranker, collection: str, *, quiet: bool) -> Run:
    """The run with the texts of those documents that will be read."""
    from rankwell.cli.session import reading
    from rankwell.collections import open_collection

    wanted = set(run.top(reranker.k).docnos.tolist()).union(*map(reranker.also_reads, run.qids))
    texts: dict[str, Document] = {}
    with reading("reading", "documents", quiet=quiet) as how:
        for document in open_collection(collection).documents(how):
            if document.id in wanted:
                texts.setdefault(document.id, document)
    return replace(run, documents=texts)


@contextlib.contextmanager
def _going_on(tally: Tally, *, kept: bool) -> Iterator[None]:
    """Say after Ctrl-C what was not in vain."""
    try:
        yield
    except Exception:
        raise
    except BaseException:
        if kept and tally.pairs:
            print("note: the scores so far are kept: the same command goes on from there", file=sys.stderr)
        raise
