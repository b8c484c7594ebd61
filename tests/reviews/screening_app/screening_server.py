"""`rankwell review screen`, really started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import Server, started, stopped


class ScreeningServer(Server):
    """Prints a secret link for each reviewer."""

    def link(self, reviewer: str = "Reviewer") -> str:
        return re.findall(rf"^{re.escape(reviewer)}: (http\S+)$", self.words(), re.MULTILINE)[-1]


def start_screening(project: Path, said: Path, *options: str) -> ScreeningServer:
    return ScreeningServer(**vars(started(["review", "screen", str(project), *options], said)))


@contextmanager
def screening(project: Path, said: Path, *options: str) -> Iterator[ScreeningServer]:
    server = start_screening(project, said, *options)
    with stopped(server):
        yield server
