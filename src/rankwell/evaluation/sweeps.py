"""Sweeps: a comparison at each value of one number, such as the depth of re-ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankwell.core import Judgments, ParameterError, Phrase, RankwellError, Run, Shown
from rankwell.evaluation.comparison import Comparison, compare
from rankwell.evaluation.judged import check_depth
from rankwell.evaluation.measures import Asked, Measure, parse_measures
from rankwell.evaluation.significance import PairedDifference, PairedTest

BASELINE = "baseline"


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Shown):
    """A comparison of runs that belong to numbers, such as re-ranking depths.

    >>> sweep(judgments, run, {2: other}, "AP", name="terms").mean(2, "AP")
    """

    name: str  # of the numbers: depth, k1, layers
    comparison: Comparison
    points: Mapping[float, str]  # number -> run
    note: str | None = None  # about the points

    def __repr__(self) -> str:
        points = ", ".join(f"{point:g}" for point in self.points)
        return f"Sweep({self.name} {points}; {', '.join(map(str, self.comparison.measures))})"

    def warnings(self) -> Iterator[str]:
        """Warnings about the comparison and its points, a sentence each."""
        yield from self.comparison.warnings()
        if self.note:
            yield self.note

    def mean(self, point: float, measure: str | Measure) -> float:
        """The mean of a measure at a point."""
        return self.comparison.evaluations[self.points[point]].mean(measure)

    def difference(self, point: float, measure: str | Measure) -> PairedDifference:
        """The difference to the baseline at a point."""
        difference = self.comparison.difference(self.points[point], measure)
        assert difference is not None  # noqa: S101 -- a point is never the baseline
        return difference.found


def sweep(
    judgments: Judgments,
    baseline: Run,
    runs: Mapping[float, Run],
    measures: Asked,
    *,
    name: str = "value",
    test: PairedTest | str | None = None,
    unjudged: str = "zero",
) -> Sweep:
    """Compare a run at each number with the baseline. Points of one curve are not corrected for their number.

    >>> runs = {b: BM25(index, b=b)(queries) for b in (0.3, 0.6)}
    >>> print(sweep(judgments, run, runs, "nDCG@10", name="b"))
    """
    if not runs:
        raise ParameterError("runs", expected="a run at one number or more", found="none")
    if isinstance(runs, Run) or not all(isinstance(point, int | float) for point in runs):
        found = Phrase("one run" if isinstance(runs, Run) else f"names such as {next(iter(runs))!r}")
        raise ParameterError("runs", expected="runs by number, such as {0.4: run, 0.75: other}", found=found)
    wanted = parse_measures(measures)
    for measure in wanted:
        if not measure.is_mean:
            raise ParameterError("measure", expected="a mean over queries, so that it has a band", found=str(measure))
    labels = {point: f"{name}={point:g}" for point in sorted(runs)}
    named = {BASELINE: baseline, **{label: runs[point] for point, label in labels.items()}}
    return Sweep(name, compare(judgments, named, wanted, test=test, correction="none", unjudged=unjudged), labels)


def depth_sweep(
    judgments: Judgments,
    first: Run,
    reranked: Run,
    depths: Sequence[int],
    measures: Asked,
    *,
    test: PairedTest | str | None = None,
) -> Sweep:
    """Sweep over re-ranking depths, computed from one run that re-ranked the deepest.

    No pair is scored twice: a document's score does not depend on the depth.

    >>> depth_sweep(judgments, run, run.with_scores(-run.scores), [1, 2], "nDCG@10")
    """
    runs = {float(depth): reranked_to(first, reranked, depth) for depth in depths}
    swept = sweep(judgments, first, runs, measures, name="depth", test=test)
    longest = int(np.diff(first.offsets).max(initial=0))
    if max(depths) <= longest:
        return swept
    return replace(swept, note=f"the first run has at most {longest} documents a query: deeper than that is the same")


def reranked_to(first: Run, reranked: Run, depth: int) -> Run:
    """The first run with its top `depth` documents in the order of the re-ranked run; the others stay below them."""
    check_depth(depth)
    scores = np.empty(len(first), dtype=np.float32)
    place = 0
    for qid, ranking in first.rankings():
        head = ranking.docnos[:depth].tolist()
        by_docno = dict(reranked[qid]) if qid in reranked else {}
        missing = [docno for docno in head if docno not in by_docno]
        if missing and qid in reranked:
            raise RankwellError(
                f"depth {depth}: expected the top {depth} of query {qid!r} in the re-ranked run, "
                f"found no score for {missing[0]!r} ({len(missing)} missing)"
            )
        ordered = head if missing else sorted(head, key=lambda docno: (by_docno[docno], docno), reverse=True)
        places = {docno: rank for rank, docno in enumerate(ordered)}
        # Ranks as scores: exact in 32 bits, and the documents below the cut follow in their old order.
        below = np.arange(len(head), len(ranking))
        scores[place : place + len(ranking)] = -np.concatenate(([places[docno] for docno in head], below))
        place += len(ranking)
    return first.with_scores(scores)


def parse_depths(text: str) -> list[int]:
    """`10:100:10` or `10,20,50` as numbers."""
    parts = text.split(":") if ":" in text else text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts) or (
        ":" in text and len(parts) != len(("first", "last", "step"))
    ):
        raise ParameterError(
            "--depths", expected="FIRST:LAST:STEP such as 10:100:10, or a list such as 10,20,50", found=text
        )
    numbers = [int(part) for part in parts]
    if ":" in text and numbers[0] > numbers[1]:
        raise ParameterError("--depths", expected="a first depth that is not above the last", found=text)
    return list(range(numbers[0], numbers[1] + 1, numbers[2])) if ":" in text else sorted(set(numbers))


def parse_points(texts: Sequence[str]) -> dict[float, str]:
    """`2=l2.trec 4=l4.trec` as run files by number; nothing for one re-ranked run without a number."""
    if len(texts) == 1 and "=" not in texts[0]:
        return {}
    points: dict[float, str] = {}
    for text in texts:
        number, equals, run = text.partition("=")
        try:
            point = float(number)
        except ValueError:
            equals = ""
        if not equals or not run or not math.isfinite(point):
            raise ParameterError("runs", expected="one re-ranked run, or NUMBER=RUN for each point", found=text)
        if point in points:
            raise ParameterError("runs", expected="one run at each number", found=Phrase(f"two at {point:g}"))
        points[point] = run
    return points
