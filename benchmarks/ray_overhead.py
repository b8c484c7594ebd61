"""What Ray costs: encoding and re-ranking here, and by one worker of a Ray that is started on this machine.

    python benchmarks/ray_overhead.py [--encoder minilm-l6] [--cross-encoder ms-marco-minilm-l12] [--threads 1]
                                      [--texts 512] [--rounds 5]

Both do the same work with as many threads, in turns, and give the same numbers (checked); medians and their ratio are
printed, of the seconds that pass and of the processors' time (of this process and all of Ray's, which a busy machine
does not change much). Starting Ray and loading the model is said apart: it does not grow with the work.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import numpy as np
import psutil

from rankwell.models.base import load_pair_scorer, load_text_encoder
from rankwell.ray import Cluster, Encoding, RemoteEncoder, connected
from rankwell.ray.encoding import PairScoring, RemoteScorer

WORDS = ["patient", "fever", "infection", "treatment", "risk", "cell", "protein", "virus", "vaccine", "trial", "dose"]
Work = Callable[[], np.ndarray]


def main() -> None:
    """Measure both, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm-l6")
    parser.add_argument("--cross-encoder", default="ms-marco-minilm-l12")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    texts = texts_of(asked.texts)
    pairs = [(" ".join(text.split()[:8]), text) for text in texts]

    started = time.perf_counter()
    with connected(f"ray:workers=1,threads={asked.threads}") as cluster:
        print(f"starting Ray: {time.perf_counter() - started:.1f} s")
        encode(cluster, asked, texts)
        score(cluster, asked, pairs)


def texts_of(count: int) -> list[str]:
    """Texts of 20 to 120 words."""
    lots = random.Random(1)  # noqa: S311 -- the same texts every time
    return [" ".join(lots.choices(WORDS, k=lots.randint(20, 120))) for _ in range(count)]


def encode(cluster: Cluster, asked: argparse.Namespace, texts: list[str]) -> None:
    """Texts to vectors."""
    here = load_text_encoder(asked.encoder, threads=asked.threads)
    started = time.perf_counter()
    with cluster.workers(Encoding.like(here)) as workers:
        workers.ready()
        print(f"a worker with {asked.encoder}: {time.perf_counter() - started:.1f} s")
        remote = RemoteEncoder(workers, here)
        compare("encode", len(texts), asked.rounds, lambda: here.encode(texts), lambda: remote.encode(texts))


def score(cluster: Cluster, asked: argparse.Namespace, pairs: list[tuple[str, str]]) -> None:
    """Pairs to scores."""
    here = load_pair_scorer(asked.cross_encoder, threads=asked.threads)
    options = {"max_tokens": None, "query_tokens": None, "precision": None}
    started = time.perf_counter()
    with cluster.workers(PairScoring(asked.cross_encoder, options, here.fingerprint())) as workers:
        workers.ready()
        print(f"a worker with {asked.cross_encoder}: {time.perf_counter() - started:.1f} s")
        remote = RemoteScorer(workers, here)
        compare("re-rank", len(pairs), asked.rounds, lambda: here.logits(pairs), lambda: remote.logits(pairs))


def compare(what: str, items: int, rounds: int, here: Work, there: Work) -> None:
    """In turns, the one who begins changing from round to round, so that a busy moment of the machine hits both."""
    assert np.array_equal(here(), there())  # noqa: S101 -- and both are warm now
    used: dict[str, list[tuple[float, float]]] = {"here": [], "Ray": []}
    for number in range(rounds):
        for name, work in (("here", here), ("Ray", there))[:: 1 if number % 2 else -1]:
            before = time.perf_counter(), processor_seconds()
            work()
            used[name].append((time.perf_counter() - before[0], processor_seconds() - before[1]))
    for place, clock in enumerate(("seconds that pass", "processor seconds")):
        of_clock = {name: [both[place] for both in found] for name, found in used.items()}
        medians = {name: statistics.median(found) for name, found in of_clock.items()}
        each = " ".join(f"{ray / local:.2f}" for local, ray in zip(*of_clock.values(), strict=True))
        shown = ", ".join(f"{name} {median:.2f}" for name, median in medians.items())
        ratio = medians["Ray"] / medians["here"]
        print(f"{what}, {items} items, {clock}: {shown}: {ratio:.2f} times as many (by round: {each})", flush=True)


def processor_seconds() -> float:
    """What this process and all below it have used: Ray's are below it."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:2]) for process in (me, *me.children(recursive=True)))


if __name__ == "__main__":
    main()
