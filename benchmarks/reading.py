"""How fast collections and runs are read, beside the bare parser and beside ir-measures, in one run.

python benchmarks/reading.py [--documents 1000000] [--lines 7000000] [--repeats 3]

Files are made with a fixed seed in a temporary folder. Each contender reads in a process of its own, by turns; medians
of CPU seconds and the growth of resident memory during the reading are printed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import orjson

VOCABULARY = 20_000

MEASURED = """
import resource, sys, time
path = sys.argv[1]
{setup}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.process_time()
{body}
seconds = time.process_time() - started
print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""

DOCUMENTS = {
    "orjson, bare": ("import orjson", "for line in open(path, 'rb'):\n    orjson.loads(line)"),
    "rankwell": ("from rankwell import read_documents", "for document in read_documents(path):\n    pass"),
}
RUNS = {
    "ir-measures, read": ("import ir_measures", "for row in ir_measures.read_trec_run(path):\n    pass"),
    "ir-measures, kept": ("import ir_measures", "run = list(ir_measures.read_trec_run(path))"),
    "rankwell": ("from rankwell import read_run", "run = read_run(path)"),
}


def main() -> None:
    """Make the files, let the contenders read them by turns, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--lines", type=int, default=7_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder) / "corpus.jsonl"
        write_documents(documents, options.documents)
        contest(f"{options.documents:,} documents as JSON lines", documents, DOCUMENTS, options.repeats)
        documents.unlink()
        run = Path(folder) / "run.trec"
        write_run(run, options.lines)
        contest(f"a TREC run of {options.lines:,} lines", run, RUNS, options.repeats)


def contest(what: str, path: Path, contenders: dict[str, tuple[str, str]], repeats: int) -> None:
    """Each contender in turn, several times; the first is the one to compare with."""
    print(f"\n{what}, {path.stat().st_size / 1e6:,.0f} MB, median of {repeats}")
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    memory: dict[str, float] = {}
    for _ in range(repeats):
        for name, (setup, body) in contenders.items():
            program = MEASURED.format(setup=setup, body=body)
            done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
            spent, grown = map(float, done.stdout.split())
            seconds[name].append(spent)
            memory[name] = max(grown, memory.get(name, 0.0))
    peer = statistics.median(next(iter(seconds.values())))
    for name, spent in seconds.items():
        median = statistics.median(spent)
        print(f"  {name:18} {median:7.2f} s   {peer / median:5.2f}x   memory +{memory[name]:,.0f} MB")


def write_documents(path: Path, count: int) -> None:
    """BEIR documents of about 150 words, whose words are drawn as words are: few often, many rarely."""
    chooser = random.Random(1)  # noqa: S311 -- reproducible text, not a secret
    words = [f"w{number}" for number in range(VOCABULARY)]
    weights = [1 / (number + 1) for number in range(VOCABULARY)]
    stock = chooser.choices(words, weights, k=200_000)
    with path.open("wb") as file:
        for number in range(count):
            start = chooser.randrange(len(stock) - 400)
            size = chooser.randrange(50, 250)
            title, text = stock[start : start + 10], stock[start + 10 : start + 10 + size]
            file.write(orjson.dumps({"_id": f"d{number}", "title": " ".join(title), "text": " ".join(text)}) + b"\n")


def write_run(path: Path, lines: int) -> None:
    """A thousand documents a query, scores falling, as MS MARCO runs are."""
    chooser = random.Random(1)  # noqa: S311 -- reproducible numbers
    with path.open("w") as file:
        for query in range(lines // 1000):
            scores = sorted((chooser.random() * 20 for _ in range(1000)), reverse=True)
            docnos = chooser.sample(range(8_841_823), 1000)
            file.writelines(
                f"{query} Q0 {docno} {rank} {score:.6f} tag\n"
                for rank, (docno, score) in enumerate(zip(docnos, scores, strict=True), 1)
            )


if __name__ == "__main__":
    main()
