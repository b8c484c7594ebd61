"""Dense search on one thread: us beside numpy, faiss and usearch, all on the same vectors.

    python benchmarks/dense.py VECTORS.npy                        # rows of 32-bit floats; the last 1,000 are queries
    python benchmarks/dense.py VECTORS.npy --make DATA            # make them first: sentences of the BEIR collections
                                                                  # in a folder, encoded by minilm-l3
    python benchmarks/dense.py VECTORS.npy --kernel avx2 --kernel plain   # measure these kernels of ours too

Exact search: queries one at a time and in batches of 32, the 100 best of each. Everyone's result must be the same but
for scores that differ by less than 1e-4. Approximate search: HNSW with 16 neighbours and 128 candidates while building;
the width of each search is raised until it finds 97 of 100 of the exact result. Rounds take turns, the median counts.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 -- numbers of threads are read when libraries are loaded

K = 100
BATCH = 32
QUERIES = 1000
WANTED = 0.97
WIDTHS = (100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024, 1600, 2400)
MODEL = "minilm-l3"

Vectors = np.ndarray[Any, np.dtype[np.float32]]
Search = Callable[[Vectors], Any]  # of queries; numbers of documents, a line each


class Given:
    """An encoder that has its vectors already: the text of a document is its number."""

    model = "given"

    def __init__(self, vectors: Vectors) -> None:
        self.vectors, self.dimensions = vectors, vectors.shape[1]

    def encode(self, texts: Sequence[str], progress: Any = None) -> Vectors:
        """By number."""
        if progress is not None:
            progress.advance(len(texts))
        return self.vectors[[int(text) for text in texts]]

    encode_queries = encode

    def fingerprint(self) -> str:
        """Nobody asks twice."""
        return "given"


def made(data: Path, count: int) -> Vectors:
    """Sentences of the collections in a folder as vectors."""
    from rankwell.core import Progress
    from rankwell.models.base import TextEncoder

    found = dict.fromkeys(sentences(data))
    chosen = np.random.default_rng(1).permutation(list(found))[: count + QUERIES].tolist()
    with Progress("encoding", unit="sentences", total=len(chosen)) as progress:
        return TextEncoder(MODEL, max_tokens=128).encode(chosen, progress)


def sentences(data: Path) -> Iterator[str]:
    """Of 20 to 400 letters."""
    from rankwell.collections import open_collection

    for folder in sorted(file.parent for file in data.glob("*/corpus.jsonl")):
        for document in open_collection(str(folder)).documents():
            for text in document.fields.values():
                parts = re.split(r"(?<=[.!?])\s+(?=[A-Z(])", text)
                yield from (part for part in map(str.strip, parts) if 20 <= len(part) <= 400)


def rankwell(vectors: Vectors, folder: Path) -> Any:
    """An index of documents that are nothing but their vectors."""
    from rankwell import Document
    from rankwell.index import Index, IndexWriter
    from rankwell.vectors import embed

    with IndexWriter(folder) as writer:
        for number in range(len(vectors)):
            writer.add(Document(f"{len(vectors) - 1 - number:08d}", {"text": str(number)}))
    return embed(Index.open(folder), Given(vectors), graph=False)


def by_kernel(embeddings: Any, name: str) -> Search:
    """Our search with a named kernel, whatever this processor would choose."""
    from rankwell.vectors.search import kernels, runnable_kernels

    if name not in runnable_kernels():
        raise SystemExit(f"--kernel: expected one of {', '.join(runnable_kernels())}, found {name}")
    compiled: Any = kernels()

    def search(batch: Vectors) -> Any:
        before, compiled.scan = compiled.scan, compiled.SCANS[name]
        try:
            return numbers(embeddings.search(batch, K))
        finally:
            compiled.scan = before

    return search


def numbers(hits: Any) -> Any:
    """Rankwell's documents are numbered by id, descending, which is how they were given here."""
    return hits.documents.reshape(-1, K)


def of_numpy(vectors: Vectors, queries: Vectors) -> Any:
    """The product, and the best of it."""
    scores = queries @ vectors.T
    best = np.argpartition(-scores, K, axis=1)[:, :K]
    return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1), axis=1)


def timed(searches: dict[str, Search], batches: Sequence[Vectors]) -> dict[str, list[float]]:
    """Seconds a batch, everyone taking turns."""
    found: dict[str, list[float]] = {name: [] for name in searches}
    for search in searches.values():
        search(batches[0])
    for batch in batches:
        for name, search in searches.items():
            started = time.perf_counter()
            search(batch)
            found[name].append(time.perf_counter() - started)
    return found


def report(what: str, found: dict[str, list[float]], queries: int) -> None:
    """Milliseconds a query, and how many times as long as ours."""
    ours = statistics.median(next(iter(found.values())))
    print(f"\n{what}, milliseconds a query (median, best)")
    for name, seconds in found.items():
        middle, best = statistics.median(seconds), min(seconds)
        print(
            f"  {name:28} {1000 * middle / queries:8.3f} {1000 * best / queries:8.3f}"
            f"   {middle / ours:5.2f}x   best against best {best / min(next(iter(found.values()))):5.2f}x"
        )


