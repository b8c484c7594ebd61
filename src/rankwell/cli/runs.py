"""Reading judgments and runs for the commands that measure."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rankwell.cli.options import reading
from rankwell.collections import Reading, open_collection, read_qrels, read_run
from rankwell.core import Judgments, ParameterError, Run, atomic_write
from rankwell.evaluation.evaluation import unjudged_documents, write_study
from rankwell.report import Page, Table
from rankwell.report.table import one_line

MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")


def read_judged(
    qrels: Path, runs: Sequence[Path], names: Sequence[str] | None, *, skip_bad: bool, quiet: bool
) -> tuple[Judgments, dict[str, Run]]:
    """The judgments, and the runs by the names that tables show."""
    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        judgments = _judgments(qrels, how)
        found = [read_run(path, reading=how) for path in runs]
    return judgments, dict(zip(_named(runs, names), found, strict=True))


def read_runs(runs: Sequence[Path], names: Sequence[str] | None, *, skip_bad: bool, quiet: bool) -> dict[str, Run]:
    """The runs by the names that tables show."""
    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        found = [read_run(path, reading=how) for path in runs]
    return dict(zip(_named(runs, names), found, strict=True))


def show(table: Table, output: str) -> None:
    """Print a table, which ends its last line itself."""
    print(table.render(output), end="")


def warn(sentences: Sequence[str]) -> None:
    """Say on stderr what a reader should know."""
    for sentence in sentences:
        print(f"note: {one_line(sentence)}", file=sys.stderr)


def write_page(path: Path, page: Page) -> None:
    """Write a page and say where it is."""
    with atomic_write(path) as file:
        file.write(page.html().encode())
    print(f"page: {path}", file=sys.stderr)


def write_open_documents(
    path: Path,
    judgments: Judgments,
    by_name: Mapping[str, Run],
    qrels: Path,
    runs: Sequence[Path],
    *,
    depth: int,
    queries: Path | None = None,
    collection: str | None = None,
) -> None:
    """Write the study file with what nobody judged, and say how much it is."""
    pool = unjudged_documents(judgments, by_name.values(), depth)
    write_study(path, pool, qrels=qrels, runs=runs, depth=depth, queries=queries, collection=collection)
    documents = sum(len(docnos) for docnos in pool.values())
    print(f"study: {path}: {documents:,} documents of {len(pool):,} queries to judge", file=sys.stderr)


def this_command() -> str:
    """The command as it was typed, for the foot of a page."""
    return shlex.join(["rankwell", *sys.argv[1:]])


def _named(runs: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    """The given names, else the files' names: without folder and ending as far as they still differ."""
    if names:
        if len(names) != len(runs) or len(set(names)) < len(names):
            raise ParameterError("--name", expected=f"{len(runs)} different names, one a run", found=list(names))
        return list(names)
    for shortened in (
        [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in runs],
        [path.name for path in runs],
    ):
        if len(set(shortened)) == len(runs):
            return shortened
    full = [str(path) for path in runs]
    if len(set(full)) < len(full):
        raise ParameterError("runs", expected="different files", found=full)
    return full


def _judgments(qrels: Path, how: Reading) -> Judgments:
    """Those of a file, or a collection's own (a folder, rankwell:python, irds:ID)."""
    if qrels.is_dir() or (":" in str(qrels) and not qrels.exists()):
        return open_collection(str(qrels)).judgments(reading=how)
    return read_qrels(qrels, reading=how)
