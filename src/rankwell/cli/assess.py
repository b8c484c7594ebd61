"""`rankwell assess`: let people judge passages, and make judgments of what they gave."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli.assess_labels import agreement, labels, report
from rankwell.cli.options import Output, Quiet

if TYPE_CHECKING:
    from rankwell.collections import Reading
    from rankwell.core import Document


StudyDatabase = Annotated[
    str,
    typer.Argument(
        metavar="DATABASE",
        envvar="RANKWELL_DATABASE",
        help="The study's database: a file, or postgresql://USER@HOST/NAME.",
        show_default=False,
    ),
]


def serve(
    database: StudyDatabase,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8000,
    base_url: Annotated[
        str | None,
        typer.Option(help="Public address behind a proxy: https://judge.example.org"),
    ] = None,
    admin: Annotated[
        str | None, typer.Option(help="Print a link that signs this e-mail address in as administrator.")
    ] = None,
    secure: Annotated[
        bool, typer.Option("--secure", help="Send cookies over HTTPS only (always, with an https:// address).")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Serve the judging pages until Ctrl-C; people come in by invitation, and by e-mail with RANKWELL_SMTP_HOST."""
    from rankwell.judging import open_study

    with open_study(database) as study:
        from rankwell.apps.assess.application import run

        run(
            study,
            host=host,
            port=port,
            base_url=base_url,
            admin=admin,
            secure=secure,
            quiet=quiet,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
        )


assess = typer.Typer(
    no_args_is_help=True, help="Collect relevance judgments from several people, and make labels from them."
)


@assess.command("create")
def create(
    study: Annotated[
        Path, typer.Argument(help="STUDY.toml: what is to be judged.", show_default=False, readable=False)
    ],
    out: Annotated[
        str | None,
        typer.Option(
            *("--out", "-o"),
            envvar="RANKWELL_DATABASE",
            help="The new database: a file (STUDY.db if not named), or postgresql://USER@HOST/NAME.",
        ),
    ] = None,
    queries: Annotated[str | None, typer.Option(help="Queries of any format, where the study names none.")] = None,
    collection: Annotated[
        str | None, typer.Option(help="Where the texts are: any format, or an index; where the study names none.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a study: its queries, passages and rules become a database, ready for assessors."""
    from rankwell.cli.options import reading
    from rankwell.judging import create_study

    database = out or str(study.with_suffix(".db"))
    with reading("reading", "records", quiet=quiet) as how:
        made = create_study(
            study, database, queries=queries, collection=collection, documents=_find_documents, reading=how
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
    places: Annotated[int, typer.Option(help="Number of people who may use the code.")] = 1,
    administrator: Annotated[bool, typer.Option("--administrator", help="Let them administer the study.")] = False,
    days: Annotated[int, typer.Option(help="Days that the code is valid.")] = 30,
) -> None:
    """Print a new invitation code; the database keeps only its hash."""
    from rankwell.judging import open_study

    with open_study(database) as study:
        print(study.invitations.invite(places, administrator=administrator, days=days))


@assess.command("status")
def status(
    database: StudyDatabase,
    by: Annotated[str, typer.Option(help="Print a table by query or by assessor.")] = "query",
    output: Output = "table",
) -> None:
    """How far a study is, by query or by assessor."""
    from rankwell.cli.runs import show
    from rankwell.core import ParameterError
    from rankwell.judging import open_study
    from rankwell.judging.progress import assessor_table, query_table, totals

    tables = {"query": query_table, "assessor": assessor_table}
    if by not in tables:
        raise ParameterError("--by", expected=f"one of {', '.join(tables)}", found=by)
    with open_study(database) as study:
        progress = study.progress()
    show(tables[by](progress), output)
    print(f"{progress.study.title}: {totals(progress)}", file=sys.stderr)


@assess.command("export")
def export(
    database: StudyDatabase,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.", show_default=False, readable=False)],
    format: Annotated[
        str | None, typer.Option("--format", help="Format: tsv, csv or json (default: by the file's name).")
    ] = None,
    notes: Annotated[
        Path | None,
        typer.Option(help="Also write the assessors' notes into this file.", readable=False),
    ] = None,
) -> None:
    """Write every grade with random assessor ids, its time and the order of presentation; nothing personal."""
    from rankwell.judging import open_study
    from rankwell.judging.export import Noted, write_export

    with open_study(database) as study:
        written = write_export(out, study.answers(), format)
        remarked = write_export(notes, study.notes(), format, Noted) if notes else 0
    print(f"{out}: {written:,} grades", file=sys.stderr)
    if notes:
        print(f"{notes}: {remarked:,} notes, in the assessors' own words", file=sys.stderr)


def _find_documents(source: str, wanted: frozenset[str], reading: Reading) -> Iterator[Document]:
    """The wanted documents: of an index by their ids, of any other collection by reading through it."""
    from rankwell.index import Index, is_index
    from rankwell.judging.opening import scan_collection

    if not is_index(Path(source)):
        return scan_collection(source, wanted, reading)
    documents = Index.open(source).documents
    return (documents[docno] for docno in sorted(wanted) if docno in documents)


for command in (labels, agreement, report, serve):
    assess.command()(command)