def check_same(expected: Any, found: Any, vectors: Vectors, queries: Vectors, name: str) -> None:
    """Where the documents differ, their scores must not."""
    for query, one, other in zip(queries, expected, found, strict=True):
        difference = np.abs(np.sort(vectors[one] @ query) - np.sort(vectors[other] @ query)).max()
        if difference > 1e-4:
            raise SystemExit(f"{name}: found other documents, scores differ by {difference}")


def exact(embeddings: Any, vectors: Vectors, queries: Vectors, rounds: int, kernels: Sequence[str]) -> Any:
    """Exact search, one query at a time and in batches."""
    import faiss

    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(vectors.shape[1])
    flat.add(vectors)
    searches: dict[str, Search] = {
        "rankwell": lambda batch: numbers(embeddings.search(batch, K)),
        **{f"rankwell, {name} kernel": by_kernel(embeddings, name) for name in kernels},
        "numpy float32": lambda batch: of_numpy(vectors, batch),
        "faiss IndexFlatIP": lambda batch: flat.search(batch, K)[1],
    }
    truth = np.concatenate([of_numpy(vectors, queries[start : start + 50]) for start in range(0, len(queries), 50)])
    for name, search in searches.items():
        found = np.concatenate([search(queries[start : start + 50]) for start in (0, 50)])
        check_same(truth[:100], found, vectors, queries[:100], name)
    report("one query at a time", timed(searches, [queries[i : i + 1] for i in range(rounds)]), 1)
    batches = [queries[start : start + BATCH] for start in range(0, BATCH * (rounds // 10), BATCH)]
    report(f"batches of {BATCH}", timed(searches, batches), BATCH)
    return truth


def approximate(embeddings: Any, vectors: Vectors, queries: Vectors, truth: Any, rounds: int) -> None:
    """The graph, at the width where it finds what is wanted."""
    import onnxruntime  # noqa: F401 -- before usearch, see rankwell.vectors.search
    from usearch.index import Index

    from rankwell.vectors import connect

    started = time.perf_counter()
    embeddings = connect(embeddings.index)
    size = embeddings.info()["bytes"]["graph"]
    print(f"\n  rankwell graph built in {time.perf_counter() - started:.0f} s, {size / 1e6:,.1f} MB")
    searches: dict[str, Callable[[int], Search]] = {
        "rankwell": lambda width: lambda batch: numbers(embeddings.search(batch, K, method="hnsw", width=width))
    }
    for kind in ("i8", "f32"):
        graph = Index(ndim=vectors.shape[1], metric="cos", dtype=kind, connectivity=16, expansion_add=128)
        started = time.perf_counter()
        graph.add(np.arange(len(vectors)), vectors, threads=1)
        print(f"  usearch {kind} graph built in {time.perf_counter() - started:.0f} s")
        searches[f"usearch {kind}"] = lambda width, graph=graph: lambda batch: _own(graph, batch, width)
    chosen: dict[str, Search] = {}
    for name, made_for in searches.items():
        for width in WIDTHS:
            found = np.concatenate([made_for(width)(queries[i : i + 1]).reshape(1, -1) for i in range(300)])
            recall = np.mean([len(set(a) & set(b)) / K for a, b in zip(found.tolist(), truth.tolist(), strict=False)])
            if recall >= WANTED or width == WIDTHS[-1]:
                print(f"  {name}: recall@{K} {recall:.4f} with a width of {width}")
                chosen[name] = made_for(width)
                break
    report("HNSW, one query at a time", timed(chosen, [queries[i : i + 1] for i in range(rounds)]), 1)


def _own(graph: Any, batch: Vectors, width: int) -> Any:
    graph.expansion_search = width
    return np.atleast_2d(graph.search(batch, K, threads=1).keys)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--make", type=Path, metavar="DATA")
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--exact-only", action="store_true", help="Leave out the graphs, which take minutes to build.")
    parser.add_argument(
        "--kernel", action="append", default=[], metavar="NAME", help="Measure this kernel too: vnni, avx2 or plain."
    )
    options = parser.parse_args()
    if options.make:
        np.save(options.vectors, made(options.make, options.count))
    everything = np.load(options.vectors)
    everything /= np.linalg.norm(everything, axis=1, keepdims=True)
    vectors, queries = everything[:-QUERIES][: options.count], everything[-QUERIES:]
    print(f"{len(vectors):,} vectors of {vectors.shape[1]} numbers, the {K} best, one thread")
    with tempfile.TemporaryDirectory() as folder:
        embeddings = rankwell(vectors, Path(folder) / "index")
        size = embeddings.info()["bytes"]["vectors"]
        print(f"  stored in {size / 1e6:,.1f} MB; as 32-bit floats {vectors.nbytes / 1e6:,.1f} MB")
        truth = exact(embeddings, vectors, queries, options.rounds, options.kernel)
        if not options.exact_only:
            approximate(embeddings, vectors, queries, truth, options.rounds)


if __name__ == "__main__":
    main()
