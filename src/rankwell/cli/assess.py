"""`rankwell assess`: let people judge passages, and make labels, agreement figures and a report of their grades."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from rankwell.cli import backups, options
from rankwell.collections import read_qrels, read_queries, write_qrels
from rankwell.collections.formats.trec import is_whole
from rankwell.core import Judgments, MissingExtraError, ParameterError, RankwellError
from rankwell.evaluation.significance import mark
from rankwell.index.opening import find_documents
from rankwell.judging import LabelRules, create_study, measure_agreement, open_study, run_experiments
from rankwell.judging import report as tables
from rankwell.judging.grades import Gathered, gather
from rankwell.judging.labels import GRADED, make_labels, thresholds_of, with_original
from rankwell.judging.report import Assessment, assessment_page, assessment_pictures, group_pictures
from rankwell.report import Table

if TYPE_CHECKING:
    from rankwell.store import Schema

assess = Typer(
    cls=options.CommandGroup,
    no_args_is_help=True,
    help="Collect relevance judgments from several people, and make labels from them.",
)
DATABASE = "RANKWELL_DATABASE"  # the variable
StudyDatabase = Annotated[
    str,
    Argument(metavar="DATABASE", envvar=DATABASE, help="The study's database: a file, or postgresql://USER@HOST/NAME."),
]
Source = Annotated[str, Argument(metavar="GRADES", help="Exported grades (TSV, CSV or JSON), or a study's database.")]
Original = Annotated[Path | None, Option(help="Earlier judgments (a database has those of its pool).", readable=False)]
Thresholds = Annotated[
    list[str] | None, Option("--threshold", help="Binary label set: NAME=GRADE or GRADE (default: liberal and strict).")
]
LeastAssessors = Annotated[
    int | None,
    Option("--assessors", help="Least number of assessors of a query (default: what the study asked for, else 3)."),
]
English = Annotated[
    int | None, Option(help="Leave out assessors with a lower level of English (re-assessment study: 7).")
]
Complete = Annotated[float, Option(help="Ignore assessors who graded less than this share of a query's passages.")]
Missing = Annotated[
    str,
    Option(
        help="Graded label where an answer is missing and the others differ: lowest (as in the re-assessment study), "
        "or median of the rest."
    ),
]
Confirmed = Annotated[
    bool | None,
    Option(help="Keep only queries whose known relevant passage was judged relevant (default with --original)."),
]
Lowest = Annotated[int | None, Option(help="Lowest grade of the scale (default: the study's, else 0 or 1).")]


@assess.command("create")
def create(
    study: Annotated[Path, Argument(help="STUDY.toml: what is to be judged.", readable=False)],
    out: Annotated[
        str | None,
        Option(
            *("--out", "-o"),
            envvar=DATABASE,
            help="The new database: a file (STUDY.db if not named), or postgresql://USER@HOST/NAME.",
        ),
    ] = None,
    queries: Annotated[str | None, Option(help="Queries of any format, where the study names none.")] = None,
    collection: Annotated[
        str | None, Option(help="Where the texts are: any format, or an index; where the study names none.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a study: its queries, passages and rules become a database, ready for assessors."""
    database = out or str(study.with_suffix(".db"))
    with options.reading("reading", "records", quiet=quiet) as how:
        made = create_study(
            study, database, queries=queries, collection=collection, documents=find_documents, reading=how
        )
    with made:
        progress = made.progress()
        code = made.invitations.invite(administrator=True)
    passages = sum(query.passages for query in progress.queries)
    wanted = made.study.assessors_per_query
    print(f"{made.database.name}: {len(progress.queries):,} queries, {passages:,} passages, {wanted} assessors a query")
    print(f"administrator's code, for one person and shown only now: {code}")


@assess.command("invite")
def invite(
    database: StudyDatabase,
    places: Annotated[int, Option(help="Number of people who may use the code.")] = 1,
    administrator: Annotated[bool, Option("--administrator", help="Let them administer the study.")] = False,
    days: Annotated[int, Option(help="Days that the code is valid.")] = 30,
) -> None:
    """Print a new invitation code; the database keeps only its hash."""
    with open_study(database) as study:
        print(study.invitations.invite(places, administrator=administrator, days=days))


