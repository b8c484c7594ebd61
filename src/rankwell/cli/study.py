"""`rankwell study`: whole experiments from one file each."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
from typer import Argument, Option, Typer, confirm

from rankwell.cli import options
from rankwell.core import ParameterError, RankwellError
from rankwell.report import Column, Table
from rankwell.report.table import Cell

if TYPE_CHECKING:
    from rankwell import ray, studies
else:  # the help needs neither
    ray, studies = options.LateModule("rankwell.ray"), options.LateModule("rankwell.studies")

study = Typer(
    cls=options.CommandGroup, no_args_is_help=True, help="Experiments from one file each: run, resume, report, compare."
)
Named = Annotated[
    str,
    Argument(
        metavar="STUDY",
        help="A name (rankwell study list), a file, or a folder that one was run in.",
        autocompletion=options.studies,
    ),
]
Folder = Annotated[Path, Argument(metavar="DIR", help="Where the study was run.")]
Jobs = Annotated[
    int | None, Option(help="Number of cells to run at the same time (default: two where it helps).", min=1)
]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask before a long run.")]
Data = Annotated[Path | None, Option(help="Folder with collections (default: RANKWELL_DATA).", readable=False)]
Sources = Annotated[
    list[str] | None, Option(help="Where a collection is: NAME=FOLDER or NAME=irds:...; several times.")
]
TRAINING_SPEED = "training is counted at 10 pairs a second (a small model on few cores); a GPU is much faster"
LATENCY = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s)")


@study.command("list")
def list_studies() -> None:
    """The studies that come with Rankwell."""
    columns = [Column("study", "left"), Column("tables"), Column("title", "left")]
    rows = [(name, len(file.study.table), file.study.title) for name, file in studies.shipped_studies().items()]
    options.show("table", Table("Studies", columns, rows))


@study.command("show")
def show(
    given: Named,
    cell: Annotated[str | None, Option(help="Show one cell of a finished study: where a number comes from.")] = None,
    file: Annotated[bool, Option("--file", help="Print the study file, to copy and change.")] = False,
) -> None:
    """What a study asks and runs; of one that was run, how far it is and where a number comes from."""
    experiment, folder = studies.find_study(given), studies.StudyFolder(Path(given))
    if file:
        print(experiment.text, end="")
        return
    if cell is None:
        print(*studies.described(experiment), sep="\n")
        options.warn(experiment.warnings())
        if folder.exists:
            print("", *studies.progress_of(folder.plan(), folder.store), sep="\n")
    elif folder.exists:
        print(*studies.described_cell(folder.store, folder.store.find(cell), experiment.study.seed), sep="\n")
    else:
        raise RankwellError(f"{given}: expected the folder of a study that was run, because --cell is asked for")


@study.command("run")
@options.with_device
def run(
    given: Named,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Folder of the study (default: studies/NAME).", readable=False)
    ] = None,
    budget: Annotated[str | None, Option(help="Version of the study in its file: small, night, paper, ...")] = None,
    data: Data = None,
    collection: Sources = None,
    latency: Annotated[str | None, Option(help="Time that a query may take, for the frontier: 200ms.")] = None,
    vary: Annotated[
        list[str] | None, Option(help="Other values of a variable: model=NAME,FOLDER; several times.")
    ] = None,
    jobs: Jobs = None,
    threads: options.Threads = None,
    on: options.On = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a study and write its report. What is finished is not done again: the same command goes on after a kill."""
    file = studies.find_study(given).within(budget).varying(_varied(vary or []))
    folder = studies.StudyFolder(out or Path("studies") / file.name)
    place = studies.data_folder(data, os.environ.get("RANKWELL_DATA"))
    settings = studies.RunSettings(
        file.name,
        budget,
        None if place is None else str(place.resolve()),
        _collections(collection or [], [entry.name for entry in file.study.collection]),
        _milliseconds(latency),
        file.wished,
    )
    others = _on(on, jobs, threads)
    options.warn([] if quiet else file.warnings())
    folder.begin(file, settings)
    _run(folder, studies.Machine(jobs, threads), others, yes=yes, quiet=quiet)


@study.command("cost")
def cost(
    given: Named,
    data: Data = None,
    collection: Sources = None,
    fetch: Annotated[bool, Option("--fetch", help="Fetch collections of ir_datasets, to count them.")] = False,
    threads: options.Threads = None,
    output: options.Output = "table",
) -> None:
    """What each version of a study (its budgets) would take on this machine. Nothing is run."""
    file = studies.find_study(given)
    place = studies.data_folder(data, os.environ.get("RANKWELL_DATA"))
    known = _collections(collection or [], [entry.name for entry in file.study.collection])
    columns = [
        Column("budget", "left"),
        Column("cells"),
        Column("time"),
        Column("GB", digits=1),
        Column("rows left out"),
    ]
    rows: list[tuple[Cell, ...]] = []
    notes = []
    with tempfile.TemporaryDirectory() as folder:
        finder = studies.CollectionFinder(place, Path(folder) / "facts.json", known)
        store = studies.CellStore(Path(folder) / "cells")
        for one in studies.costs(file, finder, store, studies.Machine(threads=threads).cores, fetch=fetch):
            work, least = one.estimate, "over " if one.left_out else ""
            time = f"{least}{studies.duration(work.seconds)}" if work else None
            figures = (work.cells, time, work.bytes / 1e9, one.left_out) if work else (None,) * 4
            rows.append((one.budget, *figures, one.about))
            notes += [f"{one.budget}: rows are left out and not counted: {why}" for why in one.reasons]
            notes += [f"{one.budget}: {one.why}"] if one.why else []
            notes += [f"{one.budget}: not here: {', '.join(one.missing)}"] if one.missing else []
    options.show(output, Table(file.study.title, [*columns, Column("what it is", "left")], rows))
    options.warn([*notes, TRAINING_SPEED])


