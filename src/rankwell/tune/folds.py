"""Splitting queries for cross-validation: each is held out once, and none is ever on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rankwell.core import ParameterError

FEWEST = 2


@dataclass(frozen=True)
class Fold:
    """One split: the queries to choose by, and those to try the choice on."""

    training: tuple[str, ...]
    held_out: tuple[str, ...]


def split(qids: Iterable[str], folds: int = 5, seed: int = 0) -> tuple[Fold, ...]:
    """As many splits, at random, of nearly equal size; the same whatever the order of the queries."""
    known = sorted(set(qids))
    if not FEWEST <= folds <= len(known):
        expected = f"a number from {FEWEST} to the number of queries with judgments ({len(known)})"
        raise ParameterError("folds", expected=expected, found=folds)
    shuffled = np.random.default_rng(seed).permutation(len(known)).tolist()
    # Every n-th rather than n blocks: the sizes differ by at most one, and the remainder needs no thought.
    parts = [frozenset(known[place] for place in shuffled[start::folds]) for start in range(folds)]
    return tuple(
        Fold(
            training=tuple(qid for qid in known if qid not in part),
            held_out=tuple(qid for qid in known if qid in part),
        )
        for part in parts
    )
