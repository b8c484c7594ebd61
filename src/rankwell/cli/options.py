"""Options that several commands share, what a shell offers for them, and what they do."""

from __future__ import annotations

import contextlib
import inspect
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, BinaryIO, cast

from typer import Argument, Context, Option
from typer.core import TyperGroup

from rankwell.collections import Problems, Reading, open_collection, read_qrels, read_run
from rankwell.core import Judgments, ParameterError, Progress, Run, atomic_write
from rankwell.core.parameters import Parameter, Several, parameters
from rankwell.report import Page, Table
from rankwell.report.pictures import Picture
from rankwell.report.table import one_line

MOST_SHOWN = 10  # bad records on the screen

LONGEST_SUMMARY = 1000  # characters
MEASURES = ("nDCG@10", "RR@10", "AP", "R@100")

Offers = list[tuple[str, str]]

# With the cutoffs that papers use; any other can be typed.
CUTOFFS = {"nDCG": (10, 20, 100), "RR": (10, 100), "AP": (1000,), "P": (5, 10, 20), "R": (10, 100, 1000)}
CUTOFFS |= {"Success": (1, 5, 10), "Judged": (10,), "Unjudged": (10,), "DCG": (10,), "MFR": (10,)}


def _offer_models(kind: str | None = None, *, here: bool = True) -> Callable[[str], Offers]:
    """Offer models of a kind; those without a short name may be of any kind."""

    def offer(incomplete: str) -> Offers:
        from rankwell.models.base import fetched_models, known_models

        known, present = known_models(), []
        with contextlib.suppress(Exception):  # a damaged home is the doctor's business, and no line between two keys
            present = fetched_models()
        names = present if here else [name for name in known if name not in present]
        fitting = [name for name in names if kind is None or name not in known or known[name].kind == kind]
        what = {name: known[name].what if name in known else "fetched or exported by you" for name in fitting}
        return _beginning(incomplete, what.items())

    return offer


fetched, to_fetch = _offer_models(), _offer_models(here=False)
cross_encoders, bi_encoders = _offer_models("cross-encoder"), _offer_models("bi-encoder")


def studies(incomplete: str) -> Offers:
    """The studies that come with Rankwell."""
    from rankwell.studies import shipped_studies

    return _beginning(incomplete, [(name, file.study.title) for name, file in shipped_studies().items()])


def measures(incomplete: str) -> Offers:
    """The names of measures: with the usual cutoffs, and without where they can do without."""
    from rankwell.evaluation import MEASURES

    what = {measure.name: (measure.__doc__ or "").split(". ")[0].split("\n")[0].rstrip(".") for measure in MEASURES}
    usual = [(f"{name}@{cutoff}", what[name]) for name, cutoffs in CUTOFFS.items() for cutoff in cutoffs]
    plain = [(of.name, what[of.name]) for of in MEASURES if all(field.default is not MISSING for field in fields(of))]
    return _beginning(incomplete, [*usual, *plain])


def _beginning(incomplete: str, offers: Iterable[tuple[str, str]]) -> Offers:
    return [offer for offer in offers if offer[0].lower().startswith(incomplete.lower())]


def path_option(help: str, *flags: str) -> Any:
    """An option for a path. The code that reads it says, in one line, where it cannot be read."""
    return Option(*flags, help=help, readable=False)


