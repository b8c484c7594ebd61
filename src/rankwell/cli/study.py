"""`rankwell study`: whole experiments from one file each."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import completing, options
from rankwell.core import ParameterError, RankwellError

if TYPE_CHECKING:
    from rankwell.ray import CellsOn
    from rankwell.studies import Estimate, Machine, Plan, StudyFolder


study = typer.Typer(no_args_is_help=True, help="Experiments from one file each: run, resume, report, compare.")
Named = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A name (rankwell study list), a file, or a folder that one was run in.",
        show_default=False, autocompletion=completing.studies,
    ),
]  # fmt: skip
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where the study was run.", show_default=False)]
Jobs = Annotated[
    int | None, typer.Option(help="Number of cells to run at the same time (default: two where it helps).", min=1)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a long run.")]
LATENCY = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s)")


@study.command("list")
def list_studies() -> None:
    """The studies that come with Rankwell."""
    from rankwell.report import Column, Table
    from rankwell.studies import shipped_studies

    columns = [Column("study", "left"), Column("tables"), Column("title", "left")]
    rows = [(name, len(file.study.table), file.study.title) for name, file in shipped_studies().items()]
    print(Table("Studies", columns, rows).render("table"), end="")


@study.command("show")
def show(
    given: Named,
    cell: Annotated[
        str | None, typer.Option(help="Show one cell of a finished study: where a number comes from.")
    ] = None,
    file: Annotated[bool, typer.Option("--file", help="Print the study file, to copy and change.")] = False,
) -> None:
    """What a study asks and runs; of one that was run, how far it is and where a number comes from."""
    from rankwell.studies import StudyFolder, described, described_cell, find_study, progress_of

    found = find_study(given)
    folder = StudyFolder(Path(given))
    if file:
        print(found.text, end="")
    elif cell is not None:
        if not folder.exists:
            raise RankwellError(f"{given}: expected the folder of a study that was run, because --cell is asked for")
        for line in described_cell(folder.store, folder.store.find(cell), found.study.seed):
            print(line)
    else:
        for line in described(found):
            print(line)
        if folder.exists:
            print()
            for line in progress_of(folder.plan(), folder.store):
                print(line)


@study.command("run")
def run(
    given: Named,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the study (default: studies/NAME).", readable=False)
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Name of a smaller version in the study file, such as small.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with collections (default: RANKWELL_DATA).", readable=False)
    ] = None,
    collection: Annotated[
        list[str] | None, typer.Option(help="Where a collection is: NAME=FOLDER or NAME=irds:...; several times.")
    ] = None,
    latency: Annotated[str | None, typer.Option(help="Time that a query may take, for the frontier: 200ms.")] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="Other values of a variable: model=NAME,FOLDER; several times.")
    ] = None,
    jobs: Jobs = None,
    threads: options.Threads = None,
    on: options.On = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a study and write its report. What is finished is not done again: the same command goes on after a kill."""
    from rankwell.studies import Machine, RunSettings, StudyFolder, data_folder, find_study

    file = find_study(given).within(budget).varying(_varied(vary or []))
    folder = StudyFolder(out or Path("studies") / file.name)
    place = data_folder(data, os.environ.get("RANKWELL_DATA"))
    settings = RunSettings(
        file.name,
        budget,
        None if place is None else str(place.resolve()),
        _collections(collection or [], [entry.name for entry in file.study.collection]),
        _milliseconds(latency),
        file.wished,
    )
    others = _on(on, jobs, threads)
    folder.begin(file, settings)
    _run(folder, Machine(jobs, threads), others, yes=yes, quiet=quiet)


@study.command("resume")
def resume(
    folder: Folder,
    jobs: Jobs = None,
    threads: options.Threads = None,
    on: options.On = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
) -> None:
    """Go on with a study as it was begun."""
    from rankwell.studies import Machine, StudyFolder

    _run(StudyFolder(folder), Machine(jobs, threads), _on(on, jobs, threads), yes=yes, quiet=quiet)


