"""Gestalt similarity of titles: Rankwell beside Python's difflib, on pairs as the matching of studies meets them.

    python benchmarks/similarity.py [--pairs 2000]

Titles are made of the words of the bundled collection, 8 to 24 words each; a quarter of the pairs are the same title
with small changes, a quarter share half of their words, the others have nothing to do with each other.
"""

from __future__ import annotations

import argparse
import difflib
import random
import statistics
import time
from collections.abc import Callable

from rankwell.collections import open_collection
from rankwell.reviews import gestalt


def words() -> list[str]:
    """The words of the bundled collection, as often as they stand there."""
    documents = open_collection("rankwell:python").documents()
    return [word for document, _ in zip(documents, range(1500), strict=False) for word in document.text().split()]


def pairs(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Pairs of titles: nearly equal, half equal, and different."""
    known, lots = words(), random.Random(seed)  # noqa: S311 -- made-up titles
    made = []
    for number in range(count):
        title = lots.choices(known, k=lots.randint(8, 24))
        other = list(title)
        if number % 4 == 0:
            other[lots.randrange(len(other))] = lots.choice(known)
        elif number % 4 == 1:
            other = title[: len(title) // 2] + lots.choices(known, k=len(title) // 2)
        else:
            other = lots.choices(known, k=lots.randint(8, 24))
        made.append((" ".join(title)[:300].lower(), " ".join(other)[:300].lower()))
    return made


def timed(function: Callable[[str, str], float], given: list[tuple[str, str]]) -> tuple[float, list[float]]:
    """The best of three times (of the processor) in microseconds a pair, and the values."""
    times, values = [], list[float]()
    for _ in range(3):
        start = time.process_time()
        values = [function(a, b) for a, b in given]
        times.append((time.process_time() - start) / len(given) * 1e6)
    return min(times), values


def with_difflib(a: str, b: str) -> float:
    """The second implementation, without its heuristics."""
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def main() -> None:
    """Measure, compare the values, print the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=2000)
    given = pairs(parser.parse_args().pairs)
    gestalt("compile", "first")
    ours, our_values = timed(gestalt, given)
    theirs, their_values = timed(with_difflib, given)
    length = statistics.fmean(len(text) for pair in given for text in pair)
    print(f"{len(given):,} pairs of titles, {length:.0f} characters on average")
    print(f"difflib  {theirs:10.1f} us a pair")
    print(f"rankwell {ours:10.1f} us a pair   {theirs / ours:.1f} times as fast")
    print(f"equal values: {sum(a == b for a, b in zip(our_values, their_values, strict=True)):,} of {len(given):,}")


if __name__ == "__main__":
    main()
