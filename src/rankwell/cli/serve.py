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
    typer.Option("--keys", help="The file of keys; serve/keys.json in RANKWELL_HOME by default.", readable=False),
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
        typer.Option("--model", help="Another cross-encoder that searches may ask for; several times."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8080,
    base_url: Annotated[
        str | None,
        typer.Option(help="The address people use, where a proxy stands before us: https://search.example.org"),
    ] = None,
    keys_file: KeysFile = None,
    private: Annotated[bool, typer.Option("--private", help="Reading needs a key too.")] = False,
    judgments: Annotated[
        Path | None,
        typer.Option(
            help="The file that keeps thumbs; DIR.judgments.jsonl by default (in ClickHouse: none).",
            readable=False,
        ),
    ] = None,
    no_judgments: Annotated[bool, typer.Option("--no-judgments", help="No thumbs, no judgments.")] = False,
    max_k: Annotated[int, typer.Option(help="The last rank that can be asked for.")] = 1000,
    max_depth: Annotated[int, typer.Option(help="How many documents a model may read for a request.")] = 200,
    max_body: Annotated[int, typer.Option(help="The largest body in bytes.")] = 16 * 1024 * 1024,
    timeout: Annotated[float, typer.Option(help="Seconds after which the first stage's results must do.")] = 10.0,
    threads: Annotated[int, typer.Option(help="Searches that run side by side; as many as cores by default.")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Serve the search page and the REST API of an index until Ctrl-C."""
    from rankwell.clickhouse import is_address
    from rankwell.serve.keys import default_keys
    from rankwell.serve.server import run as run_server
    from rankwell.serve.settings import ServeSettings

    beside = None if is_address(folder) else _beside(Path(folder).resolve())
    settings = ServeSettings(
        folder if is_address(folder) else Path(folder),
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
    name: Annotated[str, typer.Argument(help="Whose key it is, or what it is for.", show_default=False)],
    role: Annotated[str, typer.Option(help="read, or write (which may read too).")] = "read",
    keys_file: KeysFile = None,
) -> None:
    """Make a key and print it, once: only its hash is kept."""
    from rankwell.serve.keys import Keys, default_keys

    print(Keys(keys_file or default_keys()).add(name, role))
    print("Keep it now: it is not shown again. Send it as the header Authorization: Bearer KEY.", file=sys.stderr)


@keys.command("list")
def list_keys(keys_file: KeysFile = None) -> None:
    """The keys that there are."""
    from rankwell.report import Column, Table
    from rankwell.serve.keys import Keys, default_keys

    rows = [(key.name, key.role, key.made) for key in Keys(keys_file or default_keys()).all()]
    columns = [Column(title, "left") for title in ("name", "role", "made")]
    print(Table("Keys", columns, rows).render("table"), end="")


@keys.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The name of the key.", show_default=False)], keys_file: KeysFile = None
) -> None:
    """Remove a key; servers that run refuse it from now on."""
    from rankwell.serve.keys import Keys, default_keys

    Keys(keys_file or default_keys()).remove(name)
