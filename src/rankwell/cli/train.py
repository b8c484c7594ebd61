"""`rankwell train` and `rankwell distil`: make training data, train models, resume a run, search over settings."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from rankwell import training
from rankwell.cli import options
from rankwell.collections import ColumnChoice, open_collection, read_any_qrels, read_any_queries, read_run
from rankwell.core import Judgments, Progress, Queries
from rankwell.core.parameters import Parameter, parameters
from rankwell.models.distillation import training as distillation
from rankwell.models.distillation.student import compare_speed
from rankwell.models.language_model import vocabulary as vocabularies
from rankwell.models.language_model.settings import MlmSettings, VocabularySettings
from rankwell.models.language_model.training import MlmResult, train_mlm
from rankwell.models.learning import folders, trainer
from rankwell.models.learning.pairs import UNLABELLED, Pairs, open_pairs
from rankwell.models.learning.settings import ValidationSettings
from rankwell.models.linear.training import LinearSettings, LinearValidation, penalty_table, train_linear
from rankwell.report import Column, Table
from rankwell.training import PairOptions, families, search_space
from rankwell.training.pairs import LABELLED, SELF_SUPERVISED, write_pairs
from rankwell.training.search import SearchOptions

SHOWN = 10  # words
PairsFolder = Annotated[Path, Argument(metavar="PAIRS", help="Made by rankwell train pairs.", readable=False)]
Model = Annotated[str, Option(help="Model to start from: a folder, a short name or a hub id.")]
Out = Annotated[Path, Option("--out", "-o", help="New folder for the run.", readable=False)]


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
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Make pairs to train on: from judgments with hard and random negatives, or without any judgments."""
    folders.check_new_folder(out)
    kind = SELF_SUPERVISED if self_supervised else UNLABELLED if unlabelled else LABELLED
    wanted.check(kind)
    collection, choice = open_collection(source, format), ColumnChoice.parse(id_column, fields, None)
    judgments = read_any_qrels(str(qrels or source), split) if kind == LABELLED else Judgments()
    texts = Queries() if kind == SELF_SUPERVISED else read_any_queries(str(queries or source), split)
    with options.reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        spool = training.Spool(how.progress.track(collection.documents(how, choice)), folders.room_beside(out))
    origin = {"collection": source, "split": split, "qrels": str(qrels or ""), "queries": str(queries or "")}
    with spool, Progress("making pairs", unit="pairs", quiet=quiet) as progress:
        sources = training.Sources(spool, texts, judgments, None if run is None else read_run(run))
        made = write_pairs(out, sources, wanted, kind=kind, source=origin, progress=progress)
    _tell_of_pairs(made, quiet=quiet)


def _tell_of_pairs(made: Pairs, *, quiet: bool) -> None:
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
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Add a collection's most frequent words to a model's vocabulary; each starts as the mean of its pieces."""
    folders.check_new_folder(out)
    collection = open_collection(source, format)
    choice = ColumnChoice.parse(id_column, fields, None)
    with options.reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        documents = how.progress.track(collection.documents(how, choice))
        counts = vocabularies.count_collection(documents, model, held_out=wanted.held_out, seed=wanted.seed)
    made = vocabularies.extend_vocabulary(counts, model, out, words=wanted.words, at_least=wanted.at_least)
    options.show(output, _table(made))
    if not quiet:
        some = ", ".join(f"{word} ({' '.join(p)})" for word, p in zip(made.words[:SHOWN], made.pieces, strict=False))
        options.tell(f"{out}: {len(made.words):,} new words, such as {some}")


def _table(made: vocabularies.VocabularyExtension) -> Table:

    columns = [Column("field", "left"), Column("texts"), Column("tokens before", digits=2)]
    columns += [Column("tokens after", digits=2), Column("change")]
    rows = [
        (length.field, length.texts, length.before, length.after, f"{length.change:+.1%}") for length in made.lengths
    ]
    return Table("Mean length in tokens", columns, rows)


def _command_of(of: trainer.Training[Any]) -> Callable[..., None]:
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
            result = of(pairs, out, model=model, settings=settings, validation=held_out.chosen, quiet=quiet)
        _tell(result, quiet=quiet)

    train.__annotations__["settings"] = of.settings
    train.__doc__ = f"{of.about} rankwell train resume continues an interrupted run."
    return options.with_device(options.declared(train))


@contextlib.contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Say after Ctrl-C how to go on."""
    try:
        yield
    except BaseException as end:
        if not isinstance(end, Exception) and (out / "configuration.json").is_file():
            end.add_note(f"go on with rankwell train resume {out}")
        raise


def _tell(result: trainer.TrainingResult, *, quiet: bool) -> None:
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


@options.with_device
@options.declared
def search(
    kind: Annotated[str, Argument(help=f"{', '.join(families.TRAINABLE)}.")],
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
    settings = families.kind_named(kind).settings
    share = held_out.chosen
    asked = training.Search(
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
    options.show(output, search_space.search_table(searched))
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


@options.with_device
def resume(
    folder: Annotated[Path, Argument(help="The run's folder.", readable=False)], quiet: options.Quiet = False
) -> None:
    """Continue an interrupted run from its newest complete checkpoint, with its own settings."""
    with _resumable(folder):
        result = training.resume_training(folder, quiet=quiet)
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
    folders.check_new_folder(out)
    penalties = options.parse_numbers("--penalty", penalty)
    settings = replace(settings, penalty=penalties[0])
    known, validation = open_pairs(pairs), None
    if len(penalties) > 1:
        share = held_out.chosen
        if isinstance(share, str) or not share:
            validation = open_pairs(held_out.validation)
        else:
            known, validation = known.split(share, held_out.seed)
    with Progress("reading pairs", unit="pairs", total=len(known), quiet=quiet) as progress:
        model = train_linear(known, out, settings, validation=validation, penalties=penalties, progress=progress)
    if validation is not None:
        options.show(output, penalty_table(model))
    if not quiet:
        options.tell(f"{out}: {len(model.vocabulary):,} terms, of {len(known):,} pairs")


@options.with_device
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
    encoding: options.Encoding = "auto",
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Adapt a model to a collection by masked language modelling; it is measured on held-out documents."""
    settings = replace(
        settings, fill=tuple(fill or ()), format=format, fields=fields, id_column=id_column, encoding=encoding
    )
    with _resumable(out):
        result = train_mlm(source, model, out, settings, quiet=quiet)
    options.show(output, *_tables(result))
    if not quiet:
        options.tell(f"{result.training.folder.model}: {result.training.steps:,} steps")


def _tables(result: MlmResult) -> list[Table]:
    """Held-out figures before and after, and what was put into gaps."""
    trained, before, after = result.training, result.adaptation.before, result.adaptation.after
    rows = []
    for name, measures, answers in (("before", trained.before, before), ("after", trained.measures, after)):
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


@options.with_device
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
        for line in compare_speed([teacher, str(result.folder.model)], open_pairs(pairs), threads=settings.threads):
            options.tell(line)


train = Typer(cls=options.CommandGroup, no_args_is_help=True, help="Training: pairs, models, searches over settings.")
for command in (pairs, linear, vocabulary, mlm):
    train.command()(command)
for name, family in families.TRAINABLE.items():
    if family.training is not None:
        train.command(name)(_command_of(family.training))
for command in (resume, search):
    train.command()(command)