@study.command("resume")
@options.with_device
def resume(
    folder: Folder,
    jobs: Jobs = None,
    threads: options.Threads = None,
    on: options.On = None,
    yes: Yes = False,
    quiet: options.Quiet = False,
) -> None:
    """Go on with a study as it was begun."""
    _run(studies.StudyFolder(folder), studies.Machine(jobs, threads), _on(on, jobs, threads), yes=yes, quiet=quiet)


@study.command("report")
def report(folder: Folder) -> None:
    """Write the report of a finished study anew."""
    study_folder = studies.StudyFolder(folder)
    plan = study_folder.plan()
    todo = sum(not study_folder.store.finished(key) for key in plan.cells)
    if todo:
        raise RankwellError(
            f"{folder}: expected a finished study, found {todo:,} cells to do: rankwell study resume {folder}"
        )
    studies.write_report(study_folder, plan)
    print(study_folder.path / "report.html")


@study.command("diff")
def diff(
    first: Folder,
    second: Folder,
    everything: Annotated[bool, Option("--all", help="Also print figures that are the same.")] = False,
    output: options.Output = "table",
) -> None:
    """Compare two runs of a study, figure by figure."""
    one, other = studies.read_numbers(first), studies.read_numbers(second)
    options.show(output, studies.differences(one, other, everything=everything))
    options.warn(studies.remarks(one, other))


@study.command("schema")
def schema() -> None:
    """The JSON Schema of study files, for editors that complete TOML (first line: #:schema study.schema.json)."""
    print(orjson.dumps(studies.study_schema(), option=orjson.OPT_INDENT_2).decode())


def _on(on: str | None, jobs: int | None, threads: int | None) -> ray.CellsOn | None:
    return None if on is None else ray.CellsOn(ray.worker_address(on, threads, jobs))


def _run(
    folder: studies.StudyFolder, machine: studies.Machine, others: ray.CellsOn | None, *, yes: bool, quiet: bool
) -> None:
    def ask(work: studies.Estimate) -> bool:
        if not quiet:
            options.tell("\n".join(work.lines()))
        return yes or not work.is_much or _agreed(work.lines()[-1])

    plan, work = studies.run_study(folder, machine, ask=ask, others=others, quiet=quiet)
    if work.cells or not studies.is_reported(folder, plan):
        studies.write_report(folder, plan)
    print(folder.path / "report.html")
    if quiet:
        return
    if not work.cells:
        options.tell(f"all {work.finished:,} cells were finished already")
    reasons: dict[str, dict[str, None]] = {}
    for left in plan.left_out:
        reasons.setdefault(left.why, {})[left.row] = None
    for why, rows in reasons.items():
        options.tell(f"note: left out: {', '.join(rows)}: {why}")
    for line in studies.advices(folder.path):
        options.tell(line)


def _agreed(cost: str) -> bool:
    """Ask where there is somebody to answer."""
    if not sys.stdin.isatty():
        raise RankwellError(f"{cost}: too much to begin unasked: say --yes, or take a smaller --budget")
    return confirm(f"{cost}. Begin?", err=True)


def _collections(given: list[str], known: list[str]) -> dict[str, str]:
    sources = {}
    for text in given:
        name, equals, source = text.partition("=")
        if not equals or not source:
            raise ParameterError("--collection", expected="NAME=SOURCE", found=text)
        if name not in known:
            raise RankwellError(f"--collection: {studies.unknown('a collection of the study', name, known)}")
        sources[name] = source if ":" in source else str(Path(source).expanduser().resolve())
    return sources


def _varied(given: list[str]) -> dict[str, tuple[str, ...]]:
    varied = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not all(values.split(",")):
            raise ParameterError("--vary", expected="NAME=VALUE,VALUE", found=text)
        varied[name] = tuple(values.split(","))
    return varied


def _milliseconds(text: str | None) -> float | None:
    if text is None:
        return None
    match = LATENCY.fullmatch(text.strip())
    if match is None:
        raise ParameterError("--latency", expected="a time such as 200ms or 1.5s", found=text)
    return float(match[1]) * (1000 if match[2] == "s" else 1)
