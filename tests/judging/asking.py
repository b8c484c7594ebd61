"""One server process of several: many assessors ask it for work at the same moment, each in a thread of their own.

    python asking.py ADDRESS FIRST NAME...

FIRST is served before the others come, so that the process is one that has been running. Then it says "ready", waits
for a line, and says how many statements the database was sent for FIRST, and for each of the others.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident

from sqlalchemy import event

from rankwell.judging import open_study


def main(address: str, first: str, names: list[str]) -> None:
    with open_study(address) as store, ThreadPoolExecutor(len(names)) as threads:
        together, senders = Barrier(len(names)), list[int]()
        event.listen(store.database.engine, "before_cursor_execute", lambda *_: senders.append(get_ident()))

        def connect(_: str) -> None:
            with store.database.read() as session:
                session.connection()
                together.wait()

        def ask(name: str) -> int:
            together.wait()
            before = senders.count(get_ident())
            store.judging.begin(name)
            return senders.count(get_ident()) - before

        store.judging.begin(first)
        alone = len(senders)
        list(threads.map(connect, names))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        sys.stdout.write(json.dumps([alone, *threads.map(ask, names)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
