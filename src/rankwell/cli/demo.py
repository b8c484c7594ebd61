"""`rankwell demo`: the whole loop on the bundled collection, which every machine with a Python has."""

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
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from urllib import error, parse, request

import orjson
from typer import Option

from rankwell.collections import Collection, open_collection, write_qrels, write_run
from rankwell.core import Judgments, Progress, Queries, Run, Stage, atomic_write
from rankwell.evaluation import compare, significance
from rankwell.index import Index, IndexWriter, with_metadata_names
from rankwell.index.snippets import document_pieces
from rankwell.models.base import TokenCounter, default_tokenizer, fetched_models, load_text_encoder
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.report import Column, Page, collection_statistics, comparison
from rankwell.report.table import one_line
from rankwell.report.workbench import SNIPPET
from rankwell.retrieve import BM25, RM3, Dense, Hybrid, RandomRanker
from rankwell.vectors import embed

BI_ENCODER, CROSS_ENCODER = "minilm-l6", "ms-marco-minilm-l12"
PRECISION = "int8"  # twice as fast as fp32 or more, and rankings of nearly the same quality
ENCODED = 64  # tokens of a document that its vector is made of: what a function does stands at the beginning
DEPTH, TOKENS = 10, 128  # how many documents of each query BERT re-ranks, and how much of each it reads
SHOWN = 3  # documents and queries to show
WIDTH = 110
MEASURES = ("nDCG@10", "R@100")
HOST, PORT = "127.0.0.1", 8080
BUSY = 503  # the status of a server that asks for another try
PATIENCE = 300  # seconds for a server to start, on a machine with much else to do
LOCAL = request.build_opener(request.ProxyHandler({}))  # no proxy stands between us and ourselves


def demo(
    out: Annotated[Path, Option(help="The folder for the index, the runs and the pages.")] = Path("demo"),
    serve: Annotated[
        bool | None, Option(help="Keep the search page open until Ctrl-C.", show_default="on a terminal")
    ] = None,
) -> None:
    """Index, search, re-rank, compare and serve a collection that every Python has: its own documentation."""
    started = time.perf_counter()
    collection = open_collection("rankwell:python")
    queries, judgments = collection.queries(), collection.judgments()
    print("rankwell:python is the documentation of Python's standard library, read from this interpreter,")
    print(f"with {len(queries)} queries as people type them and {judgments.count:,} graded judgments.")
    with _step(1, "What is in it?"):
        _statistics(collection, queries, judgments, out)
    with _step(2, "Index it"):
        index = _indexed(collection, out / "index")
    searches = Searches(index, queries, judgments, out)
    with _step(3, "Search by words: BM25"):
        searches.by_words()
    with _step(4, "Search by meaning: a bi-encoder"):
        searches.by_meaning()
    with _step(5, f"Let BERT read the top {DEPTH}"):
        searches.by_bert()
    with _step(6, "Is it better?"):
        searches.compare()
    print(f"\n7. The page\n   Six steps took {time.perf_counter() - started:.0f} s; now for the search page.")
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    words = next(iter(queries.values())).text()
    model = CROSS_ENCODER if CROSS_ENCODER in fetched_models() else None
    show_page(out / "index", model, words, stay=terminal if serve is None else serve)


@contextlib.contextmanager
def _step(number: int, title: str) -> Iterator[None]:
    """A heading before, and what it took behind."""
    print(f"\n{number}. {title}", flush=True)
    started = time.perf_counter()
    yield
    print(f"   took {time.perf_counter() - started:.1f} s", flush=True)


def _statistics(collection: Collection, queries: Queries, judgments: Judgments, out: Path) -> None:
    """What the collection is like."""
    model = default_tokenizer()
    counter = TokenCounter(model) if model else None
    statistics = collection_statistics(collection.documents(), queries, judgments, count_tokens=counter)
    print("\n".join(table.render("table") for table in statistics.tables()[:2]), end="")
    _write_page(statistics.page("rankwell:python", "rankwell stats rankwell:python"), out / "statistics.html")
    print(f"   all of it, with pictures: {out / 'statistics.html'}")


def _write_page(page: Page, path: Path) -> None:
    with atomic_write(path) as file:
        file.write(page.html().encode())


