"""Making very many training pairs: how fast, and how much memory.

    python benchmarks/pairs.py [--documents 1000000] [--kind self-supervised|labelled] [--folder DIR]

The documents are made of texts that the machine has (`engine_corpus`): the first words of a stretch are its title, the
rest is its abstract. Self-supervised pairs are one a document. Labelled ones have made-up judgments: a query of a
document's title is answered by that document, with four negatives out of a made-up ranking. Making them is done in
a process of its own, whose peak memory is the largest resident set that the operating system saw.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import engine_corpus
from rankwell.core import Document, Judgments, Queries, Query, Run
from rankwell.models.learning.pairs import Pairs
from rankwell.training import Labelled, Negatives, SelfSupervised, Sources, Spool, write_labelled, write_self_supervised

TITLE = 8  # words
EACH = 5  # pairs of a query that has judgments
KILOBYTES = 1 if sys.platform == "darwin" else 1024  # what ru_maxrss counts in


def main() -> None:
    """Make the corpus, make the pairs in another process, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=sorted(KINDS), default="self-supervised")
    parser.add_argument("--folder", type=Path, help="where the corpus is kept for the next time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        corpus = engine_corpus.make(folder, given.documents, 1)
        print(json.dumps(corpus.facts, indent=1))
        context = multiprocessing.get_context("spawn")
        results: multiprocessing.Queue[dict[str, object]] = context.Queue()
        worker = context.Process(target=measure, args=(given.kind, corpus.path, Path(temporary) / "pairs", results))
        worker.start()
        worker.join()
        print(json.dumps(results.get(timeout=10), indent=1))


def measure(kind: str, corpus: Path, out: Path, results: multiprocessing.Queue[dict[str, object]]) -> None:
    """Make pairs, and say how long it took and how much memory the process ever had."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTES
    started, working = time.perf_counter(), time.process_time()
    with Spool(documents(corpus)) as spool:
        read = time.perf_counter() - started
        found = KINDS[kind](spool, out)
    seconds, working = time.perf_counter() - started, time.process_time() - working
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KILOBYTES
    results.put(
        {
            "kind": kind,
            "pairs": len(found),
            "seconds": round(seconds, 1),
            "of which reading documents": round(read, 1),
            "seconds of the processor": round(working, 1),
            "pairs a second of the processor": round(len(found) / working),
            "peak memory, MB": round(peak / 1e6),
            "memory before, MB": round(before / 1e6),
            "pairs on disk, MB": round((out / "pairs.parquet").stat().st_size / 1e6),
        }
    )
    shutil.rmtree(out)


def documents(corpus: Path) -> Iterator[Document]:
    """Stretches of text as documents with a title and an abstract."""
    with corpus.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            words = record["text"].split()
            fields = {"title": " ".join(words[:TITLE]), "abstract": " ".join(words[TITLE:])}
            yield Document(record["id"], fields)


def self_supervised(spool: Spool, out: Path) -> Pairs:
    """A pair a document, with all perturbations."""
    return write_self_supervised(out, spool, SelfSupervised())


def labelled(spool: Spool, out: Path) -> Pairs:
    """As many pairs as documents: every fifth document answers a query, and its neighbours were ranked too."""
    ids = list(spool)
    asked = range(0, len(ids), EACH)
    queries = Queries(Query(f"q{number}", {"query": spool.at(number).fields["title"]}) for number in asked)
    judgments = Judgments((f"q{number}", ids[number], 1) for number in asked)
    ranked = {
        f"q{number}": {ids[(number + step) % len(ids)]: float(-step) for step in range(2 * EACH)} for number in asked
    }
    sources = Sources(spool, queries, judgments, Run.from_dict(ranked))
    return write_labelled(out, sources, Labelled(Negatives((("hard", 2), ("random", 2)))))


KINDS = {"self-supervised": self_supervised, "labelled": labelled}

if __name__ == "__main__":
    main()
