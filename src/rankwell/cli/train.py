"""`rankwell train` and `rankwell distil`: train models, resume a run, search over settings."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from rankwell.cli import options
from rankwell.cli.runs import parse_numbers, show
from rankwell.cli.train_data import pairs, vocabulary
from rankwell.core import Progress
from rankwell.core.parameters import Parameter, parameters
from rankwell.models.distillation import training as distillation
from rankwell.models.distillation.speed import compare_speed
from rankwell.models.language_model.settings import MlmSettings
from rankwell.models.language_model.training import MlmResult, train_mlm
from rankwell.models.learning.folders import check_new_folder
from rankwell.models.learning.pairs import open_pairs
from rankwell.models.learning.settings import ValidationSettings
from rankwell.models.learning.trainer import Training, TrainingResult
from rankwell.models.linear.training import LinearSettings, LinearValidation, penalty_table, train_linear
from rankwell.report import Column, Table
from rankwell.training import Search, resume_training, search_space
from rankwell.training.families import TRAINABLE, FineTuned, kind_named
from rankwell.training.search import SearchOptions

PairsFolder = Annotated[Path, Argument(metavar="PAIRS", help="Made by rankwell train pairs.", readable=False)]
Model = Annotated[str, Option(help="Model to start from: a folder, a short name or a hub id.")]
Out = Annotated[Path, Option("--out", "-o", help="New folder for the run.", readable=False)]


def _command_of(training: Training[Any]) -> Callable[..., None]:
    """The command that trains a family; its options are the declared parameters of the family's settings."""

    def train(
        pairs: PairsFolder,
        model: Model,
        out: Out,
        settings: Any,
        held_out: ValidationSettings,
        quiet: options.Quiet = False,
    ) -> None:
        with _resumable(out):
            result = training(pairs, out, model=model, settings=settings, validation=held_out.chosen, quiet=quiet)
        _tell(result, quiet=quiet)

    train.__annotations__["settings"] = training.settings
    train.__doc__ = f"{training.about} rankwell train resume continues an interrupted run."
    return options.declared(train)


@contextlib.contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except BaseException as end:
        if not isinstance(end, Exception) and (out / "configuration.json").is_file():
            end.add_note(f"go on with rankwell train resume {out}")
        raise


def _tell(result: TrainingResult, *, quiet: bool) -> None:
    """The model's folder, and how good it is."""
    print(result.folder.model)
    if quiet:
        return
    early = ", stopped early" if result.stopped_early else ""
    kept = f", the weights after step {result.best:,} are kept" if result.best is not None else ""
    options.tell(f"{result.steps:,} steps in {result.seconds:,.0f} s{early}{kept}")
    for name, value in result.measures.items():
        before = f" (before training {result.before[name]:.4f})" if name in result.before else ""
        options.tell(f"validation {name}: {value:.4f}{before}")


@options.declared
def search(
    kind: Annotated[str, Argument(help=f"{', '.join(TRAINABLE)}.")],
    pairs: PairsFolder,
    out: Annotated[Path, Option("--out", "-o", help="The search's folder; run again to go on.", readable=False)],
    wanted: SearchOptions,
    held_out: ValidationSettings,
    vary: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE,VALUE,... or, with --random, NAME=LOW..HIGH[:log]. Repeat it for more."),
    ] = None,
    fixed: Annotated[list[str] | None, Option("--set", help="NAME=VALUE, the same in all settings.")] = None,
    random: Annotated[int | None, Option(help="So many settings at random instead of all.")] = None,
    on: options.On = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try settings of a training: a grid or at random, with seeds or folds. Finished trainings are never run again."""
    settings = kind_named(kind).settings
    share = held_out.chosen
    asked = Search(
        kind,
        open_pairs(pairs),
        search_space.settings_to_try(search_space.parse_space(settings, vary or []), random, wanted.seed),
        base=settings(**search_space.parse_settings(settings, fixed or [])),
        validation=open_pairs(share) if isinstance(share, str) else share,
        **vars(wanted),
    )
    with Progress("searching", unit="trainings", total=asked.trainings, quiet=quiet) as progress:
        if on is None:
            searched = asked.run(out, progress)
        else:
            from rankwell.ray import search_on

            searched = search_on(on, asked, out, progress)
    show(output, search_space.search_table(searched))
    search_space.search_picture(searched).save(out / "settings.png")
    if not quiet:
        declared = parameters(settings)
        best = searched.best
        chosen = [_written(declared[name], value) for name, value in best.setting.items() if value is not None]
        options.tell(f"\nbest: {search_space.setting_text(best)} ({best.cells[0].folder})")
        options.tell(f"to train it on everything: rankwell train {kind} {pairs} {' '.join(chosen)} ...")
        options.tell("it was chosen by the queries it was measured on: expect a little less on new ones")


def _written(parameter: Parameter, value: Any) -> str:
    """A chosen value as an option of the training command."""
    name = parameter.name.replace("_", "-")
    flag = parameter.flags[0] if parameter.flags else f"--{name}"
    if isinstance(value, bool):
        return flag if value else f"--no-{name}" if parameter.default is True else ""
    return f"{flag} {shlex.quote(str(value))}"


def resume(
    folder: Annotated[Path, Argument(help="The run's folder.", readable=False)], quiet: options.Quiet = False
) -> None:
    """Continue an interrupted run from its newest complete checkpoint, with its own settings."""
    with _resumable(folder):
        result = resume_training(folder, quiet=quiet)
    _tell(result, quiet=quiet)


PENALTY = parameters(LinearSettings)["penalty"]


@options.declared
def linear(
    pairs: PairsFolder,
    out: Annotated[Path, Option("--out", "-o", help="New folder to write.", readable=False)],
    settings: LinearSettings,
    held_out: LinearValidation,
    penalty: Annotated[
        str, Option(help=f"{PENALTY.help} Of several (0.1,1,10) validation chooses.")
    ] = f"{PENALTY.default:g}",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Train TF-IDF + logistic regression: a baseline that is fitted in seconds and re-ranks without a transformer."""
    check_new_folder(out)
    penalties = parse_numbers("--penalty", penalty)
    settings = replace(settings, penalty=penalties[0])
    training, validation = open_pairs(pairs), None
    if len(penalties) > 1:
        share = held_out.chosen
        if isinstance(share, str) or not share:
            validation = open_pairs(held_out.validation)
        else:
            training, validation = training.split(share, held_out.seed)
    with Progress("reading pairs", unit="pairs", total=len(training), quiet=quiet) as progress:
        model = train_linear(training, out, settings, validation=validation, penalties=penalties, progress=progress)
    if validation is not None:
        show(output, penalty_table(model))
    if not quiet:
        options.tell(f"{out}: {len(model.vocabulary):,} terms, of {len(training):,} pairs")


