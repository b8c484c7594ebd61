"""`rankwell train vocabulary`: a model that knows a collection's frequent words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options
from rankwell.cli.session import reading

if TYPE_CHECKING:
    from rankwell.report import Table
    from rankwell.train.vocabulary_extension import VocabularyExtension

SHOWN = 10  # words


def vocabulary(
    source: options.Source,
    model: Annotated[str, typer.Option("--model", help="A model with a WordPiece vocabulary.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The new model's folder.", show_default=False, readable=False)
    ],
    words: Annotated[int, typer.Option(help="How many words to add.")] = 1000,
    at_least: Annotated[int, typer.Option(help="Only words that occur so often.")] = 2,
    held_out: Annotated[
        float, typer.Option(help="Take no words from this share of the documents, which train mlm measures with.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Which documents those are.")] = 0,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    output: options.Output = "table",
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Add a collection's most frequent words to a model's vocabulary; each starts as the mean of its pieces."""
    from rankwell.cli.runs import show
    from rankwell.collections import ColumnChoice, open_collection
    from rankwell.train import check_new_folder
    from rankwell.train.vocabulary_extension import count_collection, extend_vocabulary

    check_new_folder(out)
    collection = open_collection(source, format)
    choice = ColumnChoice.parse(id_column, fields, None)
    with reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = how.progress.track(collection.documents(how, choice))
        found = count_collection(documents, model, held_out=held_out, seed=seed)
    made = extend_vocabulary(found, model, out, words=words, at_least=at_least)
    show(_table(made), output)
    if not quiet:
        some = ", ".join(f"{word} ({' '.join(p)})" for word, p in zip(made.words[:SHOWN], made.pieces, strict=False))
        print(f"{out}: {len(made.words):,} new words, such as {some}", file=sys.stderr)


def _table(made: VocabularyExtension) -> Table:
    from rankwell.report import Column, Table

    columns = [
        Column("field", align="left"),
        Column("texts"),
        Column("tokens before", digits=2),
        Column("tokens after", digits=2),
        Column("change", align="right"),
    ]
    rows = [
        (length.field, length.texts, length.before, length.after, f"{length.change:+.1%}") for length in made.lengths
    ]
    return Table("Mean length in tokens", columns, rows)