@assess.command("status")
def status(
    database: StudyDatabase,
    by: Annotated[str, Option(help="Print a table by query or by assessor.")] = "query",
    output: options.Output = "table",
) -> None:
    """How far a study is, by query or by assessor."""
    from rankwell.judging.progress import assessor_table, query_table, totals

    tables = {"query": query_table, "assessor": assessor_table}
    if by not in tables:
        raise ParameterError("--by", expected=f"one of {', '.join(tables)}", found=by)
    with open_study(database) as study:
        progress = study.progress()
        watched = study.watch() if by == "assessor" else None
    table = tables[by](progress) if watched is None else assessor_table(progress, watched.gold)
    if table.rows or output != "table":
        options.show(output, table)
    else:
        options.tell("nobody has judged yet: rankwell assess invite makes a code, rankwell assess serve the page")
    options.warn(f"{remark.assessor}: {remark.told}" for remark in (watched.remarks if watched else ()))
    options.tell(f"{progress.study.title}: {totals(progress)}")


@assess.command("export")
def export(
    database: StudyDatabase,
    out: Annotated[Path, Option("--out", "-o", help="The file to write.", readable=False)],
    format: Annotated[
        str | None, Option("--format", help="Format: tsv, csv or json (default: by the file's name).")
    ] = None,
    notes: Annotated[
        Path | None, Option(help="Also write the assessors' notes into this file.", readable=False)
    ] = None,
    adjudications: Annotated[
        Path | None, Option(help="Also write what adjudicators decided, with their notes.", readable=False)
    ] = None,
) -> None:
    """Write every grade with random assessor ids, its time and the order of presentation; nothing personal."""
    from rankwell.judging.export import Adjudicated, Noted, write_export

    with open_study(database) as study:
        written = write_export(out, study.answers(), format)
        remarked = write_export(notes, study.notes(), format, Noted) if notes else 0
        decided = study.adjudications() if adjudications else []
        if adjudications:
            write_export(adjudications, decided, format, Adjudicated)
    options.tell(f"{out}: {written:,} grades")
    if notes:
        options.tell(f"{notes}: {remarked:,} notes, in the assessors' own words")
    if adjudications:
        options.tell(f"{adjudications}: {len(decided):,} adjudicated grades, with the adjudicators' notes")


@assess.command("gold")
def gold(
    database: StudyDatabase,
    qrels: Annotated[Path, Argument(help="Passages of the study with their right grades.", readable=False)],
) -> None:
    """Hide gold questions: passages of the study whose right grade is known; `status --by assessor` has the scores."""
    known = read_qrels(qrels)
    with open_study(database) as study:
        marked = study.set_gold(known)
    left_out = f"; {len(known) - marked:,} are not in the study" if marked < len(known) else ""
    options.tell(f"{marked:,} gold questions{left_out}")


@assess.command("training")
def training(
    database: StudyDatabase,
    questions: Annotated[
        Path, Argument(help="Questions (CSV, TSV or JSON lines): query, grade, why, and the texts.", readable=False)
    ],
) -> None:
    """Give a study a training round: who does not reach the study's pass_mark is given no queries."""
    with open_study(database) as study:
        from rankwell.judging.training import read_training

        count = study.training.set_questions(read_training(questions))
        mark, tries = study.study.pass_mark, study.study.training_tries
    options.tell(f"{count:,} training questions; {mark:.0%} must be right, in one of {tries} tries")


@assess.command("backup")
def back_up(database: StudyDatabase, file: backups.BackupFile, replace: backups.Replace = False) -> None:
    """Write the whole study into a file, also while it is served: JSON lines, or a SQLite database."""
    backups.back_up_database(database, _schema(), file, replace=replace)


@assess.command("restore")
def restore(file: backups.BackupFile, database: StudyDatabase, replace: backups.Replace = False) -> None:
    """Restore a study from a backup, into a new file or an empty PostgreSQL database."""
    backups.restore_database(file, database, _schema(), replace=replace)


