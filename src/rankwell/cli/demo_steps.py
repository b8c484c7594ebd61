"""The steps of `rankwell demo`: searches by words, by meaning and with BERT, and the search page."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import orjson

if TYPE_CHECKING:
    from rankwell.core import Judgments, Queries, Run, Stage
    from rankwell.evaluation import Comparison
    from rankwell.index import Index
    from rankwell.report import Table


HOST, PORT = "127.0.0.1", 8080
PATIENCE = 300  # seconds for a server to start, on a machine with much else to do
LOCAL = build_opener(ProxyHandler({}))  # no proxy stands between us and ourselves


def show_page(index: Path, model: str | None, words: str, *, stay: bool) -> None:
    """Start the page and ask it once; then stay until Ctrl-C, or stop it and say how to start it again."""
    command = ["serve", str(index), *(["--rerank", model] if model else [])]
    address = f"http://{HOST}:{_free_port()}"
    with tempfile.TemporaryFile() as said, _started([*command, "--port", address.rpartition(":")[2]], said) as server:
        print("   it starts; the first time it compiles its inner loops, which takes some seconds more", flush=True)
        if not _is_ready(server, address):
            print(f"   left out: the page did not start: {_last_line(said)}")
            return
        _print_answer(words, _asked(address, words))
        if stay:
            print(f"\n   The page: {address}   (Ctrl-C stops it)\n", flush=True)
            _wait(server)
    print(f"   {'Again' if stay else f'The page: {address}, which is closed now; to open it'}:\n")
    print(f"       {shlex.join([_program(), *command])}\n")
    print("   And with documents of yours (CSV, JSON lines, a folder of texts, ...):\n")
    print(f"       {_program()} index YOURS.csv --out yours\n       {_program()} serve yours")


def _print_answer(words: str, found: dict[str, Any] | None) -> None:
    if found is None:
        print(f"   asked for {words!r}, it was too busy to answer")
        return
    first = found["results"][0]["id"] if found["results"] else "nothing"
    late = " (by words alone: BERT was not done in time)" if found.get("partial") else ""
    print(f"   asked for {words!r}, it answers {first!r} in {found['took_ms']:.0f} ms{late}")


@contextlib.contextmanager
def _started(command: list[str], said: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """A process of our own with the server, which ends with the block."""
    program = [sys.executable, "-m", "rankwell", *command, "--quiet"]
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as server:  # noqa: S603 -- ours
        try:
            yield server
        finally:
            server.terminate()


def _is_ready(server: subprocess.Popen[bytes], address: str) -> bool:
    """Whether the server came to answer."""
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        with contextlib.suppress(URLError, ConnectionError, TimeoutError), LOCAL.open(f"{address}/ready", timeout=5):
            return True
        time.sleep(0.1)
    return False


def _asked(address: str, words: str) -> dict[str, Any] | None:
    """The answer to a search; a busy server says 503, and is asked again for a while."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with LOCAL.open(f"{address}/api/search?{urlencode({'q': words})}", timeout=PATIENCE) as answer:
                return dict(orjson.loads(answer.read()))
        except HTTPError as error:
            error.close()
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                return None
            time.sleep(1)
        except (OSError, TimeoutError):
            return None
    return None


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Until the server ends. Ctrl-C reaches it as well, so that we only have to wait."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _free_port() -> int:
    """The usual port, or any other where that is taken."""
    for port in (PORT, 0):
        with contextlib.suppress(OSError), socket.socket() as asked:
            asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            asked.bind((HOST, port))
            return int(asked.getsockname()[1])
    return PORT


def _last_line(said: BinaryIO) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("rankwell: ") if lines else "it said nothing"


def _program() -> str:
    """How this command is called here: by its name, or by its path where the name would not be found."""
    called = Path(sys.argv[0])
    found = shutil.which("rankwell")
    return "rankwell" if called.name != "rankwell" or (found and Path(found).samefile(called)) else str(called)


BI_ENCODER, CROSS_ENCODER = "minilm-l6", "ms-marco-minilm-l12"
PRECISION = "int8"  # twice as fast as fp32 or more, and rankings of nearly the same quality
ENCODED = 64  # tokens of a document that its vector is made of: what a function does stands at the beginning
DEPTH, TOKENS = 10, 128  # how many documents of each query BERT re-ranks, and how much of each it reads
SHOWN = 3  # documents and queries to show
WIDTH = 110
MEASURES = ("nDCG@10", "R@100")


def is_here(model: str) -> bool:
    """Whether a model has been fetched."""
    from rankwell.models.base import fetched_models

    return model in fetched_models()


def _left_out(model: str) -> bool:
    """Whether a step has to be left out for want of its model, which is then said."""
    if not is_here(model):
        print(f"   left out: {model} is not here. To see it: rankwell models add {model}")
        return True
    return False


