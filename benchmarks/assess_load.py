"""How long an assessor waits for a grade to be saved: 200 people at once, a grade every two seconds each.

Starts the real server (`rankwell assess serve`) on a new SQLite file, and measures from another process the time from
sending a grade to having the next passage's page, saved to disk in between.

    python benchmarks/assess_load.py [--assessors 200] [--seconds 30] [--every 2] [--database postgresql://...]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import resource
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import numpy as np

from rankwell.apps.assess.application import cookie_name
from rankwell.apps.web import Session, Sessions
from rankwell.core import Judgments
from rankwell.judging.opening import Material
from rankwell.judging.store import Store, open_store, write_study_database
from rankwell.judging.study import Study

WORDS = ("fever", "cold", "zinc", "rest", "doctor", "virus", "days", "the", "of", "and", "helps", "against")
PASSAGES = 20
FORM = re.compile(rb'class="answer" method="post" action="([^"]+)"')


class Assessor:
    """A browser that keeps its connection open."""

    def __init__(self, port: int, sessions: Sessions, name: str) -> None:
        self.port, session = port, Session.begin(name)
        self.token = sessions.token(session)
        self.cookie = f"{sessions.cookie}={cookie_value(sessions, session)}"
        self.form = ""

    async def connect(self) -> None:
        """Open the connection."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Send a request as our script does; the page that comes back."""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {self.cookie}\r\nX-Rankwell-Fragment: 1\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        headers = await self.reader.readuntil(b"\r\n\r\n")
        if not headers.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(headers.splitlines()[0].decode())
        length = int(re.findall(rb"content-length: (\d+)", headers.lower())[0])
        return await self.reader.readexactly(length)

    async def work(self, end: float, every: float, times: list[float]) -> None:
        """Grade until the end, never faster than people do."""
        await self.connect()
        await asyncio.sleep(random.uniform(0, every))  # noqa: S311 -- no secret
        self.form = FORM.findall(await self.ask("GET", "/judge"))[0].decode()
        await asyncio.sleep(every)
        while (begun := time.perf_counter()) < end:
            body = urlencode({"csrf": self.token, "answer": random.randint(1, 5), "milliseconds": 1500, "note": ""})  # noqa: S311
            page = await self.ask("POST", self.form, body.encode())
            took = time.perf_counter() - begun
            times.append(took)
            self.form = FORM.findall(page)[0].decode()
            await asyncio.sleep(max(0.0, every - took))
        self.writer.close()


def cookie_value(sessions: Sessions, session: Session) -> str:
    """The cookie of somebody who is signed in."""
    from starlette.responses import Response

    response = Response()
    sessions.write(response, session)
    return response.headers["set-cookie"].partition("=")[2].partition(";")[0]


def make_study(where: str, assessors: int) -> list[str]:
    """A study in which everyone has work for a while; their random names."""
    queries = {
        f"q{number}": f"does {WORDS[number % 12]} help against {WORDS[number % 7]}" for number in range(2 * assessors)
    }
    text = " ".join(random.choices(WORDS, k=150))  # noqa: S311
    passages = {f"d{number}": {"title": f"Passage {number}", "text": text} for number in range(1000)}
    pool = {qid: dict.fromkeys(random.sample(list(passages), PASSAGES), 1) for qid in queries}
    study = Study("Load", assessors_per_query=3)
    with Store(write_study_database(study, Material(queries, passages, pool, Judgments(), {}), where)) as store:
        code = store.invitations.invite(assessors)
        names = [store.invitations.redeem(code, str(number)).account.name for number in range(assessors)]
        for name in names:
            store.people.consent(name)
            store.judging.begin(name)
    return names


def start(where: str, key: str) -> tuple[subprocess.Popen[bytes], int]:
    """The real server and its port, as soon as it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "rankwell", "assess", "serve", where, "--port", str(port), "--quiet"]
    server = subprocess.Popen(command, env={**os.environ, "RANKWELL_SECRET_KEY": key})
    for _ in range(300):
        try:
            with urlopen(f"http://127.0.0.1:{port}/favicon.ico"):
                return server, port
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


async def measure(port: int, sessions: Sessions, names: list[str], seconds: float, every: float) -> list[float]:
    """The seconds that each grade took."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    await asyncio.gather(*(Assessor(port, sessions, name).work(end, every, times) for name in names))
    return times


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--assessors", type=int, default=200)
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--every", type=float, default=2)
    options.add_argument("--database", help="a new PostgreSQL database; SQLite in a temporary folder without")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where, key = given.database or str(Path(folder) / "study.db"), secrets.token_hex(32)
        names = make_study(where, given.assessors)
        with open_store(where) as store:
            sessions = Sessions(key.encode(), name=cookie_name(store), secure=False)
        server, port = start(where, key)
        try:
            times = asyncio.run(measure(port, sessions, names, given.seconds, given.every))
        finally:
            server.terminate()
            server.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open_store(where) as store:
            kept = len(store.answers())
    middle, late, latest = (1000 * value for value in np.quantile(times, [0.5, 0.95, 1]))
    print(f"{given.assessors} assessors, a grade every {given.every:g} s each, {given.seconds:g} s")
    print(f"{len(times):,} grades ({len(times) / given.seconds:.0f} a second), {kept:,} in the database")
    cpu = 1000 * (used.ru_utime + used.ru_stime) / len(times)
    print(f"{cpu:.1f} ms of CPU a grade in the server, its start included")
    print(f"p50 {middle:.1f} ms, p95 {late:.1f} ms, longest {latest:.1f} ms")


if __name__ == "__main__":
    main()
