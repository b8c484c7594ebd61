"""Wait for changes of a source: a file, or the files of a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rankwell.core import MissingExtraError, ParameterError

SETTLED, LONGEST = 200, 2000  # milliseconds without a change that end a group of changes, and at most of one group
TICK = 1000  # milliseconds


def watch_source(source: Path | str, folder: Path) -> Iterator[bool]:
    """Yield True after changes of the source, which come in groups, and False about every second without any.

    The index in `folder` may lie in the source; its own files do not count. Ctrl-C raises KeyboardInterrupt.
    """
    try:
        from watchfiles import watch
    except ImportError as error:
        raise MissingExtraError("--watch", extra="watch") from error
    path = Path(source)
    if not path.exists():
        raise ParameterError("--watch", expected="a file or a folder", found=str(source))
    whole, index = path.resolve(), folder.resolve()

    def matters(_: object, changed: str) -> bool:
        at = Path(changed)
        if index == at or index in at.parents:
            return False
        return at == whole if whole.is_file() or not whole.exists() else True

    # Programs replace a file by another one of its name, so the folder is watched.
    place, recursive = (whole, True) if whole.is_dir() else (whole.parent, False)
    changes = watch(
        place,
        watch_filter=matters,
        debounce=LONGEST,
        step=SETTLED,
        rust_timeout=TICK,
        yield_on_timeout=True,
        recursive=recursive,
        ignore_permission_denied=True,
    )
    for group in changes:
        yield bool(group)
