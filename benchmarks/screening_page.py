"""How long a reviewer waits for a decision to be saved and the next record to come, with 10,000 records.

Starts the real server (`rankwell review screen`) on a new project of made-up records: words drawn at random from a list
of made-up words with a long tail, 200 in an abstract, as long as real ones though nobody could screen them. Measures in
a process of its own the time from sending a decision to having the next record's page. The decision is on the disk by
then; the ranking learns from every one in the background. `--every 0` decides faster than people read, so that learning
and answering compete for the processor all the time; `--first` measures from the very start, while the texts are still
being taken in; `--decided 9000` near the end of the work. With `--bert` a model reads the records all the while.

    python benchmarks/screening_page.py [--records 10000] [--decided 0] [--decisions 100] [--every 0.5] [--first]
                                        [--bert MODEL]
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from rankwell.reviews import Reference
from rankwell.reviews.screening.store import Project, open_project
from rankwell.reviews.screening.tables import DecisionRow
from rankwell.store import moment

FORM = re.compile(r'class="decide" method="post" action="([^"]+)"')
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')
LEARNED = re.compile(r"learned from ([\d,]+) of your decisions")
EVERY = 20  # one inclusion among so many decisions


def made_up(count: int) -> list[Reference]:
    """Records of words that look like words, some often and most rarely."""
    draw = random.Random(0)  # noqa: S311 -- no secret
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(20_000)]

    def text(length: int) -> str:
        return " ".join(words[min(len(words), int(draw.paretovariate(0.5))) - 1] for _ in range(length))

    return [
        Reference(title=text(12), abstract=text(200), authors=(f"{text(1)} A",), year=draw.randint(1990, 2025))
        for _ in range(count)
    ]


def prepare(path: Path, count: int, decided: int) -> float:
    """Make the project, in which so many records are decided already; the seconds that importing took."""
    references = made_up(count)
    project: Project
    with open_project(path, title=references[0].title) as project:
        begun = time.perf_counter()
        project.import_references("made-up.ris", references)
        took = time.perf_counter() - begun
        with project.database.write() as session:  # all at once, without waiting for the disk each time
            session.add_all(
                DecisionRow(
                    reviewer=1,
                    record=number,
                    answer="exclude" if number % EVERY else "include",
                    reason="",
                    note="",
                    at=moment(),
                    looked=number,
                    current=True,
                )
                for number in range(1, decided + 1)
            )
    return took


def start(path: Path, said: Path, more: Sequence[str] = ()) -> tuple[subprocess.Popen[bytes], int]:
    """The real server, and its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "rankwell", "review", "screen", str(path), "--port", str(port), "--quiet", *more]
    with said.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=file, env=os.environ.copy())
    for _ in range(600):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return server, port
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server does not answer")


class Reviewer:
    """A browser that keeps its connection open."""

    def __init__(self, port: int, link: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.connection.request("GET", link)
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        self.see(self.ask("GET", "/screen"))

    def ask(self, method: str, path: str, body: str = "") -> str:
        """The page that comes back."""
        headers = {
            "Cookie": self.cookie,
            "X-Rankwell-Fragment": "1",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        page = answer.read().decode()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{method} {path}: {answer.status}")
        return page

    def see(self, page: str) -> None:
        """Note what the page's form wants, and what its ranking rests on."""
        self.form, self.token = FORM.findall(page)[0], TOKEN.findall(page)[0]
        self.learned = int((LEARNED.findall(page) or ["0"])[0].replace(",", ""))

    def decide(self, answer: str) -> float:
        """Decide about the record that is shown; the seconds until the next one was there."""
        body = urlencode({"csrf": self.token, "answer": answer, "reason": "", "note": ""})
        begun = time.perf_counter()
        page = self.ask("POST", self.form, body)
        took = time.perf_counter() - begun
        self.see(page)
        return took


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--records", type=int, default=10_000)
    options.add_argument("--decisions", type=int, default=100)
    options.add_argument("--decided", type=int, default=0)
    options.add_argument("--every", type=float, default=0.5)
    options.add_argument("--first", action="store_true")
    options.add_argument("--bert")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        imported = prepare(Path(folder) / "p.db", given.records, given.decided)
        more = ["--bert", given.bert] if given.bert else []
        server, port = start(Path(folder) / "p.db", Path(folder) / "log", more)
        try:
            link = re.findall(r"http://[^/]+(/open\S+)", (Path(folder) / "log").read_text())[0]
            reviewer = Reviewer(port, link)
            if not given.first:
                reviewer.decide("include")
                reviewer.decide("exclude")
                while not reviewer.learned:
                    time.sleep(0.5)
                    reviewer.see(reviewer.ask("GET", "/screen"))
            times = []
            for number in range(given.decisions):
                times.append(reviewer.decide("exclude" if number % EVERY else "include"))
                time.sleep(given.every)
            learned = reviewer.learned
        finally:
            server.terminate()
            server.wait()
    middle, late, latest = (1000 * value for value in np.quantile(times, [0.5, 0.95, 1]))
    print(f"{given.records:,} made-up records, imported in {imported:.1f} s")
    print(f"{len(times)} decisions after {given.decided:,}, {given.every:g} s between them")
    print(f"p50 {middle:.0f} ms, p95 {late:.0f} ms, longest {latest:.0f} ms; the last page had learned from {learned}")


if __name__ == "__main__":
    main()
