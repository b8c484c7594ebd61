"""The command line: one thin module a command. Parsing and printing live here, everything else in the library."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import FrameType, MappingProxyType
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from rankwell import __version__
from rankwell.core.errors import RankwellError

__all__ = ["app", "main"]


DONE, MISTAKE, INTERRUPTED = 0, 1, 3

SECTIONS: Mapping[str, Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "Search": {
            "index": ("index:index", "Index documents from any file or folder."),
            "encode": ("models:encode", "Encode an index, so that documents are found by meaning."),
            "search": ("search:search", "Answer one query on the terminal."),
            "rank": ("search:rank", "Answer many queries and write a TREC run."),
            "rerank": ("search:rerank", "Re-rank the top of a run with a model."),
            "fuse": ("compare:fuse", "Combine several runs into one."),
            "serve": ("serve:serve", "Serve the search page and the REST API."),
            "demo": ("demo:demo", "Try everything on a collection that every Python has."),
        },
        "Measure": {
            "evaluate": ("compare:evaluate", "Measure runs against judgments."),
            "compare": ("compare:compare", "Compare runs with a baseline, with tests and pictures."),
            "sweep": ("compare:sweep", "Follow a measure over depth or any other number."),
            "tune": ("tune:tune", "Choose the settings of a search by cross-validation."),
            "stats": ("compare:stats", "Describe a collection."),
        },
        "Models and training": {
            "models": ("models:models", "Fetch, list and remove models."),
            "export": ("models:export", "Write a model as ONNX, in fp32 or int8."),
            "finetune": (
                "recipes:finetune",
                "Train a search on judged queries, and compare it with the untrained one.",
            ),
            "adapt": ("recipes:adapt", "Adapt a bi-encoder to documents without any label."),
            "train": ("train:train", "Make training pairs, train models, search over settings."),
            "distil": ("train:distil", "Train a small cross-encoder from a large one, without labels."),
        },
        "People and experiments": {
            "assess": ("assess:assess", "Collect relevance judgments from several people."),
            "review": ("review:review", "Systematic reviews: find studies, screen, simulate."),
            "study": ("study:study", "Run whole experiments from one file each."),
        },
        "Look after things": {
            "info": ("index:info", "Show what is in an index."),
            "get": ("index:get", "Print documents as JSON lines."),
            "delete": ("index:delete", "Delete documents from an index."),
            "merge": ("index:merge", "Merge all segments; deleted documents are gone for good."),
            "verify": ("index:verify", "Check the checksums of an index and its vectors."),
            "backup": ("backups:back_up_index", "Write an index and its judgments into one file."),
            "restore": ("backups:restore_index", "Restore an index from a backup."),
            "push": ("index:push", "Copy an index or documents into ClickHouse."),
            "convert": ("compare:convert", "Convert between formats, or cut sub-collections."),
            "doctor": ("models:doctor", "Check this machine, and say how to mend what is wrong."),
        },
    }
)
"""Every command: where it is (module:function), and its line in `rankwell --help`."""

COMMANDS = {name: where for section in SECTIONS.values() for name, (where, _) in section.items()}


class LateCommands(TyperGroup):
    """Loads a command's module when the command is used, so that `rankwell --help` and each command start quickly."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 -- the same in every context
        """The names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 -- the same in every context
        """Load a command; None where there is none of that name."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 -- the same in every context
        """Write the sections of the help without loading a command."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, about) for name, (_, about) in section.items()])


@cache
def load_command(name: str) -> Any:
    """A command as click has it: a function, or a group of commands."""
    module, attribute = COMMANDS[name].split(":")
    group = getattr(import_module(f"rankwell.cli.{module}"), attribute)
    if not isinstance(group, typer.Typer):
        group, function = typer.Typer(), group
        group.command(name)(function)
    group.rich_markup_mode, group._add_completion = None, False  # noqa: SLF001 -- as a part of `app` it would be so
    command = get_command(group)
    command.name = name
    _name_elements(command)
    return command


def _name_elements(command: Any) -> None:
    """In help, the type of what may be repeated is that of one value: `<path>`, where typer writes `<list[Path]>`."""
    for parameter in command.params:
        described = getattr(parameter, "type_descriptor", None)
        if described is not None and getattr(described, "is_list", False):
            kind = parameter.bare_type().removeprefix("list[").removesuffix("]").lower()
            parameter.display_type = lambda *_, kind=kind, **__: f"<{kind}>"
    for inner in getattr(command, "commands", {}).values():
        _name_elements(inner)


app = typer.Typer(
    cls=LateCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rankwell {__version__}")
        raise typer.Exit


@app.callback()
def rankwell(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
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
