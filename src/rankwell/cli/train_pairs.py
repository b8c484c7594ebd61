"""`rankwell train pairs`: pairs of query and document to train on, from judgments or from documents alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options

if TYPE_CHECKING:
    from rankwell.core import Judgments, Queries, Run
    from rankwell.train import Labelled, Pairs, Spool


def pairs(
    source: options.Source,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.", show_default=False, readable=False)],
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    run: Annotated[
        Path | None,
        typer.Option(help="The run whose top has the hard negatives; BM25's by default.", readable=False),
    ] = None,
    negatives: Annotated[
        str,
        typer.Option(help="How many for each relevant document: hard:4,random:1,judged:2; hard:all; none."),
    ] = "hard:4",
    depth: Annotated[int, typer.Option(help="How deep in the run hard negatives are looked for.")] = 40,
    least_grade: Annotated[int, typer.Option(help="The lowest grade of a relevant document.")] = 1,
    graded: Annotated[bool, typer.Option("--graded", help="Grades as labels, instead of 1 and 0.")] = False,
    document: options.Template = None,
    query_field: Annotated[str | None, typer.Option(help="Which wording of the queries: question, ...")] = None,
    passages: Annotated[
        str | None, typer.Option(help="Pairs of passages: words:overlap such as 150:50, or paragraphs.")
    ] = None,
    top_passages: Annotated[
        int | None, typer.Option(help="Only so many of a document's passages: those the --scorer likes best.")
    ] = None,
    scorer: Annotated[str | None, typer.Option(help="The model that chooses passages: a name or folder.")] = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="Also keep title and abstract apart, for rankwell train architecture.")
    ] = False,
    self_supervised: Annotated[
        bool, typer.Option("--self-supervised", help="No judgments: titles as queries, abstracts as documents.")
    ] = False,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="No judgments: queries and the top of a run, for a teacher to score.")
    ] = False,
    title: Annotated[str, typer.Option(help="The field with the titles (self-supervised).")] = "title",
    abstract: Annotated[
        str | None, typer.Option(help="The field with the abstracts; abstract, text or body by default.")
    ] = None,
    false_pairs: Annotated[float, typer.Option(help="The share of false pairs (self-supervised).")] = 0.6,
    title_title: Annotated[float, typer.Option(help="The share of title-title pairs.")] = 0.1,
    swapped: Annotated[float, typer.Option(help="The share of abstract-title pairs.")] = 0.1,
    perturb: Annotated[str, typer.Option(help="all, none, or some of short,stopwords=0.4,shuffle.")] = "all",
    per_document: Annotated[int, typer.Option(help="Pairs a document (self-supervised).")] = 1,
    limit: Annotated[int | None, typer.Option(help="At most so many pairs (self-supervised).")] = None,
    seed: Annotated[int, typer.Option(help="The seed of everything that is drawn.")] = 0,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Make pairs to train on: from judgments with hard and random negatives, or without any judgments."""
    from rankwell.cli.session import reading
    from rankwell.collections import ColumnChoice, open_collection
    from rankwell.core import Progress
    from rankwell.rerank import Passages, load_scorer
    from rankwell.train import (
        Labelled,
        Negatives,
        SelfSupervised,
        Sources,
        Spool,
        Unlabelled,
        check_new_folder,
        room_beside,
        write_labelled,
        write_self_supervised,
        write_unlabelled,
    )
    from rankwell.train.perturbations import parse_perturbations

    check_new_folder(out)
    alone = SelfSupervised(
        title=title,
        abstract=abstract,
        false_pairs=false_pairs,
        title_title=title_title,
        swapped=swapped,
        perturbations=parse_perturbations(perturb),
        per_document=per_document,
        seed=seed,
    )
    judged = Labelled(
        negatives=Negatives.parse(negatives, depth),
        document=document,
        passages=None if passages is None else Passages.parse(passages),
        top=top_passages,
        scorer=None if scorer is None else load_scorer(scorer),
        least=least_grade,
        graded=graded,
        query_field=query_field,
        parts=parts,
        seed=seed,
    )
    open_ended = Unlabelled(
        documents=judged.negatives if unlabelled else Negatives(),
        document=document,
        passages=judged.passages,
        query_field=query_field,
        seed=seed,
    )
    collection, choice = open_collection(source, format), ColumnChoice.parse(id_column, fields, None)
    asked = None if self_supervised else _asked(source, queries, qrels, split, judged=not unlabelled)
    with reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        spool = Spool(how.progress.track(collection.documents(how, choice)), room_beside(out))
    with spool, Progress("making pairs", unit="pairs", quiet=quiet) as progress:
        if asked is None:
            made = write_self_supervised(out, spool, alone, source=source, limit=limit, progress=progress)
        else:
            wanted, judgments = asked
            ranking = _ranking(judged, spool, wanted, run, out)
            origin = {"collection": source, "split": split, "qrels": str(qrels or ""), "queries": str(queries or "")}
            if judgments is None:
                made = write_unlabelled(out, spool, wanted, ranking, open_ended, source=origin, progress=progress)
            else:
                sources = Sources(spool, wanted, judgments, ranking)
                made = write_labelled(out, sources, judged, source=origin, progress=progress)
    _tell(made, quiet=quiet)


def _asked(
    source: str, queries: Path | None, qrels: Path | None, split: str | None, *, judged: bool
) -> tuple[Queries, Judgments | None]:
    """Queries and, where they are wanted, judgments, from files of their own or from the collection."""
    from rankwell.collections import read_any_qrels, read_any_queries

    if not judged:
        return read_any_queries(str(queries or source), split), None
    judgments = read_any_qrels(str(qrels or source), split)
    return read_any_queries(str(queries or source), split).only(judgments), judgments


def _ranking(settings: Labelled, spool: Spool, queries: Queries, run: Path | None, out: Path) -> Run | None:
    """The run that hard negatives come from: the user's, or BM25's."""
    from rankwell.collections import read_run
    from rankwell.train import bm25_run, room_beside

    if run is not None:
        return read_run(run)
    if "hard" not in settings.negatives.kinds:
        return None
    return bm25_run(spool.values(), queries, settings.negatives.depth, settings.query_field, room_beside(out))


def _tell(made: Pairs, *, quiet: bool) -> None:
    counts = made.record["counts"]
    for reason, count in made.record["made"]["left_out"].items():
        print(f"note: {count:,} {reason}", file=sys.stderr)
    kinds = f"({counts['positive']:,} positive, {counts['negative']:,} negative)"
    if made.record["made"]["kind"] == "unlabelled":
        kinds = "without labels"
    if not quiet:
        print(
            f"{made.folder}: {counts['pairs']:,} pairs {kinds} of {counts['queries']:,} queries and "
            f"{counts['documents']:,} documents; look at {made.folder / 'sample.txt'}",
            file=sys.stderr,
        )