def _indexed(collection: Collection, folder: Path) -> Index:
    """Index the documents, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    names, documents = with_metadata_names(collection.documents())
    with IndexWriter(folder, metadata=names) as writer:
        writer.add_all(documents)
    index = Index.open(folder)
    print(f"   {len(index):,} documents are in {folder}, which can be updated while it is searched")
    return index


def _is_here(model: str) -> bool:
    """Whether a model has been fetched; a step without its model is left out, which is said."""
    here = model in fetched_models()
    if not here:
        print(f"   left out: {model} is not here. To see it: rankwell models add {model}")
    return here


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
        self._ranked("BM25", BM25(self.index, k=100))
        self._ranked("BM25 + RM3", RM3(BM25(self.index, k=100)))
        print("   The grade stands in front of each document, from 3 (just what is asked) to 0; - is unjudged.")
        self._show("BM25")

    def by_meaning(self) -> None:
        """Vectors, and words and vectors together."""
        if not _is_here(BI_ENCODER):
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
        if not _is_here(CROSS_ENCODER):
            return
        print(f"   {CROSS_ENCODER} reads each query together with what BM25 found, on the CPU and without torch")
        reranker = CrossEncoder(CROSS_ENCODER, k=DEPTH, max_tokens=TOKENS, precision=PRECISION, cache=False)
        self._ranked("BM25 + BERT", BM25(self.index, k=100) >> reranker)
        self._show("BM25 + BERT")

    def compare(self) -> None:
        """Every difference to BM25, tested, with a page of pictures."""
        self._ranked("random", RandomRanker(docnos=tuple(self.index.documents), k=100))
        compared = compare(self.judgments, self.runs, MEASURES)
        table = comparison.compact_table(compared)  # what a run is worth, with stars, and what it costs
        rows = [(*row, self.milliseconds[str(row[0])]) for row in table.rows]
        table = replace(table, columns=[*table.columns, Column("ms a query", digits=1)], rows=rows)
        print(table.render("table"), end="")
        print(f"   compared with BM25, t-test, Holm's correction. {significance.mark('stars').legend}")
        for sentence in compared.warnings():
            print(f"   note: {one_line(sentence)}")
        page, judged, runs = (self.out / name for name in ("comparison.html", "judgments.qrels", "runs"))
        texts = self.queries.texts()
        bench = comparison.query_workbench(compared, self.judgments, self.runs, texts=texts)
        if bench is not None:
            pieces = partial(document_pieces, self.index.analyzer, SNIPPET)
            bench = replace(bench, documents=self.index.documents, snippet=pieces)
        _write_page(comparison.comparison_page(compared, texts=texts, command="rankwell demo", workbench=bench), page)
        print(f"   intervals, effects, wins and losses, with pictures: {page}")
        write_qrels(judged, self.judgments)
        for name, run in self.runs.items():
            plain = name.lower().replace(" + ", "-")  # bm25-bert
            write_run(runs / f"{plain}.trec", replace(run, tag=plain), "trec")
        print(f"   the judgments are {judged}, the runs lie in {runs}: go on with")
        print(f"       rankwell compare {judged} {runs}/*.trec -m RR@10")

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


def show_page(index: Path, model: str | None, words: str, *, stay: bool) -> None:
    """Start the page and ask it once; then stay until Ctrl-C, or stop it and say how to start it again."""
    command = ["serve", str(index), *(["--rerank", model] if model else [])]
    if not _serve_once(command, _free_port(PORT, 0), words, stay=stay):
        _serve_once(command, _free_port(0), words, stay=stay)  # another program was faster to take the port


def _serve_once(command: list[str], port: int, words: str, *, stay: bool) -> bool:
    """Serve the page at a port; False where another program has it."""
    address = f"http://{HOST}:{port}"
    with tempfile.TemporaryFile() as said, _started([*command, "--port", address.rpartition(":")[2]], said) as server:
        print("   it starts; the first time it compiles its inner loops, which takes some seconds more", flush=True)
        if not _is_ready(server, address):
            reason = _last_line(said)
            if "address already in use" in reason:
                return False
            print(f"   left out: the page did not start: {reason}")
            return True
        _print_answer(words, _asked(address, words))
        if stay:
            print(f"\n   The page: {address}   (Ctrl-C stops it)\n", flush=True)
            _wait(server)
    print(f"   {'Again' if stay else f'The page: {address}, which is closed now; to open it'}:\n")
    print(f"       {shlex.join([_program(), *command])}\n")
    print("   And with documents of yours (CSV, JSON lines, a folder of texts, ...):\n")
    print(f"       {_program()} index YOURS.csv --out yours\n       {_program()} serve yours")
    return True


def _print_answer(words: str, answer: dict[str, Any] | None) -> None:
    if answer is None:
        print(f"   asked for {words!r}, it was too busy to answer")
        return
    first = answer["results"][0]["id"] if answer["results"] else "nothing"
    late = " (by words alone: BERT was not done in time)" if answer.get("partial") else ""
    print(f"   asked for {words!r}, it answers {first!r} in {answer['took_ms']:.0f} ms{late}")


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
        with contextlib.suppress(OSError), LOCAL.open(f"{address}/ready", timeout=5):
            return True
        time.sleep(0.1)
    return False


def _asked(address: str, words: str) -> dict[str, Any] | None:
    """The answer to a search; a busy server says 503, and is asked again for a while."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            with LOCAL.open(f"{address}/api/search?{parse.urlencode({'q': words})}", timeout=PATIENCE) as answer:
                return dict(orjson.loads(answer.read()))
        except error.HTTPError as refusal:
            refusal.close()
            if refusal.code != BUSY:
                return None
            time.sleep(1)
        except OSError:
            return None
    return None


def _wait(server: subprocess.Popen[bytes]) -> None:
    """Until the server ends. Ctrl-C reaches it as well, so that we only have to wait."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _free_port(*wanted: int) -> int:
    """The first of these ports that is free; 0 is any other."""
    for port in wanted:
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
    installed = shutil.which("rankwell")
    return "rankwell" if called.name != "rankwell" or (installed and Path(installed).samefile(called)) else str(called)
