"""Evaluating a large run, from the TREC file to the printed means, beside pytrec_eval, ir-measures and ranx.

    python benchmarks/evaluate.py                    # 6,980 queries x 1,000 documents: the size of MS MARCO dev
    python benchmarks/evaluate.py --queries 500 --repeats 5

Each tool reads the same two files and computes nDCG@10, AP, RR@10 and P@10 (RR without cut-off for pytrec_eval, which
has none) in a process of its own, started anew for every repeat and taking turns, so that none finds another's memory
or a warm heap. The clock starts after the imports and, for ranx, after its functions were compiled on a tiny example,
and stops when the means are there. The median counts. The figures must agree to four decimals or the benchmark fails.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MEASURES = ["nDCG@10", "AP", "RR@10", "P@10"]
AGREEMENT = 1e-4
Means = dict[str, float]
Tool = Callable[[str, str], Means]


def rankwell() -> Tool:
    """Our own."""
    from rankwell.collections import read_qrels, read_run
    from rankwell.evaluation import evaluate

    def measure(qrels: str, run: str) -> Means:
        result = evaluate(read_qrels(qrels), read_run(run), MEASURES)
        return {name: result.mean(name) for name in MEASURES}

    return measure


def pytrec_eval() -> Tool:
    """trec_eval's code behind a Python interface, with its own readers."""
    import pytrec_eval as peer

    names = {"ndcg_cut_10": "nDCG@10", "map": "AP", "P_10": "P@10", "recip_rank": "RR"}

    def measure(qrels: str, run: str) -> Means:
        with Path(qrels).open(encoding="utf-8") as file:
            judgments = peer.parse_qrel(file)
        with Path(run).open(encoding="utf-8") as file:
            scores = peer.parse_run(file)
        values = peer.RelevanceEvaluator(judgments, set(names)).evaluate(scores).values()
        return {ours: sum(of_query[name] for of_query in values) / len(judgments) for name, ours in names.items()}

    return measure


def ir_measures() -> Tool:
    """ir-measures, with the providers that it chooses."""
    import ir_measures as peer

    def measure(qrels: str, run: str) -> Means:
        wanted = [peer.parse_measure(name) for name in MEASURES]
        found = peer.calc_aggregate(wanted, peer.read_trec_qrels(qrels), peer.read_trec_run(run))
        return {str(name): float(value) for name, value in found.items()}

    return measure


def ranx() -> Tool:
    """Ranx, compiled beforehand."""
    from ranx import Qrels, Run, evaluate

    names = {"ndcg@10": "nDCG@10", "map": "AP", "mrr@10": "RR@10", "precision@10": "P@10"}

    def measure(qrels: str, run: str) -> Means:
        found = evaluate(Qrels.from_file(qrels, kind="trec"), Run.from_file(run, kind="trec"), list(names))
        return {ours: float(found[name]) for name, ours in names.items()}

    with tempfile.TemporaryDirectory() as folder:
        measure(*map(str, write_files(Path(folder), queries=3, documents=20, judged=2, seed=0)))
    return measure


TOOLS = {"rankwell": rankwell, "pytrec_eval": pytrec_eval, "ir-measures": ir_measures, "ranx": ranx}


def write_files(folder: Path, queries: int, documents: int, judged: float, seed: int) -> tuple[Path, Path]:
    """A run in the order of its scores and judgments of about `judged` documents a query, most of them returned."""
    draw = random.Random(seed)  # noqa: S311 -- for data, not for secrets
    qrels, run = folder / "qrels.txt", folder / "run.trec"
    with qrels.open("w", encoding="utf-8") as judgments, run.open("w", encoding="utf-8") as lines:
        for query in range(queries):
            qid = str(1_000_000 + query)
            docnos = draw.sample(range(8_841_823), documents)
            # Distinct 32-bit scores: peers differ in what they do with ties, which is not what is measured here.
            lines.writelines(
                f"{qid} Q0 {docno} {rank} {20 - rank * 0.01:.6f} bench\n" for rank, docno in enumerate(docnos, 1)
            )
            count = int(judged) + (draw.random() < judged % 1)
            returned = {docnos[min(documents - 1, int(draw.expovariate(1 / 40)))] for _ in range(max(1, count))}
            others = [draw.randrange(8_841_823, 9_000_000)] * (draw.random() < 0.1)
            judgments.writelines(f"{qid} 0 {docno} {draw.randint(1, 3)}\n" for docno in [*returned, *others])
    return qrels, run


def timed(tool: str, qrels: Path, run: Path) -> tuple[float, float, Means]:
    """Seconds (wall and CPU) and means of one tool in a new process."""
    command = [sys.executable, __file__, "--tool", tool, str(qrels), str(run)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    seconds, cpu, means = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, means


def one(tool: str, qrels: str, run: str) -> None:
    """What a process of its own does: import, then the clock, then one line of JSON."""
    measure = TOOLS[tool]()
    start, cpu = time.perf_counter(), time.process_time()
    means = measure(qrels, run)
    print(json.dumps([time.perf_counter() - start, time.process_time() - cpu, means]))


def compare(options: argparse.Namespace) -> None:
    """All tools in turn, as often as asked, and the table."""
    tools = [name for name in TOOLS if name in options.tools.split(",")]
    seconds: dict[str, list[float]] = {name: [] for name in tools}
    cpu: dict[str, list[float]] = {name: [] for name in tools}
    means: dict[str, Means] = {}
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = write_files(Path(folder), options.queries, options.documents, options.judged, options.seed)
        print(f"{options.queries} queries x {options.documents} documents, {run.stat().st_size / 1e6:.0f} MB")
        for repeat in range(options.repeats):
            for name in tools[repeat % len(tools) :] + tools[: repeat % len(tools)]:
                taken, used, means[name] = timed(name, qrels, run)
                seconds[name].append(taken)
                cpu[name].append(used)
    ours, ours_cpu = statistics.median(seconds["rankwell"]), statistics.median(cpu["rankwell"])
    print(f"{'tool':<12} {'median s':>9} {'min':>7} {'max':>7} {'x ours':>7} {'CPU s':>7} {'x ours':>7}  means")
    for name in tools:
        middle = statistics.median(seconds[name])
        shown = "  ".join(f"{measure} {value:.4f}" for measure, value in sorted(means[name].items()))
        spread = f"{min(seconds[name]):>7.2f} {max(seconds[name]):>7.2f}"
        used = statistics.median(cpu[name])
        print(f"{name:<12} {middle:>9.2f} {spread} {middle / ours:>7.2f} {used:>7.2f} {used / ours_cpu:>7.2f}  {shown}")
    for name in tools:
        for measure in means[name].keys() & means["rankwell"].keys():
            if abs(means[name][measure] - means["rankwell"][measure]) > AGREEMENT:
                sys.exit(f"{name} has another {measure}: {means[name][measure]} against {means['rankwell'][measure]}")


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["--tool"]:
        one(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=6980)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--judged", type=float, default=1.07, help="judged documents a query (MS MARCO dev: 1.07)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tools", default=",".join(TOOLS), help="which to run; rankwell must be among them")
    compare(parser.parse_args())


if __name__ == "__main__":
    main()
