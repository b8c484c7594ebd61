"""Screening simulations: Rankwell's learner beside `asreview simulate` as it comes, on the same reviews and starts.

    python benchmarks/screening.py COLLECTION... [--starts 10] [--asreview PATH] [--inside 1] [--again 0.02] [--seed 0]
                                   [--keep FILE]

COLLECTION is a folder of reviews (the BEIR layout). Every start knows one included and one excluded record, the same
for both. The two take turns, start by start, and the means so far are printed after each round, so that it can be
stopped at any time. With --keep every simulation is a line of FILE, and one that stands there is not run again.
ASReview is the program of that name on PATH, or --asreview. Its seconds hold everything that the
command does: start-up of Python, reading the file, simulating, writing its project. Rankwell's are those of one
simulation in this process, features included and none kept between starts. --inside says for how many starts ASReview's
simulation is also run inside one process, through its Python API, without start-up, files and progress bars: the fair
comparison of time. All seconds are of the processor. ASReview knows no title; Rankwell's learner uses the review's.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankwell.collections import open_collection
from rankwell.evaluation.significance import t_interval
from rankwell.reviews.screening import Effort, LabelledReview, Learner, labelled_reviews, simulate, starts

# Runs under ASReview's Python: a CSV file and the known records in, the order and its seconds out.
INSIDE = """
import json, sys, time
from asreview import load_dataset
from asreview.learner import ActiveLearningCycle
from asreview.models.models import get_ai_config
from asreview.models.queriers import TopDown
from asreview.models.stoppers import IsFittable, LastRelevant
from asreview.simulation.simulate import Simulate
with load_dataset(sys.argv[1], dataset_id="reviews") as data:
    frame, included = data.input.get_df(), data.input["included"]
    start = time.process_time()
    cycles = [ActiveLearningCycle(querier=TopDown(), stopper=IsFittable()),
              ActiveLearningCycle.from_meta(get_ai_config()["value"])]
    replay = Simulate(frame, included, cycles, stopper=LastRelevant(), print_progress=False)
    replay.label([int(place) for place in sys.argv[2:]])
    replay.review()
    seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "order": [int(place) for place in replay._results["record_id"]]}))
"""


class Measured(NamedTuple):
    """What one simulation (of "rankwell", "asreview" or "inside") saved, and the processor's seconds that it took."""

    by: str
    review: str
    start: int
    wss95: float
    seconds: float


def ours(review: LabelledReview, known: Sequence[int], number: int, again: float) -> Measured:
    """One simulation from the texts on."""
    begun = time.process_time()
    found = simulate(review, Learner(review.records, review.topic).scores, known, again)
    return Measured("rankwell", review.name, number, found.effort.wss(0.95), time.process_time() - begun)


def theirs(review: LabelledReview, file: Path, known: Sequence[int], number: int, program: str) -> Measured:
    """The command, and the order in its project file."""
    project = file.with_name(f"{number}.asreview")
    places = [str(place) for place in known]
    command = [program, "simulate", str(file), "--prior-idx", *places, "--seed", str(number), "-o", str(project)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with zipfile.ZipFile(project) as archive:
        database = Path(archive.extract("results.db", file.parent))
    connection = sqlite3.connect(database)
    order = [int(row[0]) for row in connection.execute("SELECT record_id FROM results ORDER BY rowid")]
    connection.close()
    project.unlink()
    return Measured("asreview", review.name, number, saved(review, order, known), seconds)


def inside(review: LabelledReview, file: Path, known: Sequence[int], number: int, program: str) -> Measured:
    """The same through the Python API."""
    python = Path(program).absolute().with_name("python")
    command = [str(python), "-c", INSIDE, str(file), *(str(place) for place in known)]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout.splitlines()[-1])
    return Measured("inside", review.name, number, saved(review, answer["order"], known), answer["seconds"])


def saved(review: LabelledReview, order: Sequence[int], known: Sequence[int]) -> float:
    """WSS@95 of an order, without what was known, with what was never looked at behind it."""
    if list(order[: len(known)]) != list(known):
        raise SystemExit(f"{review.name}: expected the known records {list(known)} first, found {order[: len(known)]}")
    rest = sorted(set(range(len(review.records))) - set(order))
    return Effort(review.included[[*order[len(known) :], *rest]]).wss(0.95)


def write_table(folder: Path, review: LabelledReview, titles: dict[str, tuple[str, str]]) -> Path:
    """The review as the table that ASReview reads."""
    folder.mkdir()
    file = folder / "records.csv"
    with file.open("w", newline="", encoding="utf-8") as table:
        rows = csv.writer(table)
        rows.writerow(("title", "abstract", "included"))
        for docno, included in zip(review.docnos, review.included.tolist(), strict=True):
            rows.writerow((*titles[docno], int(included)))
    return file


def by_start(found: Sequence[Measured]) -> np.ndarray:
    """The mean over reviews for each start."""
    numbers = sorted({one.start for one in found})
    return np.array([np.mean([one.wss95 for one in found if one.start == number]) for number in numbers])


