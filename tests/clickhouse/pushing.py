"""A process that pushes an index and can be killed: `python pushing.py FOLDER ADDRESS LOAD`."""

from __future__ import annotations

import sys

from rankwell.clickhouse import push
from rankwell.core import Progress
from rankwell.index import Index


class Told(Progress):
    """Says on standard output how far it is."""

    def advance(self, items: int = 1) -> None:
        super().advance(items)
        sys.stdout.write(f"{self.count}\n")
        sys.stdout.flush()


folder, address, load = sys.argv[1:]
push(Index.open(folder), address, progress=Told("", quiet=True), load=int(load), stale=0)
