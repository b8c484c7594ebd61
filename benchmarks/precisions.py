"""What int8 costs in quality, and whether another processor gives the same scores.

    python benchmarks/precisions.py quality DATA [--depth 10] [--threads 2]
    python benchmarks/precisions.py processors DATA [--processor Haswell ...] [--queries 10] [--depth 20]

DATA is a folder with the collections msmarco-dl19-pool (with `runs/BM25.trec`) and scifact in the BEIR layout.

`quality` prints nDCG@10 in fp32 and int8: `ms-marco-minilm-l12` over the top of BM25's runs, `bge-small-en` over BM25's
run of DL19 and over all of SciFact. `processors` scores the same pairs here and under QEMU's user mode (Debian's
`qemu-user`) as if this were an older processor, and compares the scores. There 200 pairs take a quarter of an hour.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankwell.collections import open_collection, read_qrels, read_queries, read_run
from rankwell.core import Queries, Run
from rankwell.evaluation import evaluate
from rankwell.index import Index, IndexWriter
from rankwell.models.base import PairScorer, TextEncoder
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.retrieve import BM25

CROSS_ENCODER, BI_ENCODER = "ms-marco-minilm-l12", "bge-small-en"
PRECISIONS = ("fp32", "int8")
MEASURE = "nDCG@10"
SCORED = "scored"  # what this script is called with under QEMU
# QEMU 7.2 crashes where a masked AVX load ends at the end of mapped memory, and sorts wrongly by numpy's AVX2 code.
EMULATED = {"MALLOC_MMAP_MAX_": "0", "NPY_DISABLE_CPU_FEATURES": "X86_V3"}


def deep_learning(data: Path) -> Run:
    """BM25's stored run of the Deep Learning track 2019, with queries and passages."""
    folder = data / "msmarco-dl19-pool"
    passages = {document.id: document for document in open_collection(folder).documents()}
    run = read_run(folder / "runs" / "BM25.trec")
    return replace(run, queries=read_queries(folder / "queries.jsonl"), documents=passages)


def quality(data: Path, depth: int, threads: int) -> None:
    """nDCG@10 of both models on both collections at both precisions."""
    first = deep_learning(data)
    judged = read_qrels(data / "msmarco-dl19-pool" / "qrels" / "full.tsv")
    scifact = open_collection(data / "scifact")
    relevant = read_qrels(data / "scifact" / "qrels" / "test.tsv")
    queries = Queries(query for qid, query in scifact.queries().items() if qid in relevant)
    with tempfile.TemporaryDirectory() as scratch:
        with IndexWriter(Path(scratch) / "index") as writer:
            writer.add_all(scifact.documents())
        words = BM25(Index.open(Path(scratch) / "index"), k=100)(queries)
        tell("DL19", "BM25", "", judged, first, 0.0)
        tell("SciFact", "BM25", "", relevant, words, 0.0)
        for precision in PRECISIONS:
            stage = CrossEncoder(CROSS_ENCODER, precision=precision, threads=threads, cache=False, quiet=True)
            timed("DL19, top 100", CROSS_ENCODER, precision, judged, lambda s=stage: replace(s, k=100)(first))
            timed(
                f"SciFact, top {depth}", CROSS_ENCODER, precision, relevant, lambda s=stage: replace(s, k=depth)(words)
            )
            encoder = TextEncoder(BI_ENCODER, precision=precision, threads=threads)
            timed("DL19, top 100", BI_ENCODER, precision, judged, lambda e=encoder: by_vectors(e, first))
            everything = {document.id: document for document in scifact.documents()}
            whole = Run.from_dict(
                {qid: dict.fromkeys(everything, 0.0) for qid in queries}, queries=queries, documents=everything
            )
            timed("SciFact, all", BI_ENCODER, precision, relevant, lambda e=encoder, w=whole: by_vectors(e, w).top(100))


