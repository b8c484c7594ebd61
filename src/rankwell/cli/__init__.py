"""The command line: one thin module a command. Parsing and printing live here, everything else in the library."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import typer

from rankwell import __version__
from rankwell.cli.assess import assess
from rankwell.cli.compare import compare
from rankwell.cli.convert import convert
from rankwell.cli.demo import demo
from rankwell.cli.distil import distil
from rankwell.cli.doctor import doctor
from rankwell.cli.encode import encode
from rankwell.cli.evaluate import evaluate
from rankwell.cli.export import export
from rankwell.cli.fuse import fuse
from rankwell.cli.index import index
from rankwell.cli.maintain import delete, get, info, merge, verify
from rankwell.cli.models import models
from rankwell.cli.push import push
from rankwell.cli.rank import rank
from rankwell.cli.rerank import rerank
from rankwell.cli.review import review
from rankwell.cli.search import search
from rankwell.cli.serve import serve
from rankwell.cli.stats import stats
from rankwell.cli.study import study
from rankwell.cli.sweep import sweep
from rankwell.cli.train import train
from rankwell.cli.tune import tune
from rankwell.core.errors import RankwellError

__all__ = ["app", "main"]

DONE, MISTAKE, INTERRUPTED = 0, 1, 3

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(index, encode, search, rank, rerank, fuse, tune),
    *(evaluate, compare, sweep),
    *(stats, convert),
    *(get, info, delete, merge, verify, push),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(assess, name="assess")
app.add_typer(models, name="models")
app.command()(export)
app.add_typer(review, name="review")
app.add_typer(serve, name="serve")
app.add_typer(train, name="train")
app.add_typer(study, name="study")
app.command()(distil)
app.command()(demo)
app.command()(doctor)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rankwell {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Say which version this is."
    ),
) -> None:
    """From a pile of documents to a ranking people can trust."""


class Interrupted(BaseException):
    """Ctrl-C. A class of our own, because typer would turn KeyboardInterrupt into an exit code that says nothing."""


def main() -> None:
    """Run the command; a user's mistake is one line on stderr, never a traceback."""
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    signal.signal(signal.SIGINT, _interrupt)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where it can still be said that the disk is full
    except RankwellError as error:
        print(f"rankwell: {error}", file=sys.stderr)
        sys.exit(MISTAKE)
    except Interrupted as interruption:
        (how,) = getattr(interruption, "__notes__", ["run the same command again"])
        print(f"rankwell: interrupted; nothing was left half-written, {how}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _seen_enough()
    except OSError as error:  # a file system has many ways to say no
        _drop_output()
        print(f"rankwell: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(MISTAKE)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer takes for a failure
            _seen_enough()
        raise


def _seen_enough() -> NoReturn:
    """The reader of our output (`| head`) needs no more of it: all is well."""
    _drop_output()
    sys.exit(DONE)


def _drop_output() -> None:
    """What is still to be printed goes nowhere, lest Python complain about it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 -- what a signal handler is given
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C is meant
    raise Interrupted
