"""`rankwell finetune | adapt`: from a collection to a trained search, with labels or without."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from rankwell.cli import options
from rankwell.collections import ColumnChoice, open_collection, read_any_qrels, read_any_queries
from rankwell.core import Judgments, Queries, RankwellError
from rankwell.evaluation import Comparison
from rankwell.index import Index
from rankwell.report.comparison import comparison_page, comparison_table
from rankwell.training import adapt as adapting
from rankwell.training import finetune as finetuning
from rankwell.training.recipe import RecipeFolder, index_of

Out = Annotated[Path, Option("--out", "-o", help="Folder for models and report; run again to go on.", readable=False)]
TRAIN = "train"
REPORT = "report.html"


@options.declared
def finetune(
    source: options.Source,
    out: Out,
    settings: finetuning.FinetuneSettings,
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    test: Annotated[
        str | None, Option("--test", help="Split to test the finished search on; it is looked at once.")
    ] = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Fine-tune a search on judged queries: vectors, their weight and a re-ranker, compared with the untrained ones.

    SOURCE is a collection or an index. Judgments are the split `train` of the collection, a file in any format, or the
    file of thumbs of `rankwell serve`.
    """
    asked, judged = _judged(source, queries, qrels, split)
    tested = None if test is None else (read_any_queries(source, test), read_any_qrels(source, test))
    with _resumable("finetune"):
        index = _index(source, out, fields, id_column, encoding=encoding, skip_bad=skip_bad, quiet=quiet)
        result = finetuning.finetune(index, asked, judged, out, settings=settings, test=tested, quiet=quiet)
    for name, budget in result.read.items():
        options.tell(f"{name}: {budget}")
    _show(result.held_out, "held-out queries, which chose steps and weights")
    if result.test is not None:
        _show(result.test, f"queries of {test}")
    _finish(result, result.test or result.held_out)


@options.declared
def adapt(
    source: options.Source,
    out: Out,
    settings: adapting.AdaptSettings,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Adapt a bi-encoder to documents without any label: queries are made from them, a teacher scores candidates.

    SOURCE is a collection or an index. Held-out queries, judged by the teacher, decide whether the adapted vectors are
    better; if not, the old ones stay.
    """
    with _resumable("adapt"):
        index = _index(source, out, fields, id_column, encoding=encoding, skip_bad=skip_bad, quiet=quiet)
        result = adapting.adapt(index, out, settings=settings, quiet=quiet)
    options.tell(str(result.read))
    _show(result.held_out, "held-out queries made from documents, judged by the teacher")
    if not result.better:
        options.tell("the adapted vectors are not clearly better on these queries: the untrained ones stay")
    _finish(result, result.held_out)


def _index(source: str, out: Path, fields: str | None, id_column: str | None, **how: Any) -> Index:
    """The index that the recipe works on."""
    choice = ColumnChoice.parse(id_column, fields, None)
    with options.reading(f"reading {source}", "documents", **how) as reading:
        return index_of(source, RecipeFolder(out), reading, choice)


def _judged(source: str, queries: Path | None, qrels: Path | None, split: str | None) -> tuple[Queries, Judgments]:
    """The queries and judgments to train on; test queries are never taken unless they are named."""
    if qrels is not None and queries is None and (thumbs := _thumbs(qrels)) is not None:
        return thumbs
    if qrels is None and split is None:
        names = open_collection(source).splits
        if TRAIN not in names:
            expected = "judgments to train on: the split train, one named with --split, or a file (--qrels, --queries)"
            raise RankwellError(f"{source}: expected {expected}, found {', '.join(names) or 'none'}")
        split = TRAIN
    return read_any_queries(str(queries or source), split), read_any_qrels(str(qrels or source), split)


def _thumbs(path: Path) -> tuple[Queries, Judgments] | None:
    """Queries and grades of the search page's file; None for another file."""
    from rankwell.apps.search.judgments import JudgmentsFile

    try:
        with path.open("rb") as file:
            if b'"docno"' not in file.readline():
                return None
        with contextlib.closing(JudgmentsFile(path)) as thumbs:
            return thumbs.queries(), thumbs.qrels()
    except OSError as error:
        raise RankwellError(f"{path}: cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def _resumable(command: str) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except BaseException as end:
        if not isinstance(end, Exception):
            end.add_note(f"go on with the same rankwell {command} command")
        raise


def _show(compared: Comparison, what: str) -> None:
    print(f"{compared.queries} {what}")
    options.show("table", comparison_table(compared))
    print()


def _finish(result: finetuning.Finetuned | adapting.Adapted, compared: Comparison) -> None:
    """Write the page, and say how to use the search."""
    options.write_page(result.folder / REPORT, comparison_page(compared, command=options.this_command()))
    print(f'rankwell search {shlex.quote(str(result.index))} "..." --pipeline {shlex.quote(str(result.pipeline))}')