@dataclass(frozen=True)
class Searches:
    """Runs by name, and the milliseconds that each took a query."""

    index: Index
    queries: Queries
    judgments: Judgments
    out: Path
    runs: dict[str, Run] = field(default_factory=dict)
    milliseconds: dict[str, float] = field(default_factory=dict)

    def by_words(self) -> None:
        """BM25, and BM25 with the words of what it found."""
        from rankwell.retrieve import BM25, RM3

        self._ranked("BM25", BM25(self.index, k=100))
        self._ranked("BM25 + RM3", RM3(BM25(self.index, k=100)))
        print("   The grade stands in front of each document, from 3 (just what is asked) to 0; - is unjudged.")
        self._show("BM25")

    def by_meaning(self) -> None:
        """Vectors, and words and vectors together."""
        from rankwell.core import Progress
        from rankwell.models.base import load_text_encoder
        from rankwell.retrieve import BM25, Dense, Hybrid
        from rankwell.vectors import embed

        if _left_out(BI_ENCODER):
            return
        with Progress(f"   encoding by {BI_ENCODER}", unit="documents", total=len(self.index)) as progress:
            encoder = load_text_encoder(BI_ENCODER, precision=PRECISION, max_tokens=ENCODED)
            embed(self.index, encoder, graph=False, progress=progress)
        print(f"   {BI_ENCODER} gave each document a vector; a query is compared with all of them")
        self._ranked("bi-encoder", Dense(self.index, k=100))
        self._ranked("BM25 + bi-encoder", Hybrid((BM25(self.index, k=100), Dense(self.index, k=100))))
        self._show("bi-encoder")

    def by_bert(self) -> None:
        """A cross-encoder over BM25."""
        from rankwell.models.cross_encoder.ranking import CrossEncoder
        from rankwell.retrieve import BM25

        if _left_out(CROSS_ENCODER):
            return
        print(f"   {CROSS_ENCODER} reads each query together with what BM25 found, on the CPU and without torch")
        reranker = CrossEncoder(CROSS_ENCODER, k=DEPTH, max_tokens=TOKENS, precision=PRECISION, cache=False)
        self._ranked("BM25 + BERT", BM25(self.index, k=100) >> reranker)
        self._show("BM25 + BERT")

    def compare(self) -> None:
        """Every difference to BM25, tested, with a page of pictures."""
        from rankwell.core import atomic_write
        from rankwell.evaluation import compare
        from rankwell.evaluation.significance import mark
        from rankwell.report.comparison import comparison_page
        from rankwell.report.table import one_line
        from rankwell.retrieve import RandomRanker

        self._ranked("random", RandomRanker(docnos=tuple(self.index.documents), k=100))
        found = compare(self.judgments, self.runs, MEASURES)
        print(_with_times(found, self.milliseconds).render("table"), end="")
        print(f"   compared with BM25, t-test, Holm's correction. {mark('stars').legend}")
        for sentence in found.warnings():
            print(f"   note: {one_line(sentence)}")
        page = comparison_page(found, texts=self.queries.texts(), command="rankwell demo")
        with atomic_write(self.out / "comparison.html") as file:
            file.write(page.html().encode())
        print(f"   intervals, effects, wins and losses, with pictures: {self.out / 'comparison.html'}")
        self._write()

    def _write(self) -> None:
        """Judgments and runs as files, for whoever wants to go on."""
        from rankwell.collections import write_qrels, write_run

        write_qrels(self.out / "judgments.qrels", self.judgments)
        for name, run in self.runs.items():
            write_run(self.out / "runs" / f"{_plain(name)}.trec", replace(run, tag=_plain(name)), "trec")
        print(f"   the judgments are {self.out / 'judgments.qrels'}, the runs lie in {self.out / 'runs'}: go on with")
        print(f"       rankwell compare {self.out / 'judgments.qrels'} {self.out / 'runs'}/*.trec -m RR@10")

    def _ranked(self, name: str, stage: Stage) -> None:
        started = time.perf_counter()
        self.runs[name] = stage(self.queries)
        self.milliseconds[name] = 1000 * (time.perf_counter() - started) / len(self.queries)

    def _show(self, name: str) -> None:
        """The first of some rankings."""
        for qid in list(self.queries)[:SHOWN]:
            text = self.queries[qid].text()
            print(f"     {text}")
            for docno, _ in list(self.runs[name][qid])[:SHOWN]:
                passage = " ".join(self.index.snippet(docno, text, 70, ["docstring"]).marked().split())
                print(f"       {self.judgments[qid].get(docno, '-')}  {docno}: {passage}"[:WIDTH])


def _plain(name: str) -> str:
    """A name for a file: bm25-bert."""
    return name.lower().replace(" + ", "-")


def _with_times(found: Comparison, milliseconds: dict[str, float]) -> Table:
    """A row a run: what it is worth, with stars, and what it costs."""
    from rankwell.report import Column
    from rankwell.report.comparison import compact_table

    table = compact_table(found)
    rows = [(*row, milliseconds[str(row[0])]) for row in table.rows]
    return replace(table, columns=[*table.columns, Column("ms a query", digits=1)], rows=rows)
