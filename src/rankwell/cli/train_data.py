"""`rankwell train pairs | vocabulary`: make training data, and extend a model's vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from rankwell import training
from rankwell.cli import options
from rankwell.cli.runs import show
from rankwell.collections import ColumnChoice, open_collection, read_any_qrels, read_any_queries, read_run
from rankwell.core import Judgments, Progress, Queries, Run
from rankwell.models.language_model.settings import VocabularySettings
from rankwell.models.language_model.vocabulary import VocabularyExtension, count_collection, extend_vocabulary
from rankwell.models.learning.folders import check_new_folder, room_beside
from rankwell.models.learning.pairs import Pairs
from rankwell.report import Column, Table
from rankwell.training import Labelled, PairOptions, Sources, Spool


@options.declared
def pairs(
    source: options.Source,
    out: Annotated[Path, Option("--out", "-o", help="The folder to write.", readable=False)],
    wanted: PairOptions,
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    run: Annotated[Path | None, Option(help="Run to mine hard negatives from (default: BM25).", readable=False)] = None,
    self_supervised: Annotated[
        bool, Option("--self-supervised", help="No judgments: titles as queries, abstracts as documents.")
    ] = False,
    unlabelled: Annotated[
        bool, Option("--unlabelled", help="No judgments: queries and the top of a run, for a teacher to score.")
    ] = False,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Make pairs to train on: from judgments with hard and random negatives, or without any judgments."""
    check_new_folder(out)
    alone, judged = wanted.self_supervised(), wanted.labelled()
    open_ended = wanted.unlabelled() if unlabelled else None
    collection, choice = open_collection(source, format), ColumnChoice.parse(id_column, fields, None)
    asked = None if self_supervised else _asked(source, queries, qrels, split, judged=not unlabelled)
    with options.reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        spool = Spool(how.progress.track(collection.documents(how, choice)), room_beside(out))
    with spool, Progress("making pairs", unit="pairs", quiet=quiet) as progress:
        if asked is None:
            made = training.write_self_supervised(
                out, spool, alone, source=source, limit=wanted.limit, progress=progress
            )
        else:
            texts, judgments = asked
            ranking = _ranking(judged, spool, texts, run, out)
            origin = {"collection": source, "split": split, "qrels": str(qrels or ""), "queries": str(queries or "")}
            if open_ended is not None:
                made = training.write_unlabelled(
                    out, spool, texts, ranking, open_ended, source=origin, progress=progress
                )
            else:
                sources = Sources(spool, texts, judgments, ranking)
                made = training.write_labelled(out, sources, judged, source=origin, progress=progress)
    _tell(made, quiet=quiet)


def _asked(
    source: str, queries: Path | None, qrels: Path | None, split: str | None, *, judged: bool
) -> tuple[Queries, Judgments]:
    """Queries and, where they are wanted, judgments, from files of their own or from the collection."""
    if not judged:
        return read_any_queries(str(queries or source), split), Judgments()
    judgments = read_any_qrels(str(qrels or source), split)
    return read_any_queries(str(queries or source), split).only(judgments), judgments


def _ranking(settings: Labelled, spool: Spool, queries: Queries, run: Path | None, out: Path) -> Run | None:
    """The run that hard negatives come from: the user's, or BM25's."""
    if run is not None:
        return read_run(run)
    if "hard" not in settings.negatives.kinds:
        return None
    return training.bm25_run(spool.values(), queries, settings.negatives.depth, settings.query_field, room_beside(out))


def _tell(made: Pairs, *, quiet: bool) -> None:
    counts = made.record["counts"]
    for reason, count in made.record["made"]["left_out"].items():
        options.tell(f"note: {count:,} {reason}")
    kinds = f"({counts['positive']:,} positive, {counts['negative']:,} negative)"
    if made.record["made"]["kind"] == "unlabelled":
        kinds = "without labels"
    if not quiet:
        options.tell(
            f"{made.folder}: {counts['pairs']:,} pairs {kinds} of {counts['queries']:,} queries and "
            f"{counts['documents']:,} documents; look at {made.folder / 'sample.txt'}"
        )


SHOWN = 10  # words


@options.declared
def vocabulary(
    source: options.Source,
    model: Annotated[str, Option("--model", help="A model with a WordPiece vocabulary.")],
    out: Annotated[Path, Option("--out", "-o", help="The new model's folder.", readable=False)],
    wanted: VocabularySettings,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    output: options.Output = "table",
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Add a collection's most frequent words to a model's vocabulary; each starts as the mean of its pieces."""
    check_new_folder(out)
    collection = open_collection(source, format)
    choice = ColumnChoice.parse(id_column, fields, None)
    with options.reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = how.progress.track(collection.documents(how, choice))
        found = count_collection(documents, model, held_out=wanted.held_out, seed=wanted.seed)
    made = extend_vocabulary(found, model, out, words=wanted.words, at_least=wanted.at_least)
    show(output, _table(made))
    if not quiet:
        some = ", ".join(f"{word} ({' '.join(p)})" for word, p in zip(made.words[:SHOWN], made.pieces, strict=False))
        options.tell(f"{out}: {len(made.words):,} new words, such as {some}")


def _table(made: VocabularyExtension) -> Table:

    columns = [Column("field", "left"), Column("texts"), Column("tokens before", digits=2)]
    columns += [Column("tokens after", digits=2), Column("change")]
    rows = [
        (length.field, length.texts, length.before, length.after, f"{length.change:+.1%}") for length in made.lengths
    ]
    return Table("Mean length in tokens", columns, rows)