def by_vectors(encoder: TextEncoder, run: Run) -> Run:
    """The documents of a run ordered by their vectors' similarity to the query's."""
    names = sorted({str(docno) for qid in run.qids for docno in run[qid].docnos})
    places = {name: place for place, name in enumerate(names)}
    vectors = encoder.encode([run.documents[name].text() for name in names])  # type: ignore[index]
    asked = encoder.encode_queries([run.queries[qid].text() for qid in run.qids])  # type: ignore[index]
    scores = {
        qid: {str(docno): float(vectors[places[str(docno)]] @ question) for docno in run[qid].docnos}
        for qid, question in zip(run.qids, asked, strict=True)
    }
    return Run.from_dict(scores, queries=run.queries, documents=run.documents)


def timed(where: str, model: str, precision: str, judged: object, work: object) -> None:
    """Run a ranking and tell its quality."""
    begin = time.perf_counter()
    run = work()  # type: ignore[operator]
    tell(where, model, precision, judged, run, time.perf_counter() - begin)


def tell(where: str, model: str, precision: str, judged: object, run: Run, seconds: float) -> None:  # noqa: PLR0917 -- a line of a table
    """One line of the table."""
    mean = evaluate(judged, run, [MEASURE]).mean(MEASURE)  # type: ignore[arg-type]
    print(f"{where:18}{model:22}{precision:6}{MEASURE} {mean:.4f}   {seconds:6.0f} s", flush=True)


def pairs_of(data: Path, queries: int, depth: int) -> list[tuple[str, str]]:
    """Pairs of the Deep Learning track: the first queries with the top of BM25's run."""
    run = deep_learning(data)
    return [
        (run.queries[qid].text(), run.documents[str(docno)].text())  # type: ignore[index]
        for qid in run.qids[:queries]
        for docno in run[qid].docnos[:depth]
    ]


def score(data: Path, queries: int, depth: int, precision: str, out: Path) -> None:
    """The scores of these pairs on the processor that this process sees."""
    scorer = PairScorer(CROSS_ENCODER, precision=precision)
    np.save(out, scorer.scores(scorer.logits(pairs_of(data, queries, depth))))


def processors(data: Path, names: list[str], queries: int, depth: int, precision: str) -> None:
    """The differences between this processor's scores and those of emulated ones."""
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch) / "here.npy"
        score(data, queries, depth, precision, here)
        expected = np.load(here).reshape(queries, depth)
        for name in names:
            file = Path(scratch) / f"{name}.npy"
            asked = [str(data), "--queries", str(queries), "--depth", str(depth), "--precision", precision]
            command = ["qemu-x86_64", "-cpu", name, sys.executable, __file__, SCORED, *asked, "--out", str(file)]
            subprocess.run(command, check=True, env={**os.environ, **EMULATED}, stderr=subprocess.DEVNULL)
            scores = np.load(file).reshape(queries, depth)
            apart = np.abs(scores - expected)
            orders = [np.argsort(-rows, axis=1, kind="stable")[:, :10] for rows in (expected, scores)]
            sets = sum(set(one) == set(two) for one, two in zip(*orders, strict=True))
            same = sum(bool((one == two).all()) for one, two in zip(*orders, strict=True))
            print(
                f"{name}, {precision}, {apart.size} pairs: median {np.median(apart):.4f}, largest {apart.max():.4f}; "
                f"top 10 in the same order for {same}, with the same documents for {sets} of {queries} queries",
                flush=True,
            )


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "processors", SCORED])
    parser.add_argument("data", type=Path)
    parser.add_argument("--processor", action="append", default=[])
    parser.add_argument("--precision", choices=PRECISIONS, default="int8")
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--depth", type=int, default=None)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "quality":
        quality(given.data, given.depth or 10, given.threads)
    elif given.what == "processors":
        names = given.processor or ["Haswell", "Nehalem"]
        processors(given.data, names, given.queries, given.depth or 20, given.precision)
    else:
        score(given.data, given.queries, given.depth or 20, given.precision, given.out)


if __name__ == "__main__":
    main()
