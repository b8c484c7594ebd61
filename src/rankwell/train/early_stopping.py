"""When to stop: once a measure on validation queries has not improved for a while.

A ranking measure, not only the loss: the two disagree (S4), and the ranking is what is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

History = Sequence[tuple[int, float]]  # steps, and the measure after each of them; the first may be step 0


def best_step(history: History, *, higher_is_better: bool = True) -> int | None:
    """The step after which the measure was best, the earliest of equals; step 0, before any training, does not count.

    A value that is no number never wins.
    """
    sign = 1 if higher_is_better else -1
    best: tuple[float, int] | None = None
    for step, value in history:
        if step > 0 and value == value and (best is None or sign * value > best[0]):  # noqa: PLR0124 -- NaN
            best = (sign * value, step)
    return None if best is None else best[1]


def should_stop(history: History, patience: int | None, *, higher_is_better: bool = True) -> bool:
    """Whether the last `patience` evaluations brought no new best."""
    if patience is None:
        return False
    steps = [step for step, _ in history if step > 0]
    best = best_step(history, higher_is_better=higher_is_better)
    since = sum(step > best for step in steps) if best is not None else len(steps)
    return since >= patience
