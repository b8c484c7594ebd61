"""`rankwell review`: systematic reviews, from lists of studies to a collection, its ranking, and screening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option, Typer

from rankwell import reviews
from rankwell.cli import backups, options
from rankwell.collections import open_collection, write_run
from rankwell.collections.formats.rwrun import run_format
from rankwell.core import MissingExtraError, ParameterError, Progress
from rankwell.models.base import TokenCounter, default_tokenizer, find_model
from rankwell.report.table import RENDERERS
from rankwell.reviews import build as building
from rankwell.reviews import finding, screening, statistics
from rankwell.reviews.screening import figures, rankers
from rankwell.reviews.screening.reader import Reader

if TYPE_CHECKING:
    from rankwell.store import Schema

NCBI = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"
review = Typer(
    cls=options.CommandGroup,
    no_args_is_help=True,
    help="Systematic reviews: find studies, rank and screen records, simulate.",
)
Source = Annotated[str, Argument(metavar="COLLECTION", help="A collection of reviews with their judgments.")]
Split = Annotated[
    str | None, Option("--split", help="Which reviews: test, validation, train or all; test if there is one.")
]
Bert = Annotated[str, Option("--bert", metavar="MODEL", help="The model of learner+bert: a short name or a folder.")]
RankerSeed = Annotated[int, Option("--seed", help="Random seed for the starts and the random ranker.")]


@review.command()
def rank(
    source: Source,
    out: options.RunOut,
    ranker: Annotated[
        str, Option(help="bm25, linear, learner or learner+bert (by likeness to the title), or random.")
    ] = "bm25",
    split: Split = None,
    bert: Bert = "minilm-l6",
    seed: RankerSeed = 0,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Rank each review's own records by its title, and say how well: MAP, accuracy, and the work that is saved."""
    _check_output(output)
    chosen = screening.ranker_named(ranker)
    setting = _setting(source, split, [ranker], bert, seed=seed, quiet=quiet)
    with Progress("ranking", unit="reviews", total=len(setting.reviews), quiet=quiet) as progress:
        ordering = chosen(setting)
        run = screening.ranked(list(progress.track(setting.reviews)), ordering, ranker)
    write_run(out, run, run_format(out))
    options.warn(setting.notes)
    options.show(output, figures.ranking_table(run, setting))
    if not quiet:
        options.tell(f"{out}: {len(run.qids):,} reviews, {len(run):,} records")


