"""`rankwell serve`: the REST API and the search page; `rankwell serve keys`: who may use them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rankwell.cli import options

RUN = "run"
KeysFile = Annotated[
    Path | None,
    typer.Option("--keys", help="File of keys (default: serve/keys.json in RANKWELL_HOME).", readable=False),
]


class FolderOrKeys(TyperGroup):
    """`serve DIR` serves, `serve keys ...` looks after keys: what is no command is a folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before a folder."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [RUN, *args]
        return list(super().parse_args(ctx, args))


serve = typer.Typer(
    cls=FolderOrKeys,
    no_args_is_help=True,
    help="The search page and the REST API: rankwell serve DIR (see rankwell serve run --help for its options).",
)
keys = typer.Typer(no_args_is_help=True, help="Who may use the API: make, list and remove keys.")
serve.add_typer(keys, name="keys")


@serve.command(RUN)
def run(
    folder: options.IndexAddress,
    rerank: options.Rerank = None,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", help="Another re-ranker that searches may ask for; several times for more."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8080,
    base_url: Annotated[
        str | None, typer.Option(help="Public address behind a proxy: https://search.example.org")
    ] = None,
    keys_file: KeysFile = None,
    private: Annotated[bool, typer.Option("--private", help="Require a key for reading, too.")] = False,
    judgments: Annotated[
        Path | None,
        typer.Option(help="File of the thumbs (default: DIR.judgments.jsonl; none for ClickHouse).", readable=False),
    ] = None,
    no_judgments: Annotated[bool, typer.Option("--no-judgments", help="Do not collect judgments.")] = False,
    max_k: Annotated[int, typer.Option(help="Last rank that a request may ask for.")] = 1000,
    max_depth: Annotated[int, typer.Option(help="Most documents that a model reads for a request.")] = 200,
    max_body: Annotated[int, typer.Option(help="Largest request body in bytes.")] = 16 * 1024 * 1024,
    timeout: Annotated[float, typer.Option(help="Seconds after which the first stage's results are returned.")] = 10.0,
    threads: Annotated[int, typer.Option(help="Number of searches at the same time (default: number of cores).")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Serve the search page and the REST API of an index until Ctrl-C."""
    from rankwell.apps.search.access import default_keys
    from rankwell.apps.search.application import run as run_server
    from rankwell.apps.search.settings import ServeSettings
    from rankwell.index import scheme_of

    remote = scheme_of(folder) is not None
    beside = None if remote else _beside(Path(folder).resolve())
    settings = ServeSettings(
        folder if remote else Path(folder),
        rerank=rerank,
        models=tuple(models or ()),
        host=host,
        port=port,
        base_url=base_url,
        max_k=max_k,
        max_depth=max_depth,
        max_body=max_body,
        timeout=timeout,
        threads=threads,
        keys=keys_file or default_keys(),
        private=private,
        judgments=None if no_judgments else judgments or beside,
        quiet=quiet,
    )
    run_server(settings, tell=lambda line: print(line, file=sys.stderr, flush=True))


def _beside(folder: Path) -> Path:
    """The file of judgments beside an index."""
    return folder.with_name(f"{folder.name}.judgments.jsonl")


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Whose key it is, or what it is for.")],
    role: Annotated[str, typer.Option(help="read, or write (which may read too).")] = "read",
    keys_file: KeysFile = None,
) -> None:
    """Make a key and print it, once: only its hash is kept."""
    from rankwell.apps.search.access import Keys, default_keys

    print(Keys(keys_file or default_keys()).add(name, role))
    print("Keep it now: it is not shown again. Send it as the header Authorization: Bearer KEY.", file=sys.stderr)


@keys.command("list")
def list_keys(keys_file: KeysFile = None) -> None:
    """The keys that there are."""
    from rankwell.apps.search.access import Keys, default_keys
    from rankwell.report import Column, Table

    rows = [(key.name, key.role, key.made) for key in Keys(keys_file or default_keys()).all()]
    columns = [Column(title, "left") for title in ("name", "role", "made")]
    print(Table("Keys", columns, rows).render("table"), end="")


@keys.command("remove")
def remove(name: Annotated[str, typer.Argument(help="The name of the key.")], keys_file: KeysFile = None) -> None:
    """Remove a key; servers that run refuse it from now on."""
    from rankwell.apps.search.access import Keys, default_keys

    Keys(keys_file or default_keys()).remove(name)