@options.declared
def mlm(
    source: options.Source,
    model: Model,
    out: Out,
    settings: MlmSettings,
    fill: Annotated[
        list[str] | None, Option("--fill", help="A sentence with [MASK]: show what is put there; several times.")
    ] = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Adapt a model to a collection by masked language modelling; it is measured on held-out documents."""
    settings = replace(
        settings, fill=tuple(fill or ()), format=format, fields=fields, id_column=id_column, encoding=encoding
    )
    with _resumable(out):
        result = train_mlm(source, model, out, settings, quiet=quiet)
    show(output, *_tables(result))
    if not quiet:
        options.tell(f"{result.training.folder.model}: {result.training.steps:,} steps")


def _tables(result: MlmResult) -> list[Table]:
    """Held-out figures before and after, and what was put into gaps."""
    training, before, after = result.training, result.adaptation.before, result.adaptation.after
    rows = []
    for name, measures, answers in (("before", training.before, before), ("after", training.measures, after)):
        low, high = answers.bits.interval()
        rows.append((name, measures.get("perplexity"), answers.bits.per_character, f"{low:.3f} to {high:.3f}"))
    about = f"{len(after.bits.documents):,} held-out documents, {int(after.bits.words.sum()):,} words"
    columns = [Column("training", "left"), Column("perplexity", digits=2), Column("bits per character", digits=3)]
    tables = [Table(f"Guessing words of {about}", [*columns, Column("95 % interval")], rows)]
    gaps = [
        (sentence, when, ", ".join(f"{filling.token} {filling.probability:.2f}" for filling in gap))
        for sentence in after.fillings
        for when, answers in (("before", before), ("after", after))
        for gap in answers.fillings[sentence]
    ]
    if gaps:
        tables.append(Table("Gaps", [Column(name, "left") for name in ("sentence", "training", "filled with")], gaps))
    return tables


@options.declared
def distil(
    teacher: Annotated[str, Argument(help="A cross-encoder: a name or folder.", autocompletion=options.cross_encoders)],
    student: Annotated[str, Argument(help="teacher:6 (of its layers), teacher:3x192 (narrower), a name or folder.")],
    pairs: PairsFolder,
    out: Out,
    settings: distillation.DistilSettings,
    held_out: distillation.DistilValidation,
    quiet: options.Quiet = False,
) -> None:
    """Train a small cross-encoder on the scores of a large one, without labels. train resume continues a run."""
    with _resumable(out):
        result = distillation.distil(
            teacher, student, pairs, out, settings=settings, validation=held_out.chosen, quiet=quiet
        )
    _tell(result, quiet=quiet)
    if not quiet:
        for speed in compare_speed([teacher, str(result.folder.model)], open_pairs(pairs), threads=settings.threads):
            options.tell(speed)


train = Typer(no_args_is_help=True, help="Training: pairs, models, searches over settings.")
families = {name: family.training for name, family in TRAINABLE.items() if isinstance(family, FineTuned)}
for command in (pairs, linear, vocabulary, mlm):
    train.command()(command)
for name, training in families.items():
    train.command(name)(_command_of(training))
for command in (resume, search):
    train.command()(command)