def summary(us: Sequence[Measured], them: Sequence[Measured], within: Sequence[Measured]) -> str:
    """The means, the difference with its intervals, and the seconds."""
    names = dict.fromkeys(one.review for one in us)
    lines = [f"{'review':26} {'rankwell':>9} {'asreview':>9} {'seconds':>9} {'seconds':>9}"]
    for name in names:
        pair = [[one for one in found if one.review == name] for found in (us, them)]
        means = [np.mean([one.wss95 for one in found]) for found in pair]
        times = [np.mean([one.seconds for one in found]) for found in pair]
        lines.append(f"{name:26} {means[0]:9.4f} {means[1]:9.4f} {times[0]:9.2f} {times[1]:9.2f}")
    lines.append(f"{'mean WSS@95':26} {by_start(us).mean():9.4f} {by_start(them).mean():9.4f}")
    for what, of in (("over starts", by_start(us) - by_start(them)), ("over reviews", over_reviews(us, them))):
        low, high = t_interval(of)
        lines.append(f"difference {of.mean():+.4f}, 95 % interval {what} {low:+.4f} to {high:+.4f} ({len(of)})")
    mine, command = sum(one.seconds for one in us), sum(one.seconds for one in them)
    lines.append(
        f"seconds in all: rankwell {mine:.1f}, asreview's command {command:.1f}: {command / mine:.2f} times ours"
    )
    if within:
        done = {(one.review, one.start) for one in within}
        same = sum(one.seconds for one in us if (one.review, one.start) in done)
        api = sum(one.seconds for one in within)
        mean = np.mean([one.wss95 for one in within])
        lines.append(
            f"of {len(done)} simulations inside a process: rankwell {same:.1f}, asreview {api:.1f}: "
            f"{api / same:.2f} times ours (its mean WSS@95 there {mean:.4f})"
        )
    return "\n".join(lines)


def over_reviews(us: Sequence[Measured], them: Sequence[Measured]) -> np.ndarray:
    """For each review the mean difference over its starts."""
    differences: dict[str, list[float]] = {}
    for mine, other in zip(us, them, strict=True):
        differences.setdefault(mine.review, []).append(mine.wss95 - other.wss95)
    return np.array([np.mean(of) for of in differences.values()])


class Journal:
    """Measurements that outlive a process: a line of JSON each, written when it was made."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None and file.exists() else []
        self.kept = {measured[:3]: measured for line in lines if (measured := Measured(**json.loads(line)))}

    def measured(self, by: str, review: str, start: int, measure: Callable[[], Measured]) -> Measured:
        """From the file, or made now and added to it."""
        key = by, review, start
        if key not in self.kept:
            self.kept[key] = measure()
            if self.file is not None:
                with self.file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(self.kept[key]._asdict()) + "\n")
        return self.kept[key]


def read(sources: Sequence[str], folder: Path) -> list[tuple[LabelledReview, Path]]:
    """All reviews, each with its table."""
    found: list[tuple[LabelledReview, Path]] = []
    for source in sources:
        collection = open_collection(source)
        titles = {
            document.id: (document.fields.get("title", ""), document.fields.get("text", ""))
            for document in collection.documents()
        }
        for review in labelled_reviews(collection, "all").reviews:
            found.append((review, write_table(folder / str(len(found)), review, titles)))
    return found


def main() -> None:
    """Measure by turns."""
    parser = argparse.ArgumentParser()
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--inside", type=int, default=1)
    parser.add_argument("--again", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--asreview", default=shutil.which("asreview"))
    asked = parser.parse_args()
    if not asked.asreview:
        raise SystemExit(
            "asreview is not here: pip install asreview into an environment of its own, and --asreview PATH"
        )
    us, them, within = list[Measured](), list[Measured](), list[Measured]()
    journal = Journal(asked.keep)
    with tempfile.TemporaryDirectory() as folder:
        reviews = read(asked.collections, Path(folder))
        known = {review.name: list(starts(review, asked.starts, asked.seed)) for review, _ in reviews}
        simulate(reviews[0][0], Learner(reviews[0][0].records).scores, known[reviews[0][0].name][0])  # imports
        for number in range(asked.starts):
            for review, file in reviews:
                start = known[review.name][number]
                simulations = [
                    ("rankwell", us, partial(ours, review, start, number, asked.again)),
                    ("asreview", them, partial(theirs, review, file, start, number, asked.asreview)),
                    ("inside", within, partial(inside, review, file, start, number, asked.asreview)),
                ]
                for by, found, measure in simulations[: 3 if number < asked.inside else 2]:
                    found.append(journal.measured(by, review.name, number, measure))
                print(".", end="", flush=True)
            print(f"\nafter {number + 1} of {asked.starts} starts\n{summary(us, them, within)}", flush=True)


if __name__ == "__main__":
    main()