QRELS = "TREC, BEIR, JSON, SMART or Cranfield"  # formats
Source = Annotated[
    str, Argument(help="A file or folder of any format, sqlite:///FILE?table=T, rankwell:python, or irds:ID.")
]
Format = Annotated[str | None, Option("--format", help="Format of the documents (default: guessed).")]
Fields = Annotated[str | None, Option("--fields", help="Text columns: title,abstract or field=column,...")]
IdColumn = Annotated[
    str | None, Option("--id", help="The column with the document's id, a template such as {file}-{row}, or {content}.")
]
Dates = Annotated[str | None, Option("--dates", help="How dates such as 01/02/2020 are written: dmy or mdy.")]
Metadata = Annotated[str | None, Option("--metadata", help="Columns to keep as metadata (default: all others).")]
Encoding = Annotated[str, Option("--encoding", help="Encoding of the files; auto: told from each file.")]
SkipBad = Annotated[bool, Option("--skip-bad", help="Skip bad records and list them, instead of stopping.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print no progress.")]
Split = Annotated[str | None, Option("--split", help="Which judgments: test, dev, train, ...")]
Output = Annotated[str, Option("--output", help="Output format: table, md, latex, csv or json.")]
Queries = Annotated[str, Argument(help="Queries in any format, or a collection that has some.")]
QueriesFile = Annotated[
    Path | None, path_option("Queries in any format, instead of the collection's own.", "--queries")
]
QrelsFile = Annotated[Path | None, path_option(f"Judgments ({QRELS}), instead of the collection's own.", "--qrels")]
Qrels = Annotated[Path, Argument(help=f"Judgments ({QRELS}), or a collection that has some.", readable=False)]
Measures = Annotated[
    list[str] | None,
    Option(
        *("--measure", "-m"),
        help="A measure such as nDCG@10, RR@10, AP(rel=2)@1000, P_10; several times for more.",
        autocompletion=measures,
    ),
]
Own = Annotated[
    str,
    Option("--own", help="Documents of their query's own id: keep, drop, or auto (drop if queries are documents)."),
]
Seed = Annotated[int, Option("--seed", help="Random seed for the randomization and bootstrap tests.")]
Marks = Annotated[str, Option("--marks", help="Marks of significance: stars, dagger or none.")]
Html = Annotated[Path | None, path_option("Also write one page with tables and pictures.", "--html")]
Pictures = Annotated[Path | None, Option("--pictures", help="Write the pictures into this folder (PNG).")]
Names = Annotated[
    list[str] | None, Option("--name", help="Name of a run in tables; once for each run, in their order.")
]
Tokenizer = Annotated[
    str | None, Option("--tokenizer", help="Count tokens as this model sees them: a short name or a folder.")
]
TokenLimit = Annotated[int, Option("--limit", help="The model's token limit.")]
IndexFolder = Annotated[Path, Argument(metavar="DIR", help="The index.", readable=False)]
IndexAddress = Annotated[
    str, Argument(metavar="DIR", help="The index: a folder, or an address in ClickHouse (see push).")
]
Threads = Annotated[int | None, Option("--threads", help="Number of threads (default: number of cores).")]
On = Annotated[str | None, Option("--on", help="Run on a Ray cluster: ray, ray:address=HOST:PORT or ray://HOST:PORT.")]
PipelineFile = Annotated[
    Path | None,
    path_option("File of a pipeline (see rankwell tune --save); options that are given come first.", "--pipeline"),
]
RunOut = Annotated[Path, path_option("The run to write.", "--out", "-o")]


class CommandGroup(TyperGroup):
    """Commands whose help lists whole summaries, which typer would cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with the first sentence of its help."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(LONGEST_SUMMARY)) for name, one in commands if one and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class LateModule:
    """A module that is imported when something of it is used first, so that a command's help starts at once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def tell(line: object) -> None:
    """Print a line on stderr, at once."""
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def reading(
    what: str,
    unit: str,
    *,
    encoding: str = "auto",
    skip_bad: bool = False,
    quiet: bool = False,
    bad_list: Path | None = None,
    parts: bool = False,
) -> Iterator[Reading]:
    """A `Reading` with a progress display; afterwards the first ten bad records that were left out, and their number.

    With `bad_list` that file gets all of them.
    """
    with tempfile.TemporaryFile() as listing, Progress(what, unit=unit, quiet=quiet) as progress:
        problems = Problems(skip=skip_bad, listing=None if bad_list is None else cast("BinaryIO", listing))
        yield Reading(encoding, problems, progress, parts=parts)
        if problems.count and bad_list is not None:
            listing.seek(0)
            with atomic_write(bad_list) as file:
                shutil.copyfileobj(listing, file)
    if problems.count:
        shown = problems.found[:MOST_SHOWN]
        for problem in shown:
            print(problem, file=sys.stderr)
        more = problems.count - len(shown)
        others = f" ({more:,} more are not shown{f'; all: {bad_list}' if bad_list else ''})" if more else ""
        print(f"left out {problems.count:,} bad records{others}", file=sys.stderr)


