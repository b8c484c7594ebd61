"""`rankwell rerank`: the top of a run, re-ordered by a model that reads query and document together."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import completing, options
from rankwell.collections import read_any_queries, read_run, write_run
from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.core.parameters import chosen, like
from rankwell.index import open_index
from rankwell.models.explanation import Interpolate
from rankwell.models.families import reranker
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import PROBABILITY, Reranker, RerankSettings
from rankwell.pipelines import RerankOptions

if TYPE_CHECKING:
    from rankwell.core import Document, Judgments, Run, Stage
    from rankwell.models.reranking.scores import Tally


@dataclass(frozen=True)
class RerankCommand:
    """The options of `rankwell rerank` that are a re-ranker's own."""

    k: int | None = like(RerankSettings, "k")
    document: str | None = like(RerankSettings, "document")
    query_field: str | None = like(RerankSettings, "query_field")
    passages: str | None = like(RerankSettings, "passages")
    aggregate: str | None = like(RerankSettings, "aggregate")
    aggregate_as: str | None = like(RerankSettings, "aggregate_as")
    max_tokens: int | None = like(RerankSettings, "max_tokens")
    query_tokens: int | None = like(RerankSettings, "query_tokens")
    precision: str | None = like(RerankSettings, "precision")
    relevant: str | None = like(RerankSettings, "relevant")
    interpolate: float | None = like(RerankOptions, "interpolate")


@options.declared
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
    how: RerankCommand,
    index: Annotated[str | None, typer.Option(help="The index with the documents.")] = None,
    documents: Annotated[str | None, typer.Option(help="A collection with the documents, instead of an index.")] = None,
    split: options.Split = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Write probabilities, not logits.")] = False,
    skip_missing: Annotated[
        bool,
        typer.Option(
            "--skip-missing", help="Place documents that are not found below the others, instead of stopping."
        ),
    ] = False,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Do not read or write kept scores.")] = False,
    tag: Annotated[str | None, typer.Option(help="Run tag (default: the model's name).")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Re-rank the top of a run with a model that reads query and document. Scores are kept: a second time is quick."""
    if (index is None) == (documents is None):
        found = "neither" if index is None else "both"
        raise ParameterError("documents", expected="one of --index and --documents", found=found)
    passages = None if how.passages is None else Passages.parse(how.passages)
    settings = RerankSettings(
        **{**chosen(how, RerankSettings), "relevant": known_relevant(how.relevant), "passages": passages},
        scores=PROBABILITY if probabilities else None,
        missing="below" if skip_missing else "error",
        index=None if index is None else open_index(index),
        cache=not no_cache,
        threads=threads,
        quiet=quiet,
    )
    again = reranker(model, settings)
    top: Stage = again if on is None else _on(on, threads, again)
    stage: Stage = top if how.interpolate is None else Interpolate(top, how.interpolate)
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
    from rankwell.ray import RerankOn, worker_address

    return RerankOn(reranker, worker_address(on, threads))


def _with_documents(run: Run, reranker: Reranker, collection: str, *, quiet: bool) -> Run:
    """The run with the texts of those documents that will be read."""
    from rankwell.cli.options import reading
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


LONGEST = 250  # characters of a file's name
FEWEST = 3  # words of a text: less is the name of a file that is not there


def known_relevant(told: Judgments | str | None) -> Judgments | str | None:
    """The judgments of a file, or the text itself."""
    from rankwell.collections import read_any_qrels

    if not isinstance(told, str):
        return told
    if len(told) <= LONGEST and Path(told).exists():
        return read_any_qrels(told)
    if len(told.split()) < FEWEST:
        raise ParameterError("--relevant", expected="a file of judgments, or the text of an abstract", found=told)
    return told


def example_text(told: Judgments | str | None) -> str | None:
    """The text itself, for words that no judgments are about."""
    found = known_relevant(told)
    if found is not None and not isinstance(found, str):
        raise ParameterError(
            "--relevant", expected="the text of a relevant abstract", found=Phrase(f"judgments in {told}")
        )
    return found
