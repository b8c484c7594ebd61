"""`rankwell review`: systematic reviews, from lists of studies to a collection and to screening in the browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options
from rankwell.cli.options import Quiet
from rankwell.cli.review_simulate import rank_reviews, simulate_reviews

if TYPE_CHECKING:
    from rankwell.reviews import CandidateSource
    from rankwell.reviews.screening.store import Project


def screen(
    project: Annotated[
        str,
        typer.Argument(
            help="The project's file, or postgresql://USER@HOST/NAME; a new one is made.", show_default=False
        ),
    ],
    imported: Annotated[
        list[str] | None,
        typer.Option(
            "--import", help="Records to add: RIS, CSV, .nbib, or any collection. May be given several times."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="What the review is about; the ranking starts from it.")] = None,
    reviewer: Annotated[
        list[str] | None, typer.Option(help="Name of a reviewer; may be given twice, and each gets a link.")
    ] = None,
    bert: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Model that also reads the records, in the background: a short name or a folder.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8000,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Only import; do not open the pages.")] = False,
    quiet: Quiet = False,
) -> None:
    """Screen records in the browser until Ctrl-C: the ranking learns from every decision."""
    from rankwell.core import MissingExtraError

    try:
        from rankwell.reviews.screening.store import open_project
    except ImportError as error:
        raise MissingExtraError("screening", extra="reviews") from error

    if bert is not None:
        _check_model(bert)
    with open_project(project, title=title, reviewers=reviewer or ()) as opened:
        for source in imported or ():
            _add(opened, source, quiet=quiet)
        if no_serve:
            return
        from rankwell.apps.screening.application import run

        run(opened, model=bert, host=host, port=port, quiet=quiet, tell=_tell)


def _check_model(name: str) -> None:
    """A model that is not there is told at once, and not by a thread."""
    from rankwell.models.base import find_model

    find_model(name)


def _add(project: Project, source: str, *, quiet: bool) -> None:
    """Import a file, and say what came of it."""
    from rankwell.cli.options import reading
    from rankwell.core import Progress
    from rankwell.reviews.screening.files import read_records

    with reading(f"reading {source}", "records", quiet=quiet) as how:
        references = read_records(source, how)
    with Progress("looking for duplicates", unit="records", total=len(references), quiet=quiet) as progress:
        found = project.import_references(Path(source).name or source, references, progress)
    _tell(f"{source}: {found.read:,} records, {found.duplicates:,} duplicates set aside, {found.doubtful:,} to look at")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


NCBI = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils/"

review = typer.Typer(no_args_is_help=True, help="Systematic reviews: find their studies, describe them.")
review.command("rank")(rank_reviews)
review.command("simulate")(simulate_reviews)
review.command("screen")(screen)


@review.command("build")
def build(
    reviews: Annotated[
        Path, typer.Argument(help="Reviews: JSON, CSV, or a folder of RIS files.", show_default=False, readable=False)
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder of the collection.", show_default=False, readable=False)
    ],
    local: Annotated[
        Path | None,
        typer.Option(
            help="Search here instead of PubMed: an index of articles, or PubMed's XML files.", readable=False
        ),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="The folder that keeps PubMed's answers.", readable=False)] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use only the kept answers; do not connect to PubMed.")
    ] = False,
    base_url: Annotated[str, typer.Option(help="Address of NCBI's E-utilities.")] = NCBI,
    decisions: Annotated[
        Path | None, typer.Option(help="An ambiguous.csv with yes and no filled in.", readable=False)
    ] = None,
    fewest: Annotated[int, typer.Option(help="Least number of documents of a review.")] = 30,
    candidates: Annotated[int, typer.Option(help="Number of search results to compare with each study.")] = 20,
    shares: Annotated[str, typer.Option(help="Percent of reviews for train, validation, test.")] = "85,7.5,7.5",
    keep_without_abstract: Annotated[
        bool, typer.Option("--keep-without-abstract", help="Also keep articles that have only a title.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed for the split and the relevant examples.")] = 0,
    output: options.Output = "table",
    encoding: options.Encoding = "utf-8",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the studies of reviews in PubMed and make a collection of them. Interrupted, it goes on where it was."""
    from rankwell.cli.options import reading
    from rankwell.core import Progress
    from rankwell.reviews import BuildSettings, MatchingRule, StudyFinder, build_collection, read_reviews
    from rankwell.reviews.build import check_folder, input_record, split_table, verdict_table, write_collection
    from rankwell.reviews.finding import decisions_in

    check_folder(out)
    settings = BuildSettings(fewest, not keep_without_abstract, _shares(shares), seed)
    with reading(f"reading {reviews}", "reviews", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        listed = read_reviews(reviews, how)
    decided = decisions_in(out, decisions)
    total = sum(len(of.studies) for of in listed)
    with _source(local, cache, base_url=base_url, offline=offline, quiet=quiet) as source:
        finder = StudyFinder(source, MatchingRule(), decided, candidates)
        with Progress("finding studies", unit="studies", total=total, quiet=quiet) as progress:
            built = build_collection(listed, finder.find(listed, progress), settings)
        write_collection(out, built, finder, input_record(reviews, listed))
    print("\n".join(table.render(output) for table in (verdict_table(built), split_table(built))), end="")
    if not quiet:
        _say_what_is_left(built.verdicts.total(), len(built.reviews), len(listed), out)


@review.command("stats")
def stats(
    source: Annotated[str, typer.Argument(help="A collection that `review build` made.", show_default=False)],
    split: Annotated[str, typer.Option(help="train, validation, test, or all.")] = "train",
    tokenizer: Annotated[
        str | None, typer.Option(help="Count tokens as this model sees them: a short name or a folder.")
    ] = None,
    limit: Annotated[int, typer.Option(help="The model's token limit.")] = 512,
    output: options.Output = "table",
    pictures: Annotated[Path | None, typer.Option(help="Write the pictures into this folder (PNG).")] = None,
    html: options.Html = None,
    quiet: options.Quiet = False,
) -> None:
    """Describe a collection of reviews: words, tokens, the balance of labels, studies of a review."""
    from rankwell.cli.options import reading
    from rankwell.cli.runs import this_command, write_page
    from rankwell.collections import open_collection
    from rankwell.models.base import TokenCounter, default_tokenizer
    from rankwell.reviews import review_statistics
    from rankwell.reviews.statistics import judgments_of, statistics_page, statistics_pictures, statistics_tables

    collection = open_collection(source)
    model = tokenizer or default_tokenizer()
    counter = TokenCounter(model) if model else None
    with reading(f"reading {source}", "documents", quiet=quiet) as how:
        judgments = judgments_of(collection, split, how)
        documents = how.progress.track(collection.documents(how))
        found = review_statistics(
            documents, collection.queries(reading=how), judgments, count_tokens=counter, token_limit=limit
        )
    if output == "json":
        print(found.to_json(), end="")
    else:
        print("\n".join(table.render(output) for table in statistics_tables(found)), end="")
    for name, picture in (statistics_pictures(found) if pictures else {}).items():
        picture.save((pictures or Path()) / f"{name}.png")
    if pictures:
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        write_page(html, statistics_page(found, f"{source}: reviews ({split})", this_command()))


@contextmanager
def _source(
    local: Path | None, cache: Path | None, *, base_url: str, offline: bool, quiet: bool
) -> Iterator[CandidateSource]:
    """PubMed, or a copy of it."""
    from rankwell.core import Progress
    from rankwell.reviews import EUtilities, PubMedSource, open_local

    if local is not None:
        with Progress(f"indexing {local}", unit="articles", quiet=quiet) as progress:
            copy = open_local(local, progress=progress)
        yield copy
        return
    with EUtilities.open(cache, base_url=base_url, offline=offline) as client:
        if not offline and not quiet and not client.account.email:
            print("note: NCBI asks for an e-mail address: set RANKWELL_NCBI_EMAIL", file=sys.stderr)
        yield PubMedSource(client)


def _shares(text: str) -> tuple[float, ...]:
    from rankwell.core import ParameterError

    try:
        return tuple(float(part) / 100 for part in text.split(","))
    except ValueError as error:
        raise ParameterError("--shares", expected="three numbers: 85,7.5,7.5", found=text) from error


def _say_what_is_left(studies: int, kept: int, reviews: int, out: Path) -> None:
    print(
        f"{out}: {kept:,} of {reviews:,} reviews; what was found for each of {studies:,} studies: {out}/studies.csv",
        file=sys.stderr,
    )
    print(f"to decide what is ambiguous, write yes or no into {out}/ambiguous.csv and run this again", file=sys.stderr)
