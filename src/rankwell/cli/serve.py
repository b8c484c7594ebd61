"""`rankwell serve`: the REST API and the search page; `rankwell serve keys`: who may use them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer
from typer.core import TyperGroup

from rankwell.apps.search.access import Keys, default_keys
from rankwell.cli import options
from rankwell.report import Column, Table

RUN = "run"
KeysFile = Annotated[
    Path | None, Option("--keys", help="File of keys (default: serve/keys.json in RANKWELL_HOME).", readable=False)
]


class FolderOrKeys(TyperGroup):
    """`serve DIR` serves, `serve keys ...` looks after keys: what is no command is a folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before a folder."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = [RUN, *args]
        return list(super().parse_args(ctx, args))


serve = Typer(
    cls=FolderOrKeys,
    no_args_is_help=True,
    help="The search page and the REST API: rankwell serve DIR (see rankwell serve run --help for its options).",
)
keys = Typer(no_args_is_help=True, help="Who may use the API: make, list and remove keys.")
serve.add_typer(keys, name="keys")


@serve.command(RUN)
def run(
    folder: options.IndexAddress,
    rerank: Annotated[
        str | None, Option(help="Re-rank the top with this cross-encoder.", autocompletion=options.cross_encoders)
    ] = None,
    models: Annotated[
        list[str] | None, Option("--model", help="Another re-ranker that searches may ask for; several times for more.")
    ] = None,
    host: Annotated[str, Option(help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen at.")] = 8080,
    base_url: Annotated[str | None, Option(help="Public address behind a proxy: https://search.example.org")] = None,
    keys_file: KeysFile = None,
    private: Annotated[bool, Option("--private", help="Require a key for reading, too.")] = False,
    judgments: Annotated[
        Path | None,
        Option(help="File of the thumbs (default: DIR.judgments.jsonl; none for ClickHouse).", readable=False),
    ] = None,
    no_judgments: Annotated[bool, Option("--no-judgments", help="Do not collect judgments.")] = False,
    max_k: Annotated[int, Option(help="Last rank that a request may ask for.")] = 1000,
    max_depth: Annotated[int, Option(help="Most documents that a model reads for a request.")] = 200,
    max_body: Annotated[int, Option(help="Largest request body in bytes.")] = 16 * 1024 * 1024,
    timeout: Annotated[float, Option(help="Seconds after which the first stage's results are returned.")] = 10.0,
    threads: Annotated[int, Option(help="Number of searches at the same time (default: number of cores).")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Serve the search page and the REST API of an index until Ctrl-C."""
    from rankwell.apps.search.application import run as run_server
    from rankwell.apps.search.settings import ServeSettings
    from rankwell.index import scheme_of

    here = Path(folder) if scheme_of(folder) is None else None
    beside = here and here.resolve().with_name(f"{here.resolve().name}.judgments.jsonl")
    settings = ServeSettings(
        here or folder,
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
    run_server(settings, tell=options.tell)


@keys.command("add")
def add(
    name: Annotated[str, Argument(help="Whose key it is, or what it is for.")],
    role: Annotated[str, Option(help="read, or write (which may read too).")] = "read",
    keys_file: KeysFile = None,
) -> None:
    """Make a key and print it, once: only its hash is kept."""
    print(Keys(keys_file or default_keys()).add(name, role))
    options.tell("Keep it now: it is not shown again. Send it as the header Authorization: Bearer KEY.")


@keys.command("list")
def list_keys(keys_file: KeysFile = None) -> None:
    """The keys that there are."""
    rows = [(key.name, key.role, key.made) for key in Keys(keys_file or default_keys()).all()]
    columns = [Column(title, "left") for title in ("name", "role", "made")]
    options.show("table", Table("Keys", columns, rows))


@keys.command("remove")
def remove(name: Annotated[str, Argument(help="The name of the key.")], keys_file: KeysFile = None) -> None:
    """Remove a key; servers that run refuse it from now on."""
    Keys(keys_file or default_keys()).remove(name)
