"""What the commands that measure share: reading runs and judgments, printing tables, writing pages and pictures."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rankwell.cli.options import reading, tell
from rankwell.collections import Reading, open_collection, read_qrels, read_run
from rankwell.core import Judgments, ParameterError, Run, atomic_write
from rankwell.report import Page, Table
from rankwell.report.pictures import Picture
from rankwell.report.renderers import one_line

MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")


def read_judged(
    qrels: Path, runs: Sequence[Path], names: Sequence[str] | None, *, skip_bad: bool, quiet: bool
) -> tuple[Judgments, dict[str, Run]]:
    """The judgments, and the runs by the names that tables show."""
    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        return _judgments(qrels, how), _read_runs(runs, names, how)


def read_runs(runs: Sequence[Path], names: Sequence[str] | None, *, skip_bad: bool, quiet: bool) -> dict[str, Run]:
    """The runs by the names that tables show."""
    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        return _read_runs(runs, names, how)


def _read_runs(paths: Sequence[Path], names: Sequence[str] | None, how: Reading) -> dict[str, Run]:
    runs = [read_run(path, reading=how) for path in paths]
    return dict(zip(_named(paths, names), runs, strict=True))


def show(output: str, *tables: Table) -> None:
    """Print tables in a format; each ends its last line itself."""
    print("\n".join(table.render(output) for table in tables), end="")


def warn(sentences: Iterable[str]) -> None:
    """Say on stderr what a reader should know."""
    for sentence in sentences:
        tell(f"note: {one_line(sentence)}")


def write_page(path: Path, page: Page) -> None:
    """Write a page and say where it is."""
    with atomic_write(path) as file:
        file.write(page.html().encode())
    tell(f"page: {path}")


def write_pictures(folder: Path, pictures: Mapping[str, Picture]) -> None:
    """Write pictures by their names and say where they are."""
    for name, picture in pictures.items():
        picture.save(folder / f"{name}.png")
    tell(f"pictures: {folder}")


def parse_numbers(name: str, text: str, expected: str = "numbers separated by commas") -> list[float]:
    """`0.9,1.2` as numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ParameterError(name, expected=expected, found=text) from error


def this_command() -> str:
    """The command as it was typed, for the foot of a page."""
    return shlex.join(["rankwell", *sys.argv[1:]])


def _named(runs: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    """The given names, else the files' names: without folder and ending as far as they still differ."""
    if names:
        if len(names) != len(runs) or len(set(names)) < len(names):
            raise ParameterError("--name", expected=f"{len(runs)} different names, one a run", found=list(names))
        return list(names)
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in runs]
    full = [str(path) for path in runs]
    for shortened in (stems, [path.name for path in runs], full):
        if len(set(shortened)) == len(runs):
            return shortened
    raise ParameterError("runs", expected="different files", found=full)


def _judgments(qrels: Path, how: Reading) -> Judgments:
    """Those of a file, or a collection's own (a folder, rankwell:python, irds:ID)."""
    if qrels.is_dir() or (":" in str(qrels) and not qrels.exists()):
        return open_collection(str(qrels)).judgments(reading=how)
    return read_qrels(qrels, reading=how)
