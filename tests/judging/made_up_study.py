"""A made-up assessment of the re-assessment study's size: 37 people, 600 queries to draw from, 20 passages each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwell.core import Judgments, Run
from rankwell.judging.grades import GivenGrade, Grades

PEOPLE, QUERIES, POOL, DEPTH = 37, 600, 20, 100


class World(NamedTuple):
    """What a study starts from and what it collected."""

    grades: Grades
    original: Judgments
    runs: dict[str, Run]


def make_world(seed: int = 0) -> World:
    """Many passages answer a query, of which the original labels know one: the one a neural ranker likes best, mostly.

    The first run orders passages roughly by how relevant they are; the second follows the original label and shuffles
    the rest, bringing passages of the first run's top 100 to the top which nobody will judge.
    """
    generator = np.random.default_rng(seed)
    truth = _truth(generator)
    known = [int(generator.choice(POOL, p=_likely(truth[query]))) for query in range(QUERIES)]
    original = Judgments((f"q{query}", f"d{place}", 1) for query, place in enumerate(known))
    first = ((f"q{query}", f"d{place}", float(-place)) for query in range(QUERIES) for place in range(DEPTH))
    second = []
    for query in range(QUERIES):
        liked = truth[query] + generator.normal(0, 1.2, DEPTH)
        liked[known[query]] += 2.5
        second += [(f"q{query}", f"d{place}", float(liked[place])) for place in range(DEPTH)]
    runs = {"BM25": Run.from_rows(first), "BERT": Run.from_rows(second)}
    return World(_graded(generator, truth), original, runs)


def _truth(generator: np.random.Generator) -> np.ndarray:
    """What a careful reader would say of each passage, from 1 to 5; less the later the first run has it."""
    easy = generator.normal(0, 0.7, (QUERIES, 1))
    return np.clip(3.0 + easy - 0.07 * np.arange(DEPTH) + generator.normal(0, 1.0, (QUERIES, DEPTH)), 1, 5)


def _likely(truth: np.ndarray) -> np.ndarray:
    weights = np.exp(1.5 * truth[:POOL])
    return weights / weights.sum()


def _graded(generator: np.random.Generator, truth: np.ndarray) -> Grades:
    """Everybody does six queries or more, begun ones first, leans to one side, and forgets a passage at times."""
    people = [f"a{number:02}" for number in range(PEOPLE)]
    done: dict[int, int] = {}
    rows: list[GivenGrade] = []
    for person in people:
        lean, english = generator.normal(0, 0.4), int(generator.choice([5, 6, 7, 8, 9], p=[0.05, 0.05, 0.3, 0.4, 0.2]))
        open_ones = [query for query, count in done.items() if count < 3]
        wanted = 6 * int(generator.choice([1, 2, 3], p=[0.75, 0.2, 0.05]))
        begun = list(generator.permutation(open_ones)[: wanted - 2])
        new = [query for query in generator.permutation(QUERIES)[: 3 * wanted] if query not in done]
        for query in map(int, [*begun, *new][:wanted]):
            done[query] = done.get(query, 0) + 1
            for place in generator.permutation(POOL).tolist():
                seen = int(np.clip(round(truth[query, place] + lean + generator.normal(0, 0.6)), 1, 5))
                seconds = round(float(generator.lognormal(2.7, 0.6)), 2)
                answer = (f"q{query}", f"d{place}", person)
                if generator.random() >= 0.004:
                    rows.append(GivenGrade(*answer, None if generator.random() < 0.01 else seen, seconds, english))
    return Grades.of(rows)