def _schema() -> Schema:
    try:
        from rankwell.judging.schema import STUDY
    except ImportError as error:
        raise MissingExtraError("a study's database", extra="assess") from error
    return STUDY


@assess.command()
def labels(
    source: Source,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the qrels files.")],
    original: Original = None,
    threshold: Thresholds = None,
    assessors: LeastAssessors = None,
    english: English = None,
    complete: Complete = 0.5,
    missing: Missing = "lowest",
    lowest: Lowest = None,
    confirmed: Confirmed = None,
    merge: Annotated[bool, Option("--merge", help="Merge the new labels into the original ones.")] = False,
    output: options.Output = "table",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Make judgments of grades: a binary set for each threshold by majority vote, a graded one by the median."""
    gathered, known = _read(source, original, skip_bad=skip_bad, quiet=quiet)
    if merge and original is None:
        raise ParameterError("--merge", expected="--original QRELS, to have something to merge with", found="none")
    rules = _rules(gathered, threshold, assessors, english, complete, missing, lowest)
    wanted = confirmed if confirmed is not None else known is not None and not merge
    made = make_labels(gathered.grades, known, rules, confirmed=wanted)
    labelled = tables.labels_table(made, rules.thresholds, rules.lowest)
    _show_tables(output, labels=labelled, queries=tables.fates_table(made))
    options.warn(made.notes())
    if not made.kept:
        raise RankwellError("labels: no query was kept, nothing was written")
    for name, judged in made.sets.items():
        whole = with_original(judged, known, binary=name != GRADED) if merge and known is not None else judged
        write_qrels(out / f"{name}.qrels", whole)
        options.tell(f"labels: {out / f'{name}.qrels'}")


@assess.command()
def agreement(
    source: Source,
    threshold: Thresholds = None,
    english: English = None,
    lowest: Lowest = None,
    seed: Annotated[int, Option(help="Random seed for the intervals.")] = 0,
    output: options.Output = "table",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """How far assessors agree: Fleiss' kappa, Krippendorff's alpha, and everybody beside the others."""
    gathered, _ = _read(source, skip_bad=skip_bad, quiet=quiet)
    rules = _rules(gathered, threshold, lowest=lowest)
    measured = measure_agreement(gathered.grades.only(english=english), rules.thresholds, seed=seed)
    _show_tables(output, agreement=tables.agreement_table(measured), assessors=tables.assessors_table(measured))
    options.warn(measured.warnings())


@assess.command()
def report(
    source: Source,
    runs: Annotated[
        list[Path] | None, Argument(help="The run to compare with, and those to compare.", readable=False)
    ] = None,
    original: Original = None,
    threshold: Thresholds = None,
    assessors: LeastAssessors = None,
    english: English = None,
    complete: Complete = 0.5,
    missing: Missing = "lowest",
    lowest: Lowest = None,
    confirmed: Confirmed = None,
    marks: options.Marks = "stars",
    output: options.Output = "table",
    html: options.Html = None,
    pictures: options.Pictures = None,
    queries: Annotated[
        str | None, Option(help="Queries, for results by length and answer type (a database has them).")
    ] = None,
    name: options.Names = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """See whether a verdict holds: old labels against new, and run against run under each of them."""
    gathered, known = _read(source, original, skip_bad=skip_bad, quiet=quiet)
    if runs and known is None:
        raise ParameterError("--original", expected="the judgments there were before", found="none")
    rules = _rules(gathered, threshold, assessors, english, complete, missing, lowest)
    by_name = options.read_runs(runs, name, skip_bad=skip_bad, quiet=quiet) if runs else {}
    made = make_labels(gathered.grades, known, rules, confirmed=confirmed)
    counted = gathered.grades.only(english=english)
    experiments = run_experiments(made, by_name, lowest=rules.lowest) if runs else None
    texts = read_queries(queries).texts() if queries else gathered.texts
    assessment = Assessment(counted, rules, made, measure_agreement(counted, rules.thresholds), experiments, texts)
    _show_assessment(assessment, marks, output)
    if pictures:
        kinds = group_pictures(experiments, texts) if experiments else {}
        options.write_pictures(pictures, assessment_pictures(counted, made) | kinds)
    if html:
        title = ", ".join([f"{Path(source).stem}: new labels", *by_name])
        options.write_page(html, assessment_page(assessment, title, marks=marks, command=options.this_command()))


def _show_assessment(assessment: Assessment, marks: str, output: str) -> None:
    """The experiments; without runs what the labels are and how far people agree."""
    experiments, rules = assessment.experiments, assessment.rules
    if experiments is None:
        labels = tables.labels_table(assessment.labels, rules.thresholds, rules.lowest)
        _show_tables(output, labels=labels, agreement=tables.agreement_table(assessment.agreement))
        options.warn(assessment.agreement.warnings())
        return
    if output in ("csv", "json"):
        options.show(output, tables.experiments_table(experiments, marks))
    else:
        each = [tables.experiment_table(experiment, marks) for experiment in experiments.all]
        options.show(output, tables.verdict_table(experiments, marks), *each, tables.unjudged_table(experiments))
    if output == "table":
        print(f"\npaired t-test. {mark(marks).legend} {tables.IN_BRACKETS}")
    options.warn(experiments.notes)


def _show_tables(output: str, **by_name: Table) -> None:
    """Print several tables; in JSON as one object with a list for each."""
    if output == "json":
        print(json.dumps({name: json.loads(table.render("json")) for name, table in by_name.items()}, indent=2))
    else:
        options.show(output, *by_name.values())


def _read(
    source: str, original: Path | None = None, *, skip_bad: bool, quiet: bool
) -> tuple[Gathered, Judgments | None]:
    """The grades, and the earlier judgments: of the file, else those that the study's database knows."""
    with options.reading("reading grades", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        gathered = gather(source, reading=how)
    if original is None:
        return gathered, gathered.original
    with options.reading("reading", "lines", skip_bad=skip_bad, quiet=quiet) as how:
        return gathered, read_qrels(original, reading=how)


def _rules(
    gathered: Gathered,
    threshold: list[str] | None,
    assessors: int | None = None,
    english: int | None = None,
    complete: float = 0.5,
    missing: str = "lowest",
    lowest: int | None = None,
) -> LabelRules:
    first = gathered.lowest if lowest is None else lowest
    thresholds = dict(map(_threshold, threshold or ())) or thresholds_of(first, max(gathered.highest, first + 1))
    needed = gathered.assessors if assessors is None else assessors
    return LabelRules(first, thresholds, needed, english, complete, missing)


def _threshold(text: str) -> tuple[str, int]:
    """`strict=3`, or a bare grade, whose set is called after it."""
    name, equals, grade = text.rpartition("=")
    if not is_whole(grade) or (equals and not name.isidentifier()):
        raise ParameterError("--threshold", expected="NAME=GRADE or GRADE, such as strict=3", found=text)
    return name or f"from-{int(grade)}", int(grade)


@assess.command()
def serve(
    database: StudyDatabase,
    host: Annotated[str, Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen at.")] = 8000,
    base_url: Annotated[str | None, Option(help="Public address behind a proxy: https://judge.example.org")] = None,
    admin: Annotated[
        str | None, Option(help="Print a link that signs this e-mail address in as administrator.")
    ] = None,
    secure: Annotated[
        bool, Option("--secure", help="Send cookies over HTTPS only (always, with an https:// address).")
    ] = False,
    new_code: Annotated[
        bool,
        Option("--new-admin-code", help="Withdraw the administrator's link of an earlier start, and print another."),
    ] = False,
    backup_every: backups.Every = None,
    backup_dir: backups.Folder = None,
    keep: backups.Kept = backups.KEPT,
    quiet: options.Quiet = False,
) -> None:
    """Serve the judging pages until Ctrl-C; people come in by invitation, and by e-mail with RANKWELL_SMTP_HOST."""
    with open_study(database) as study:
        from rankwell.apps.assess.application import run
        from rankwell.judging.schema import STUDY

        with backups.snapshots(study.database, STUDY, backup_every, backup_dir, keep):
            serving = partial(run, study, host=host, port=port, base_url=base_url, admin=admin, secure=secure)
            serving(new_code=new_code, quiet=quiet, tell=options.tell)
