"""One server process of several: many assessors ask it for work at the same moment, each in a thread of their own.

    python asking.py ADDRESS FIRST NAME...

FIRST is served before the others come, so that the process is one that has been running. Then it says "ready", waits
for a line, and says how long each of the others waited.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from rankwell.assess import open_study


def main(address: str, first: str, names: list[str]) -> None:
    with open_study(address) as store, ThreadPoolExecutor(len(names)) as threads:
        together = Barrier(len(names))

        def connect(_: str) -> None:
            with store.database.read() as session:
                session.connection()
                together.wait()

        def ask(name: str) -> float:
            together.wait()
            started = time.perf_counter()
            store.judging.begin(name)
            return time.perf_counter() - started

        store.judging.begin(first)
        list(threads.map(connect, names))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(json.dumps(list(threads.map(ask, names))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
