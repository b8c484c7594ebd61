"""How often tests of significance err, and how often intervals hold the true mean, by simulation.

    python benchmarks/significance.py [--draws 10000]
    python benchmarks/significance.py --speed        # 50 runs x 6,980 queries, CPU and wall seconds

Type I error: two systems whose values come from one distribution, so that each significant difference is an error.
Coverage: the share of 95 % intervals that hold the true mean of a skewed measure. Both should be .05 and .95.

- "smooth" values are like AP or nDCG: a query's difficulty is Beta(1, 2), both systems scatter around it.
- "rough" values are like RR@10: 1 / rank of the first relevant document or 0, with half of the queries tied.

Resampling tests draw 999 samples here (10,000 or 100,000 in use); that costs no validity, only power.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from rankwell.evaluation.significance import resampling
from rankwell.evaluation.significance.paired import PairedTest, TTest
from rankwell.evaluation.significance.resampling import Bootstrap, Randomization, confidence_interval
from rankwell.evaluation.significance.tukey import range_tail, studentized
from rankwell.evaluation.significance.wilcoxon import Wilcoxon

SIZES = (10, 25, 50)
SAMPLES = 999
ALPHA = 0.05
SYSTEMS = 4  # that Tukey's test compares
RANKS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, np.inf])
CHANCES = np.array([0.35, 0.15, 0.1, 0.06, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02, 0.15])

Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def smooth(generator: np.random.Generator, systems: int, queries: int) -> np.ndarray:
    """Values of systems that are equally good: a row for each."""
    difficulty = generator.beta(1, 2, queries)
    return np.clip(difficulty + generator.normal(0, 0.15, (systems, queries)), 0, 1)


def rough(generator: np.random.Generator, systems: int, queries: int) -> np.ndarray:
    """Reciprocal ranks; on half of the queries all systems have the same."""
    ranks = generator.choice(RANKS, (systems, queries), p=CHANCES)
    tied = generator.random(queries) < 0.5
    ranks[:, tied] = ranks[0, tied]
    return 1 / ranks


KINDS: dict[str, Draw] = {"smooth": smooth, "rough": rough}
TESTS: dict[str, PairedTest] = {
    "t": TTest(),
    "randomization": Randomization(permutations=SAMPLES),
    "bootstrap": Bootstrap(permutations=SAMPLES),
    "wilcoxon": Wilcoxon(),
}


def errors(draw: Draw, queries: int, draws: int) -> dict[str, tuple[float, float]]:
    """By test: the share of significant differences, and the share of intervals that hold 0."""
    generator = np.random.default_rng(queries)
    found = dict.fromkeys(TESTS, 0)
    held = dict.fromkeys(TESTS, 0)
    family = 0
    grid = np.linspace(0.0, 12.0, 241)
    tails = np.array([range_tail(q, SYSTEMS, (SYSTEMS - 1) * (queries - 1)) for q in grid.tolist()])
    for _ in range(draws):
        values = draw(generator, SYSTEMS, queries)
        for name, test in TESTS.items():
            tested = test(values[0], values[1])
            found[name] += tested.p < ALPHA
            held[name] += tested.interval.low <= 0 <= tested.interval.high
        family += float(np.interp(max(studentized(values)[0].values()), grid, tails)) < ALPHA
    shares = {name: (found[name] / draws, held[name] / draws) for name in TESTS}
    return {**shares, f"Tukey, {SYSTEMS} systems": (family / draws, float("nan"))}


def coverage(draw: Draw, queries: int, draws: int) -> dict[str, float]:
    """By interval: the share that holds the true mean."""
    truth = float(draw(np.random.default_rng(0), 1, 4_000_000).mean())
    generator = np.random.default_rng(queries)
    held = dict.fromkeys(resampling.INTERVALS, 0)
    for _ in range(draws):
        values = draw(generator, 1, queries)[0]
        for name in held:
            low, high = confidence_interval(values, method=name)
            held[name] += low <= truth <= high
    return {name: count / draws for name, count in held.items()}


def table(title: str, rows: dict[str, list[float]]) -> None:
    """Print a table in Markdown with a column for each kind of values and number of queries."""
    heads = [f"{kind}, {size}" for kind in KINDS for size in SIZES]
    print(f"| {title} | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for name, values in rows.items():
        print(f"| {name} | {' | '.join('-' if np.isnan(value) else f'{value:.3f}' for value in values)} |")
    print()


def speed(runs: int = 50, queries: int = 6980) -> None:
    """How long the tests of many runs with a baseline take: all at once, and one by one (from five of them)."""
    generator = np.random.default_rng(0)
    baseline = generator.random(queries)
    pairs = [(np.clip(baseline + generator.normal(0, 0.1, queries), 0, 1), baseline) for _ in range(runs - 1)]
    print("| test | all at once: CPU s | wall s | one by one: CPU s |\n|---|---|---|---|")
    for test in (Bootstrap(), Randomization()):
        wall, cpu = time.perf_counter(), time.process_time()
        test.many(pairs)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        start = time.process_time()
        for pair in pairs[:5]:
            test(*pair)
        alone = (time.process_time() - start) / 5 * len(pairs)
        print(f"| {test.name} | {cpu:.1f} | {wall:.1f} | {alone:.1f} |")


def main() -> None:
    """Simulate, and print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--speed", action="store_true", help="measure how long tests take, not how often they err")
    options = parser.parse_args()
    if options.speed:
        speed()
        return
    draws = options.draws
    resampling.SAMPLES = SAMPLES  # of bootstrap intervals
    tested = [errors(draw, size, draws) for draw in KINDS.values() for size in SIZES]
    table("type I error at .05", {name: [of[name][0] for of in tested] for name in tested[0]})
    table("interval of the difference holds 0", {name: [of[name][1] for of in tested] for name in TESTS})
    held = [coverage(draw, size, draws) for draw in KINDS.values() for size in SIZES]
    table("interval of a mean holds it", {name: [of[name] for of in held] for name in held[0]})


if __name__ == "__main__":
    main()
