"""`rankwell serve`: the REST API and the search page; `rankwell serve keys`: who may use them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from rankwell.apps.search.access import Keys, default_keys
from rankwell.cli import options
from rankwell.core import ParameterError
from rankwell.pipelines import read_options
from rankwell.pipelines.file import options_from
from rankwell.report import Column, Table

RUN = "run"
NEW = "rankwell-indexes"
KeysFile = Annotated[
    Path | None, Option("--keys", help="File of keys (default: serve/keys.json in RANKWELL_HOME).", readable=False)
]


class FolderOrKeys(options.CommandGroup):
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
keys = Typer(cls=options.CommandGroup, no_args_is_help=True, help="Who may use the API: make, list and remove keys.")
serve.add_typer(keys, name="keys")


@serve.command(RUN)
@options.with_device
def run(
    folder: Annotated[
        str | None,
        Argument(
            metavar="DIR", help="The index: a folder, or an address in ClickHouse (see push).", show_default=False
        ),
    ] = None,
    new: Annotated[
        bool, Option("--new", help="A page to upload files and index them into folders below DIR (rankwell-indexes).")
    ] = False,
    pipeline: options.PipelineFile = None,
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
    synonyms: Annotated[
        Path | None, Option(help="File of synonyms; a line is: fever, pyrexia (or: a => b).", readable=False)
    ] = None,
    pins: Annotated[
        Path | None, Option(help="TOML file of results that are pinned or hidden for a query.", readable=False)
    ] = None,
    anonymous_thumbs: Annotated[
        int, Option(help="Let visitors without a key judge: at most so many thumbs per minute and address.")
    ] = 0,
    max_k: Annotated[int, Option(help="Last rank that a request may ask for.")] = 1000,
    max_depth: Annotated[int, Option(help="Most documents that a model reads for a request.")] = 200,
    max_body: Annotated[int, Option(help="Largest request body in bytes.")] = 16 * 1024 * 1024,
    timeout: Annotated[float, Option(help="Seconds after which the first stage's results are returned.")] = 10.0,
    threads: Annotated[int, Option(help="Number of searches at the same time (default: number of cores).")] = 0,
    mcp: Annotated[
        bool, Option("--mcp", help="Serve the Model Context Protocol on standard input and output instead.")
    ] = False,
    mcp_http: Annotated[
        bool, Option("--mcp-http", help="Serve the Model Context Protocol over HTTP at /mcp, to this machine only.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Serve the search page and the REST API of an index until Ctrl-C."""
    defaults = {} if pipeline is None else read_options(pipeline)
    rerank = rerank or defaults.pop("rerank", None)
    if mcp or mcp_http:
        if folder is None:
            raise ParameterError("DIR", expected="an index to search", found=None)
        _serve_mcp(folder, {**defaults, "rerank": rerank}, (host, port) if mcp_http else None, private=private)
        return
    from rankwell.apps.search.application import run as run_server
    from rankwell.apps.search.judgments import judgments_beside
    from rankwell.apps.search.new.application import run_new
    from rankwell.apps.search.settings import ServeSettings
    from rankwell.index import scheme_of

    if folder is None and not new:
        raise ParameterError("DIR", expected="the folder of an index (or --new, to make one on a page)", found="none")
    folder = folder or NEW
    here = Path(folder) if scheme_of(folder) is None else None
    beside = here and judgments_beside(here)
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
        synonyms=synonyms,
        pins=pins,
        anonymous_thumbs=anonymous_thumbs,
        quiet=quiet,
        defaults={name: value for name, value in defaults.items() if name != "k" and value is not None},
    )
    (run_new if new else run_server)(settings, tell=options.tell)


def _serve_mcp(folder: str, chosen: dict[str, Any], at: tuple[str, int] | None, *, private: bool) -> None:
    """Serve tools for language models: to the program that started this one, or over HTTP."""
    from rankwell.apps.web.application import ending_well
    from rankwell.bridges import mcp

    if at is not None and (private or at[0] not in mcp.LOOPBACK):
        found = "--private" if private else f"--host {at[0]}"
        expected = "this machine only, because MCP knows no keys here: put a proxy that asks for them before it"
        raise ParameterError("--mcp-http", expected=expected, found=found)
    first, second = options_from(chosen)
    server = mcp.create_server(mcp.IndexTools(folder, first, second if second.rerank else None))
    if at is None:
        server.run()
    else:
        options.tell(f"http://{at[0]}:{at[1]}{mcp.PATH}")
        with ending_well():
            server.run("streamable-http", host=at[0], port=at[1])


@keys.command("add")
def add(
    name: Annotated[str, Argument(help="Whose key it is, or what it is for.")],
    role: Annotated[
        str, Option(help="read; judge: give thumbs too; write: change documents too; admin: read judgments too.")
    ] = "read",
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


@keys.command("sign-out")
def sign_out(name: Annotated[str, Argument(help="The name of the key.")], keys_file: KeysFile = None) -> None:
    """End all sessions that were begun with a key; the key itself stays valid."""
    Keys(keys_file or default_keys()).sign_out(name)


@keys.command("remove")
def remove(name: Annotated[str, Argument(help="The name of the key.")], keys_file: KeysFile = None) -> None:
    """Remove a key; servers that run refuse it, and its sessions, from now on."""
    Keys(keys_file or default_keys()).remove(name)
