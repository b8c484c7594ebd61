"""Options that several commands share."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rankwell.cli import completing
from rankwell.collections import Problems, Reading
from rankwell.core.parameters import Parameter, parameters
from rankwell.core.progress import Progress

Source = Annotated[str, typer.Argument(help="A file or folder of any format, rankwell:python, or irds:ID.")]
Format = Annotated[str | None, typer.Option("--format", help="Format of the documents (default: guessed).")]
Fields = Annotated[str | None, typer.Option("--fields", help="Text columns: title,abstract or field=column,...")]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column with the document's id.")]
Metadata = Annotated[str | None, typer.Option("--metadata", help="Columns to keep as metadata (default: all others).")]
Encoding = Annotated[str, typer.Option("--encoding", help="Encoding of the files.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip bad records and list them, instead of stopping.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]
Split = Annotated[str | None, typer.Option("--split", help="Which judgments: test, dev, train, ...")]
Output = Annotated[str, typer.Option("--output", help="Output format: table, md, latex, csv or json.")]
QueriesFile = Annotated[
    Path | None,
    typer.Option("--queries", help="Queries in any format, instead of the collection's own.", readable=False),
]
QrelsFile = Annotated[
    Path | None,
    typer.Option("--qrels", help="Judgments in any format, instead of the collection's own.", readable=False),
]
Qrels = Annotated[Path, typer.Argument(help="Judgments in any format, or a collection that has some.", readable=False)]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help="A measure such as nDCG@10, RR@10, AP(rel=2)@1000, P_10; several times for more.",
        autocompletion=completing.measures,
    ),
]
Unjudged = Annotated[
    str, typer.Option("--unjudged", help="Documents nobody judged: zero (not relevant), remove, or bounds.")
]
Test = Annotated[str, typer.Option("--test", help="Significance test: t, randomization or bootstrap.")]
Seed = Annotated[int, typer.Option("--seed", help="Random seed for the randomization and bootstrap tests.")]
Marks = Annotated[str, typer.Option("--marks", help="Marks of significance: stars, dagger or none.")]
Html = Annotated[
    Path | None, typer.Option("--html", help="Also write one page with tables and pictures.", readable=False)
]
Names = Annotated[
    list[str] | None, typer.Option("--name", help="Name of a run in tables; once for each run, in their order.")
]
AssessUnjudged = Annotated[
    Path | None,
    typer.Option("--assess-unjudged", help="Write the unjudged documents as a study for assessors.", readable=False),
]
AssessDepth = Annotated[int, typer.Option("--depth", help="Depth to which --assess-unjudged looks.")]
AssessCollection = Annotated[
    str | None, typer.Option("--collection", help="Texts for --assess-unjudged: any format, or an index.")
]
IndexFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The index.", readable=False)]
IndexAddress = Annotated[
    str, typer.Argument(metavar="DIR", help="The index: a folder, or an address in ClickHouse (see push).")
]
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads (default: number of cores).")]
Rerank = Annotated[
    str | None,
    typer.Option("--rerank", help="Re-rank the top with this cross-encoder.", autocompletion=completing.cross_encoders),
]
On = Annotated[
    str | None, typer.Option("--on", help="Run on a Ray cluster: ray, ray:address=HOST:PORT or ray://HOST:PORT.")
]
RunOut = Annotated[Path, typer.Option("--out", "-o", help="The run to write.", readable=False)]


@contextlib.contextmanager
def reading(
    what: str, unit: str, *, encoding: str = "utf-8", skip_bad: bool = False, quiet: bool = False
) -> Iterator[Reading]:
    """A `Reading` with a progress display; afterwards the list of what was left out."""
    problems = Problems(skip=skip_bad)
    with Progress(what, unit=unit, quiet=quiet) as progress:
        yield Reading(encoding, problems, progress)
    if problems.count:
        for problem in problems.found:
            print(problem, file=sys.stderr)
        more = problems.count - len(problems.found)
        others = f" ({more:,} more are not shown)" if more else ""
        print(f"left out {problems.count:,} bad records{others}", file=sys.stderr)


COMPLETIONS = {"rerank": completing.cross_encoders}


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that its dataclass parameters declare.

    A parameter whose type has declared fields (`rankwell.core.parameters`) becomes an option for each of them, with the
    field's default, bounds and help; the command gets the object made of what was chosen. An option of the command's
    own takes the place of a declared one of the same name.
    """
    signature = inspect.signature(command, eval_str=True)
    types: dict[str, Any] = {name: part.annotation for name, part in signature.parameters.items()}
    groups: dict[str, type[Any]] = {
        name: kind for name, kind in types.items() if isinstance(kind, type) and is_dataclass(kind)
    }
    plain = [part for name, part in signature.parameters.items() if name not in groups]
    own = {part.name for part in plain}
    wanted = {name: part for owner in groups.values() for name, part in parameters(owner).items() if name not in own}
    options = [_option(parameter) for parameter in wanted.values()]
    needed = [part for part in plain if part.default is part.empty]

    @wraps(command)
    def with_options(**given: Any) -> None:
        for name, owner in groups.items():
            fields = {field: part for field, part in parameters(owner).items() if field in wanted}
            given[name] = owner(**{field: part.read(given.pop(field)) for field, part in fields.items()})
        command(**given)

    parts = [*needed, *options, *(part for part in plain if part not in needed)]
    parts = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in parts]
    with_options.__signature__ = signature.replace(parameters=parts)  # type: ignore[attr-defined]
    with_options.__annotations__ = {part.name: part.annotation for part in parts}
    return with_options


def _option(parameter: Parameter) -> inspect.Parameter:
    """A declared parameter as an option of a command."""
    name = parameter.name.replace("_", "-")
    flags = parameter.flags or (f"--{name}/--no-{name}" if parameter.default is True else f"--{name}",)
    about, choices = parameter.help, getattr(parameter.kind, "choices", ())
    if any(choice not in about for choice in choices):
        about = f"{about.removesuffix('.')}: {', '.join(choices)}."
    elif parameter.default is None and str(parameter.example or "") not in about:
        about = f"{about.removesuffix('.')}, such as {parameter.example!r}."
    kind: Any = parameter.kind.type if parameter.default is not None else parameter.kind.type | None
    info = typer.Option(*flags, help=about, autocompletion=COMPLETIONS.get(parameter.name))
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default, annotation=Annotated[kind, info]
    )
