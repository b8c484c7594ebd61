"""The engine beside its peers: building, size, opening and searching, on text that the machine has.

    python benchmarks/engine.py [--sizes 100000,500000,2000000] [--queries 2000] [--repeats 3] [--half second]

Every engine runs in processes of its own, one thread each, in turn, `repeats` times; the medians count. Half of the
queries ("first") were looked at while the engine was tuned, so it is the other half that is reported. Searches are
timed one at a time (p50, p99) and all in one call where an engine can do that (queries per second). Corpora, indexes
and queries stay in --folder, so that a second run starts at once. `--rank` measures runs instead: from all queries to a
TREC file of the 1,000 best documents of each, whole commands.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import engine_corpus
from engine_peers import DEPTHS, ENGINES

PEERS = Path(__file__).with_name("engine_peers.py")
Measured = dict[str, Any]


def run(task: str, engine: str, size: int, folder: Path, half: str = "", *, threads: int = 1) -> Measured:
    """One task in a process of its own; the wall time of the whole process is added."""
    start = time.perf_counter()
    command = [sys.executable, str(PEERS), task, engine, str(size), str(folder), half, str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {**json.loads(done.stdout), "process": time.perf_counter() - start}


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def median(runs: list[Measured], *path: str) -> float:
    """The median over the repeats."""
    return statistics.median(_at(one, path) for one in runs)


def _at(measured: Any, path: tuple[str, ...]) -> float:
    for name in path:
        measured = measured[name]
    return float(measured)


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """A Markdown table."""
    print(f"\n{title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def builds(
    runs: dict[str, list[Measured]], once: dict[str, list[Measured]], searches: dict[str, list[Measured]]
) -> None:
    """What it takes to make an index, to keep it and to open it."""
    header = ["engine", "build s", "build CPU s", "peak MB", "index MB", "with text MB", "open ms", "search MB"]
    rows = []
    for name, measured in runs.items():
        size, stored = median(measured, "bytes") / 1e6, median(measured, "stored") / 1e6
        figures = [median(measured, "wall"), median(measured, "cpu"), median(measured, "memory"), size - stored, size]
        opening = [median(searches[name], "open"), median(searches[name], "memory"), median(once[name], "process")]
        rows.append([name, *(f"{figure:.1f}" for figure in figures + opening)])
    table("Building and opening", [*header, "one search in a new process, s"], rows)


def searched(searches: dict[str, list[Measured]]) -> None:
    """How long searches take; behind each peer's median how many times ours it is."""
    header = ["search", *(f"{name} {what}" for name in searches for what in ("p50", "p99", "batch")), "peer / ours"]
    rows = []
    for match in ("or", "and"):
        for k in DEPTHS:
            cell = f"{match} {k}"
            row, means = [f"{match.upper()} top {k}"], {}
            for name, runs in searches.items():
                if cell not in runs[0]:
                    row += ["-", "-", "-"]
                    continue
                p50, p99 = (statistics.median(percentile(one[cell]["each"], s) for one in runs) for s in (0.5, 0.99))
                means[name] = median(runs, cell, "batch cpu")
                row += [f"{p50:.0f}", f"{p99:.0f}", f"{means[name]:.0f}"]
            ours = means.get("rankwell")
            shares = [f"{name} {mean / ours:.2f}x" for name, mean in means.items() if ours and name != "rankwell"]
            rows.append([*row, ", ".join(shares)])
    table("Searching: microseconds a query (batch: CPU time of all in one call, and its ratio)", header, rows)


RANKERS = (("rankwell", 1), ("rankwell", 2), ("tantivy", 1))


def ranked(size: int, folder: Path, repeats: int) -> None:
    """How long whole runs take, by turns, and what a line costs beside the searching."""
    runs: dict[tuple[str, int], list[Measured]] = {ranker: [] for ranker in RANKERS}
    for name in dict.fromkeys(name for name, _ in RANKERS):
        if not (folder / f"{name}-{size}").exists():
            run("build", name, size, folder)
    for _ in range(repeats):
        for name, threads in RANKERS:
            runs[name, threads].append(run("rank", name, size, folder, threads=threads))
    ours, rows = median(runs["rankwell", 1], "wall"), []
    for (name, threads), measured in runs.items():
        wall, cpu, lines = (median(measured, key) for key in ("wall", "cpu", "lines"))
        row = [f"{name}, {threads} threads", f"{lines:,.0f}", f"{wall:.2f}", f"{cpu:.2f}", f"{wall / ours:.2f}x"]
        searching = median(measured, "searching") if "searching" in measured[0] else None
        beside = "-" if searching is None else f"{(cpu - searching) / lines * 1e9:.0f}"
        rows.append([*row, beside, f"{median(measured, 'memory'):.0f}"])
    header = ["run of 1,000 documents a query", "lines", "s", "CPU s", "x ours", "ns a line beside searching", "MB"]
    table("Ranking", header, rows)


def main() -> None:
    """Measure all sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="100000,500000,2000000", help="documents, with commas between")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--half", choices=["first", "second"], default="second")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "rankwell-bench")
    parser.add_argument("--keep", action="store_true", help="do not build again what is there")
    parser.add_argument("--rank", action="store_true", help="measure runs, not searches")
    options = parser.parse_args()
    names = options.engines.split(",")
    for size in map(int, options.sizes.split(",")):
        corpus = engine_corpus.make(options.folder, size, options.queries)
        print(f"\n## {size:,} documents\n\n{json.dumps(corpus.facts)}; {len(corpus.queries)} queries", flush=True)
        if options.rank:
            ranked(size, options.folder, options.repeats)
            continue
        built: dict[str, list[Measured]] = {name: [] for name in names}
        found: dict[str, list[Measured]] = {name: [] for name in names}
        once: dict[str, list[Measured]] = {name: [] for name in names}
        for repeat in range(options.repeats):
            for name in names:
                if repeat == 0 or not options.keep:
                    built[name].append(run("build", name, size, options.folder))
                found[name].append(run("search", name, size, options.folder, options.half))
                once[name].append(run("once", name, size, options.folder, options.half))
        builds(built, once, found)
        searched(found)


if __name__ == "__main__":
    main()