@study.command("report")
def report(folder: Folder) -> None:
    """Write the report of a finished study anew."""
    from rankwell.studies import StudyFolder, write_report

    found = StudyFolder(folder)
    plan = found.plan()
    todo = sum(not found.store.finished(key) for key in plan.cells)
    if todo:
        raise RankwellError(
            f"{folder}: expected a finished study, found {todo:,} cells to do: rankwell study resume {folder}"
        )
    write_report(found, plan)
    print(found.path / "report.html")


@study.command("diff")
def diff(
    first: Folder,
    second: Folder,
    everything: Annotated[bool, typer.Option("--all", help="Also print figures that are the same.")] = False,
    output: options.Output = "table",
) -> None:
    """Compare two runs of a study, figure by figure."""
    from rankwell.cli.runs import show as show_table
    from rankwell.cli.runs import warn
    from rankwell.studies import differences, read_numbers, remarks

    one, other = read_numbers(first), read_numbers(second)
    show_table(differences(one, other, everything=everything), output)
    warn(remarks(one, other))


@study.command("schema")
def schema() -> None:
    """The JSON Schema of study files, for editors that complete TOML (first line: #:schema study.schema.json)."""
    import orjson

    from rankwell.studies import study_schema

    print(orjson.dumps(study_schema(), option=orjson.OPT_INDENT_2).decode())


def _on(on: str | None, jobs: int | None, threads: int | None) -> CellsOn | None:
    """Those who do the cells in place of this machine."""
    if on is None:
        return None
    from rankwell.ray import CellsOn, worker_address

    return CellsOn(worker_address(on, threads, jobs))


def _run(folder: StudyFolder, machine: Machine, others: CellsOn | None, *, yes: bool, quiet: bool) -> None:
    from rankwell.studies import is_reported, run_study, write_report

    def ask(work: Estimate) -> bool:
        if not quiet:
            for line in work.lines():
                print(line, file=sys.stderr)
        return yes or not work.is_much or _agreed(work.lines()[-1])

    plan, work = run_study(folder, machine, ask=ask, others=others, quiet=quiet)
    if work.cells or not is_reported(folder, plan):
        write_report(folder, plan)
    _tell(folder, plan, work, quiet=quiet)


def _tell(folder: StudyFolder, plan: Plan, work: Estimate, *, quiet: bool) -> None:
    print(folder.path / "report.html")
    if quiet:
        return
    if not work.cells:
        print(f"all {work.finished:,} cells were finished already", file=sys.stderr)
    reasons: dict[str, dict[str, None]] = {}
    for left in plan.left_out:
        reasons.setdefault(left.why, {})[left.row] = None
    for why, rows in reasons.items():
        print(f"note: left out: {', '.join(rows)}: {why}", file=sys.stderr)
    from rankwell.studies import advices

    for line in advices(folder.path):
        print(line, file=sys.stderr)


def _agreed(cost: str) -> bool:
    """Ask where there is somebody to answer."""
    if not sys.stdin.isatty():
        raise RankwellError(f"{cost}: too much to begin unasked: say --yes, or take a smaller --budget")
    return typer.confirm(f"{cost}. Begin?", err=True)


def _collections(given: list[str], known: list[str]) -> dict[str, str]:
    from rankwell.studies import unknown

    found = {}
    for text in given:
        name, equals, source = text.partition("=")
        if not equals or not source:
            raise ParameterError("--collection", expected="NAME=SOURCE", found=text)
        if name not in known:
            raise RankwellError(f"--collection: {unknown('a collection of the study', name, known)}")
        found[name] = source if ":" in source else str(Path(source).expanduser().resolve())
    return found


def _varied(given: list[str]) -> dict[str, tuple[str, ...]]:
    found = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not all(values.split(",")):
            raise ParameterError("--vary", expected="NAME=VALUE,VALUE", found=text)
        found[name] = tuple(values.split(","))
    return found


def _milliseconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = LATENCY.fullmatch(text.strip())
    if found is None:
        raise ParameterError("--latency", expected="a time such as 200ms or 1.5s", found=text)
    return float(found[1]) * (1000 if found[2] == "s" else 1)