@contextlib.contextmanager
def keeping(what: str, progress: Progress) -> Iterator[None]:
    """After a failure or Ctrl-C say that what was done so far is kept."""
    try:
        yield
    except BaseException:
        if progress.count:
            print(f"what was {what} so far is kept: the same command goes on from there", file=sys.stderr)
        raise


def read_judged(
    qrels: Path, runs: Sequence[Path], names: Sequence[str] | None, *, own: str, skip_bad: bool, quiet: bool
) -> tuple[Judgments, dict[str, Run]]:
    """The judgments, and the runs by the names that tables show."""
    from rankwell.evaluation.judged import leave_out_own

    with reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        judgments, by_name = _judgments(qrels, how), _read_runs(runs, names, how)
    by_name, said = leave_out_own(judgments, by_name, own)
    warn([f"{said} (--own keep keeps them)"] if said else [])
    return judgments, by_name


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


def declared(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that its dataclass parameters declare.

    A parameter whose type has declared fields (`rankwell.core.parameters`) becomes an option for each of them, with the
    field's default, bounds and help; the command gets the object made of what was chosen. An option of the command's
    own takes the place of a declared one of the same name. With an option `pipeline`, a file has the values of options
    that are not given.
    """
    signature = inspect.signature(command, eval_str=True)
    types: dict[str, Any] = {name: part.annotation for name, part in signature.parameters.items()}
    groups = {name: kind for name, kind in types.items() if isinstance(kind, type) and is_dataclass(kind)}
    plain = [part for name, part in signature.parameters.items() if name not in groups]
    own = {part.name for part in plain}
    wanted = {name: part for owner in groups.values() for name, part in parameters(owner).items() if name not in own}
    needed = [part for part in plain if part.default is part.empty]

    @wraps(command)
    def with_options(context: Context, **given: Any) -> None:
        if given.get("pipeline") is not None:
            given |= _from_file(given["pipeline"], wanted, context)
        for name, owner in groups.items():
            chosen = [part for field, part in parameters(owner).items() if field in wanted]
            given[name] = owner(**{part.name: part.read(given.pop(part.name)) for part in chosen})
        command(**given)

    parts = [*needed, *map(_option, wanted.values()), *(part for part in plain if part not in needed)]
    parts.append(inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Context))
    parts = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in parts]
    with_options.__signature__ = signature.replace(parameters=parts)  # type: ignore[attr-defined]
    with_options.__annotations__ = {part.name: part.annotation for part in parts}
    return with_options


def with_device(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that runs a model the option --device."""
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def on_device(*, device: str | None, **given: Any) -> None:
        if device is None:
            command(**given)
            return
        from rankwell.models.base.device import use_device

        with use_device(device):
            command(**given)

    about = "Where models run: cpu, cuda or mps (default: cuda where there is one, else cpu)."
    option = inspect.Parameter(
        "device",
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, Option("--device", help=about)],
    )
    parts = [part.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in signature.parameters.values()]
    on_device.__signature__ = signature.replace(parameters=[*parts, option])  # type: ignore[attr-defined]
    on_device.__annotations__ = {part.name: part.annotation for part in [*parts, option]}
    return on_device


def _from_file(path: Path, wanted: Mapping[str, Parameter], context: Context) -> dict[str, Any]:
    """The values of a pipeline's file for those of the wanted options that nobody gave.

    Where a command shows documents, their number is its own. Where it tries values, the file's are its start.
    """
    from rankwell.pipelines import RankerOptions, read_options

    usual = parameters(RankerOptions)["k"].default
    given = {name for name in wanted if (source := context.get_parameter_source(name)) and source.name != "DEFAULT"}
    return {
        name: value
        for name, value in read_options(path).items()
        if name in wanted
        and not isinstance(wanted[name].kind, Several)
        and name not in given
        and (name != "k" or wanted[name].default == usual)
    }


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
    several = "VALUES" if isinstance(parameter.kind, Several) else None
    offers = cross_encoders if parameter.name == "rerank" else None
    annotation = Annotated[kind, Option(*flags, help=about, metavar=several, autocompletion=offers)]
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default, annotation=annotation
    )
