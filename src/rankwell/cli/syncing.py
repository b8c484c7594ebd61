"""`rankwell index --sync` and `--watch`: keep an index in step with its source, and say what was done."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankwell.cli import Interrupted, options
from rankwell.core import Progress, RankwellError
from rankwell.index import Changes, Index, SyncOptions, sync, watch_source
from rankwell.vectors import all_vectors_of, refresh

MOST_FILES = 10  # bad ones that are shown


def keep_in_step(
    source: str, out: Path, chosen: SyncOptions, how_read: Mapping[str, Any], *, watch: bool, quiet: bool
) -> None:
    """Sync once; with `watch` again whenever the source changes. `how_read` has arguments of `options.reading`."""

    def once(settings: SyncOptions = chosen) -> Changes:
        with options.reading(f"comparing {source}", "documents", quiet=quiet or watch, **how_read) as how:
            changes = sync(source, out, settings, how)
        if changes.any:
            _refresh_vectors(out, quiet=quiet)
        return changes

    changes = once()
    if not quiet:
        _tell(changes)
        options.tell(f"{out}: {len(Index.open(out)):,} documents")
    if watch:
        _watch(source, out, lambda: once(replace(chosen, analyzer=None, positions=None)), changes)


def _watch(source: str, out: Path, once: Callable[[], Changes], before: Changes) -> None:
    """Sync after each group of changes, until Ctrl-C; what goes wrong is told once, and tried again."""
    told, trouble, first = set(map(str, before.bad)), "", True
    options.tell(f"watching {source} until Ctrl-C")
    try:
        for changed in watch_source(source, out):
            if not (changed or first or trouble):
                continue
            first = False  # something may have changed before the watch began
            try:
                with _without_notes():
                    changes = once()
            except RankwellError as error:
                if str(error) != trouble:
                    trouble = str(error)
                    options.tell(f"{_now()} not synced: {trouble}")
                continue
            trouble = ""
            bad = {str(error) for error in changes.bad}
            if changes.any or bad - told:
                _tell(replace(changes, bad=[error for error in changes.bad if str(error) not in told]), _now())
            told = bad
    except KeyboardInterrupt as error:  # from the watching library, which takes our own exception for this one
        raise Interrupted from error


@contextmanager
def _without_notes() -> Iterator[None]:
    """No notes of readers: they were shown the first time."""
    logger = logging.getLogger("rankwell.collections")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _now() -> str:
    return time.strftime("%H:%M:%S")


def _tell(changes: Changes, *before: str) -> None:
    for error in changes.bad[:MOST_FILES]:
        options.tell(f"left as it was: {error}")
    if len(changes.bad) > MOST_FILES:
        options.tell(f"left as they were: {len(changes.bad) - MOST_FILES:,} more files")
    print(*before, changes, flush=True)


def _refresh_vectors(out: Path, *, quiet: bool) -> None:
    """Encode new and changed documents where the index has vectors."""
    index = Index.open(out)
    for vectors in all_vectors_of(index):
        try:
            with Progress(f"encoding {out} ({vectors.name})", unit="documents", quiet=quiet) as progress:
                graph = None if vectors.info()["bytes"]["graph"] else False
                refresh(index, vectors.name, graph=graph, progress=progress)
        except RankwellError as error:
            options.tell(f"vectors {vectors.name} lack the changes: {error}")