@review.command()
def simulate(
    source: Source,
    ranker: Annotated[
        list[str] | None,
        Option("--ranker", help="learner, learner+bert, bm25, linear or random; several times for more."),
    ] = None,
    run: Annotated[
        list[Path] | None, Option("--run", help="Also replay the order of this run.", readable=False)
    ] = None,
    starts: Annotated[int, Option(help="Number of simulations, each with other known records.")] = 10,
    seed: RankerSeed = 0,
    recall: Annotated[float, Option(help="Recall at which saved work is measured.")] = 0.95,
    again: Annotated[
        float, Option(help="Retrain when the number of decisions has grown by this share (0: after each).")
    ] = 0.02,
    split: Split = None,
    bert: Bert = "minilm-l6",
    pictures: Annotated[Path | None, Option(help="Write the recall curves into this folder (PNG).")] = None,
    html: options.Html = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Replay finished reviews, to see how much work each ranker would have saved."""
    _check_output(output)
    names = list(dict.fromkeys(ranker or ([] if run else ["learner"])))
    setting = _setting(source, split, names, bert, seed=seed, quiet=quiet).for_replay()
    by_name = _rankers(setting, names, run or [])
    total = len(setting.reviews) * len(by_name) * starts
    with Progress("simulating", unit="simulations", total=total, quiet=quiet) as progress:
        replays = screening.replay(
            setting.reviews, by_name, count=starts, seed=seed, again=again, recall=recall, progress=progress
        )
    options.warn(setting.notes)
    options.show(output, figures.figures_table(replays, output))
    if pictures:
        curves = figures.recall_pictures(replays).items()
        options.write_pictures(pictures, {f"recall-{_file_name(name)}": picture for name, picture in curves})
    if html:
        options.write_page(
            html, figures.replays_page(replays, f"{source}: simulated screening", options.this_command(), setting.notes)
        )


def _check_output(output: str) -> None:
    """Refuse an unknown form of output before the work, not after it."""
    if output not in RENDERERS:
        raise ParameterError("output", expected=f"one of {', '.join(RENDERERS)}", found=output)


def _setting(
    source: str, split: str | None, names: Sequence[str], bert: str, *, seed: int, quiet: bool
) -> screening.Setting:
    """The reviews, and what the asked rankers may learn from; an unknown ranker or model is refused before that."""
    if seed < 0:
        raise ParameterError("--seed", expected="a whole number from 0", found=seed)
    for name in names:
        screening.ranker_named(name)
    reads = any(name.endswith("+bert") for name in names)
    if reads:
        find_model(bert)
    with options.reading(f"reading {source}", "documents", quiet=quiet) as how:
        learning = "linear" in names
        setting = screening.read_setting(open_collection(source), split, learning=learning, seed=seed, reading=how)
    if reads:  # it reads all records, which takes minutes the first time; what it read is kept
        reader, total = Reader.open(bert), sum(len(review.records) for review in setting.reviews)
        with Progress(f"{bert} reads", unit="records", total=total, quiet=quiet) as progress:
            for review in setting.reviews:
                reader.read(review.records, progress)
    return replace(setting, model=bert)


def _rankers(setting: screening.Setting, names: Sequence[str], runs: Sequence[Path]) -> dict[str, rankers.Ranker]:
    by_name = {name: screening.ranker_named(name)(setting) for name in names}
    for name, run in options.read_runs(runs, None, skip_bad=False, quiet=True).items():
        if name in by_name:
            raise ParameterError("--run", expected="a file whose name is not that of a ranker", found=name)
        by_name[name] = screening.by_run(run)
        unknown = [review.name for review in setting.reviews if review.name not in run]
        if unknown:
            setting.notes.append(f"{name} has nothing for {len(unknown):,} reviews, whose records keep their order")
    return by_name


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


@review.command()
def screen(
    project: Annotated[str, Argument(help="The project's file, or postgresql://USER@HOST/NAME; a new one is made.")],
    imported: Annotated[
        list[str] | None,
        Option("--import", help="Records to add: RIS, CSV, .nbib, or any collection. May be given several times."),
    ] = None,
    title: Annotated[str | None, Option(help="What the review is about; the ranking starts from it.")] = None,
    reviewer: Annotated[
        list[str] | None, Option(help="Name of a reviewer; may be given twice, and each gets a link.")
    ] = None,
    bert: Annotated[
        str | None,
        Option(metavar="MODEL", help="Model that also reads the records, in the background: a short name or a folder."),
    ] = None,
    host: Annotated[str, Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen at.")] = 8000,
    no_serve: Annotated[bool, Option("--no-serve", help="Only import; do not open the pages.")] = False,
    backup_every: backups.Every = None,
    backup_dir: backups.Folder = None,
    keep: backups.Kept = backups.KEPT,
    quiet: options.Quiet = False,
) -> None:
    """Screen records in the browser until Ctrl-C: the ranking learns from every decision."""
    try:
        from rankwell.reviews.screening.files import read_records
        from rankwell.reviews.screening.store import open_project
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error

    if bert is not None:
        find_model(bert)  # one that is not there is told at once, and not by a thread
    with open_project(project, title=title, reviewers=reviewer or ()) as opened:
        for source in imported or ():
            with options.reading(f"reading {source}", "records", quiet=quiet) as how:
                references = read_records(source, how)
            with Progress("looking for duplicates", unit="records", total=len(references), quiet=quiet) as progress:
                outcome = opened.import_references(Path(source).name or source, references, progress)
            duplicates = f"{outcome.duplicates:,} duplicates set aside, {outcome.doubtful:,} to look at"
            options.tell(f"{source}: {outcome.read:,} records, {duplicates}")
        if no_serve:
            return
        from rankwell.apps.screening.application import run

        with backups.snapshots(opened.database, _schema(), backup_every, backup_dir, keep):
            run(opened, model=bert, host=host, port=port, quiet=quiet, tell=options.tell)


ProjectDatabase = Annotated[
    str, Argument(metavar="PROJECT", help="The project's file, or postgresql://USER@HOST/NAME.")
]


@review.command("backup")
def back_up(project: ProjectDatabase, file: backups.BackupFile, replace: backups.Replace = False) -> None:
    """Write the whole project into a file, also while it is served: JSON lines, or a SQLite database."""
    backups.back_up_database(project, _schema(), file, replace=replace)


@review.command("restore")
def restore(file: backups.BackupFile, project: ProjectDatabase, replace: backups.Replace = False) -> None:
    """Restore a project from a backup, into a new file or an empty PostgreSQL database."""
    backups.restore_database(file, project, _schema(), replace=replace)


def _schema() -> Schema:
    try:
        from rankwell.reviews.screening.tables import PROJECT
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error
    return PROJECT


@review.command()
def build(
    listed: Annotated[
        Path, Argument(metavar="reviews", help="Reviews: JSON, CSV, or a folder of RIS files.", readable=False)
    ],
    out: Annotated[Path, Option("--out", "-o", help="The folder of the collection.", readable=False)],
    local: Annotated[
        Path | None,
        Option(help="Search here instead of PubMed: an index of articles, or PubMed's XML files.", readable=False),
    ] = None,
    cache: Annotated[Path | None, Option(help="The folder that keeps PubMed's answers.", readable=False)] = None,
    offline: Annotated[bool, Option("--offline", help="Use only the kept answers; do not connect to PubMed.")] = False,
    base_url: Annotated[str, Option(help="Address of NCBI's E-utilities.")] = NCBI,
    decisions: Annotated[
        Path | None, Option(help="An ambiguous.csv with yes and no filled in.", readable=False)
    ] = None,
    fewest: Annotated[int, Option(help="Least number of documents of a review.")] = 30,
    candidates: Annotated[int, Option(help="Number of search results to compare with each study.")] = 20,
    shares: Annotated[str, Option(help="Percent of reviews for train, validation, test.")] = "85,7.5,7.5",
    keep_without_abstract: Annotated[
        bool, Option("--keep-without-abstract", help="Also keep articles that have only a title.")
    ] = False,
    seed: Annotated[int, Option(help="Random seed for the split and the relevant examples.")] = 0,
    output: options.Output = "table",
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the studies of reviews in PubMed and make a collection of them. Interrupted, it goes on where it was."""
    building.check_folder(out)
    parts = tuple(part / 100 for part in options.parse_numbers("--shares", shares, "three numbers: 85,7.5,7.5"))
    settings = reviews.BuildSettings(fewest, not keep_without_abstract, parts, seed)
    with options.reading(f"reading {listed}", "reviews", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        wanted = reviews.read_reviews(listed, how)
    decided = finding.decisions_in(out, decisions)
    total = sum(len(of.studies) for of in wanted)
    with _source(local, cache, base_url=base_url, offline=offline, quiet=quiet) as source:
        finder = reviews.StudyFinder(source, reviews.MatchingRule(), decided, candidates)
        with Progress("finding studies", unit="studies", total=total, quiet=quiet) as progress:
            built = reviews.build_collection(wanted, finder.find(wanted, progress), settings)
        reviews.write_collection(out, built, finder, building.input_record(listed, wanted))
    options.show(output, building.verdict_table(built), building.split_table(built))
    if not quiet:
        kept, studies = f"{len(built.reviews):,} of {len(wanted):,} reviews", f"{built.verdicts.total():,} studies"
        options.tell(f"{out}: {kept}; what was found for each of {studies}: {out}/studies.csv")
        options.tell(f"to decide what is ambiguous, write yes or no into {out}/ambiguous.csv and run this again")


@review.command()
def stats(
    source: Annotated[str, Argument(help="A collection that `review build` made.")],
    split: Annotated[str, Option(help="train, validation, test, or all.")] = "train",
    tokenizer: options.Tokenizer = None,
    limit: options.TokenLimit = 512,
    output: options.Output = "table",
    pictures: options.Pictures = None,
    html: options.Html = None,
    quiet: options.Quiet = False,
) -> None:
    """Describe a collection of reviews: words, tokens, the balance of labels, studies of a review."""
    collection = open_collection(source)
    model = tokenizer or default_tokenizer()
    counter = TokenCounter(model) if model else None
    with options.reading(f"reading {source}", "documents", quiet=quiet) as how:
        judgments = statistics.judgments_of(collection, split, how)
        documents = how.progress.track(collection.documents(how))
        summary = reviews.review_statistics(
            documents, collection.queries(reading=how), judgments, count_tokens=counter, token_limit=limit
        )
    if output == "json":
        print(summary.to_json(), end="")
    else:
        options.show(output, *statistics.statistics_tables(summary))
    if pictures:
        options.write_pictures(pictures, statistics.statistics_pictures(summary))
    if html:
        options.write_page(
            html, statistics.statistics_page(summary, f"{source}: reviews ({split})", options.this_command())
        )


@contextmanager
def _source(
    local: Path | None, cache: Path | None, *, base_url: str, offline: bool, quiet: bool
) -> Iterator[reviews.CandidateSource]:
    """PubMed, or a copy of it."""
    if local is not None:
        with Progress(f"indexing {local}", unit="articles", quiet=quiet) as progress:
            copy = reviews.open_local(local, progress=progress)
        yield copy
        return
    with reviews.EUtilities.open(cache, base_url=base_url, offline=offline) as client:
        if not offline and not quiet and not client.account.email:
            options.tell("note: NCBI asks for an e-mail address: set RANKWELL_NCBI_EMAIL")
        yield reviews.PubMedSource(client)
