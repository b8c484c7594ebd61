"""`rankwell search | rank | rerank`: answer one query or many, re-rank a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import orjson
from typer import Argument, Option

from rankwell.cli import options
from rankwell.collections import Reading, open_collection, read_any_qrels, read_any_queries, read_run, write_run
from rankwell.collections.formats.rwrun import run_format
from rankwell.collections.formats.trec_ids import check_name
from rankwell.core import Document, Judgments, ParameterError, Phrase, Progress, Run, Stage
from rankwell.core.parameters import chosen, like, parameters
from rankwell.index import open_index
from rankwell.models import explanation, families
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import PROBABILITY, Reranker, RerankSettings
from rankwell.pipelines import (
    QID,
    Explained,
    Explanation,
    RankerOptions,
    RerankOptions,
    ShownOptions,
    parse_variant,
    pipeline_of,
    read_variants,
)
from rankwell.report.table import one_line
from rankwell.retrieve import BM25, parse_match, sorting
from rankwell.retrieve.synonyms import read_synonyms

QUERY_FIELD = parameters(BM25)["query_field"]
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


@options.with_device
@options.declared
def search(
    folder: options.IndexAddress,
    first: ShownOptions,
    second: RerankOptions,
    words: Annotated[str, Argument(help="What to look for; plain text, never parsed.")] = "",
    variant: Annotated[
        list[str] | None, Option(help="Also search these words, with a weight: 'flu=0.5'; several times for more.")
    ] = None,
    pipeline: options.PipelineFile = None,  # noqa: ARG001 -- its values are among the options
    synonyms: Annotated[
        Path | None, options.path_option("File of synonyms; a line is: fever, pyrexia (or: a => b).")
    ] = None,
    sort: Annotated[str, Option(help=sorting.HELP)] = sorting.RELEVANCE,
    explain: Annotated[bool, Option("--explain", help="Show why each document stands where it does.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Search an index: by words, by embeddings or both, and let a cross-encoder re-rank the top."""
    index = open_index(folder)
    again = None
    if variant:
        first = replace(first, own_variants={QID: [parse_variant(text) for text in variant]})
    text = words
    if synonyms is not None:
        first, text = _with_synonyms(first, words, synonyms)
    if second.rerank is not None:
        again = replace(second, quiet=True, relevant=example_text(second.relevant))
    explained = Explained(index, replace(first, k=second.deep(first.k), threads=1), again, words)
    asked = parse_match(first.match).words(words)
    marks = (BOLD, PLAIN) if sys.stdout.isatty() else ("[", "]")
    rows = []
    by = sorting.parse_sort(sort)
    if by is not None and (first.dense or first.hybrid or again is not None):
        raise ParameterError("--sort", expected="a search by words, without --dense, --hybrid and --rerank", found=sort)
    ranking: Iterable[tuple[str, float]] = explained.ranking(first.k)
    if by is not None:
        ranking = sorting.sort_matches(first.bm25(index), text, by, first.k)
    for rank, (docno, score) in enumerate(ranking, 1):
        stored = index.documents[docno]
        snippet = index.snippet(docno, f"{asked} {text}", fields=[name for name in index.fields if name != "title"])
        row = {"rank": rank, "id": docno, "score": score, "title": heading(stored)}
        row |= {"snippet": snippet.text, "highlights": snippet.highlights, "metadata": dict(stored.metadata)}
        why = explained.why(docno, asked) if explain else None
        rows.append(row if why is None else row | why.for_json())
        if not as_json:
            _print(row, snippet.marked(*marks, shown=one_line), why)
    if as_json:
        print(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    elif not rows:
        options.tell("nothing found")


def _with_synonyms(first: ShownOptions, words: str, path: Path) -> tuple[ShownOptions, str]:
    """The options with the synonyms of a query, and the query's words with them."""
    if first.own_variants or first.variants or first.rm3 or first.dense:
        expected = "a search without --variant, --variants, --rm3 and --dense"
        raise ParameterError("--synonyms", expected=expected, found=path)
    match, variants, text = read_synonyms(path).expand(words, first.match)
    return replace(first, match=match, own_variants={QID: variants} if variants else None), text


def heading(document: Document) -> str:
    """The title of a document: its title, else a field that serves as one."""
    fields = document.fields
    return fields.get("title") or next(
        (fields[name] for name in ("headline", "question", "name") if name in fields), ""
    )


def _print(row: dict[str, Any], passage: str, why: Explanation | None) -> None:
    title = one_line(str(row["title"]))
    print(f"{row['rank']:>3}. {one_line(str(row['id']))}  {row['score']:.4f}" + (f"  {title}" if title else ""))
    if passage.strip():
        print(f"     {' '.join(passage.split())}")
    for line in _explanation_lines(why) if why else ():
        print(f"       {line}")


def _explanation_lines(why: Explanation) -> list[str]:
    """The terms, the places after each stage, and the best of the passages that a model read."""
    lines = []
    for part in why.terms:
        field = f" in {part.field}" if part.field else ""
        about = f"{part.frequency}x, in {part.documents:,} documents, idf {part.idf:.3f}"
        lines.append(f"{part.part:.4f}  {part.term}{field} ({about})")
    if len(why.places) > 1:
        ranks = ["not found" if place.rank is None else f"{place.rank}. ({place.score:.4f})" for place in why.places]
        lines.append(" -> ".join(f"{place.stage}: {rank}" for place, rank in zip(why.places, ranks, strict=True)))
    if why.read is not None and why.read.best is not None:
        best, count = why.read.best, len(why.read.passages)
        of = f"best of {count} passages" if count > 1 else "read"
        about = f"{best.score:.4f}, as a probability {best.probability:.2g}"
        lines.append(f"{of} ({about}): {one_line(best.text)[:200]}")
    return lines


@options.with_device
@options.declared
def rank(
    folder: options.IndexAddress,
    queries: options.Queries,
    out: options.RunOut,
    first: RankerOptions,
    second: RerankOptions,
    pipeline: options.PipelineFile = None,  # noqa: ARG001 -- its values are among the options
    query_field: Annotated[str | None, Option(help=QUERY_FIELD.help)] = QUERY_FIELD.default,
    variants_file: Annotated[
        Path | None, options.path_option("Your own variants of queries; a line is: qid TAB text TAB weight.")
    ] = None,
    split: options.Split = None,
    tag: Annotated[str | None, Option(help="Run tag (default: the name of the ranker).")] = None,
    on: options.On = None,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank documents for many queries and write a TREC run, or our own where its name ends in .rwrun."""
    again = None
    if second.rerank is not None:
        relevant = known_relevant(second.relevant)
        again = replace(second, query_field=query_field, threads=threads, quiet=quiet, relevant=relevant)
    own = None if variants_file is None else read_variants(variants_file)
    first_stage = replace(first, k=second.deep(first.k), query_field=query_field, threads=threads, own_variants=own)
    asked, index = read_any_queries(queries, split), open_index(folder)
    for qid in asked:  # now, and not after all are ranked
        check_name(qid, out)
    started = time.perf_counter()
    if on is None:
        ranker = replace(first_stage, k=first.k)
        run = pipeline_of(index, ranker, again, asked.texts(query_field))(asked)
    else:
        from rankwell.ray import RankTask, rank_on, worker_address

        task = RankTask.of(index, first_stage, again, first.k, str(folder))
        with Progress("ranking", unit="queries", total=len(asked), quiet=quiet) as progress:
            run = rank_on(worker_address(on, threads), task, asked, progress)
    seconds = time.perf_counter() - started
    write_run(out, replace(run, tag=tag or (run.tag if again else first_stage.name)), run_format(out), threads=threads)
    if not quiet:
        speed = f"{len(asked) / max(seconds, 1e-9):,.0f} queries a second"
        options.tell(f"{out}: {len(asked):,} queries, {len(run):,} documents, {speed}")


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


@options.with_device
@options.declared
def rerank(
    run: Annotated[Path, Argument(help="The run to re-rank.", readable=False)],
    queries: Annotated[str, Option(help="Queries in any format, or a collection that has some.")],
    model: Annotated[
        str, Option(help="A model's name or folder (see rankwell models list).", autocompletion=options.cross_encoders)
    ],
    out: options.RunOut,
    how: RerankCommand,
    index: Annotated[str | None, Option(help="The index with the documents.")] = None,
    documents: Annotated[str | None, Option(help="A collection with the documents, instead of an index.")] = None,
    split: options.Split = None,
    probabilities: Annotated[bool, Option("--probabilities", help="Write probabilities, not logits.")] = False,
    skip_missing: Annotated[
        bool, Option("--skip-missing", help="Place documents that are not found below the others, instead of stopping.")
    ] = False,
    no_cache: Annotated[bool, Option("--no-cache", help="Do not read or write kept scores.")] = False,
    tag: Annotated[str | None, Option(help="Run tag (default: the model's name).")] = None,
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
    again = families.reranker(model, settings)
    stage: Stage = again
    if on is not None:
        from rankwell.ray import RerankOn, worker_address

        stage = RerankOn(again, worker_address(on, threads))
    if how.interpolate is not None:
        stage = explanation.Interpolate(stage, how.interpolate)
    stage.check()
    first = replace(read_run(run, reading=Reading(threads=threads)), queries=read_any_queries(queries, split))
    if documents is not None:
        first = _with_documents(first, again, documents, quiet=quiet)
    try:
        new = stage(first)
    except BaseException as end:
        if not isinstance(end, Exception) and again.keeps_scores and not no_cache and again.tally.pairs:
            options.tell("note: the scores so far are kept: the same command goes on from there")
        raise
    write_run(out, replace(new, tag=tag or new.tag), run_format(out), threads=threads)
    if not quiet:
        options.tell(f"{out}: {len(new.qids):,} queries, {again.tally}")


def _with_documents(run: Run, reranker: Reranker, collection: str, *, quiet: bool) -> Run:
    """The run with the texts of those documents that will be read."""
    wanted = set(run.top(reranker.k).docnos.tolist()).union(*map(reranker.also_reads, run.qids))
    texts: dict[str, Document] = {}
    with options.reading("reading", "documents", quiet=quiet) as how:
        for document in open_collection(collection).documents(how):
            if document.id in wanted:
                texts.setdefault(document.id, document)
    return replace(run, documents=texts)


LONGEST = 250  # characters of a file's name
FEWEST = 3  # words of a text: less is the name of a file that is not there


def known_relevant(told: Judgments | str | None) -> Judgments | str | None:
    """The judgments of a file, or the text itself."""
    if not isinstance(told, str):
        return told
    if len(told) <= LONGEST and Path(told).exists():
        return read_any_qrels(told)
    if len(told.split()) < FEWEST:
        raise ParameterError("--relevant", expected="a file of judgments, or the text of an abstract", found=told)
    return told


def example_text(told: Judgments | str | None) -> str | None:
    """The text itself, for words that no judgments are about."""
    relevant = known_relevant(told)
    if relevant is None or isinstance(relevant, str):
        return relevant
    raise ParameterError("--relevant", expected="the text of a relevant abstract", found=Phrase(f"judgments in {told}"))
