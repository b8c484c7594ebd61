"""Simulate the screening of a finished review: recall against effort, WSS, time to discovery, and stopping."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core.errors import ParameterError, Phrase
from rankwell.reviews.screening.labelled import FEWEST_INCLUDED, LabelledReview, Labels
from rankwell.reviews.screening.learner import Scores
from rankwell.reviews.screening.rankers import Scorer

ROUNDING = 1e-9  # tolerance, so that 0.95 * 20 counts as 19


@dataclass(frozen=True, eq=False)
class Effort:
    """The measures of one screening, over the records that were not known at its start.

    `labels`: relevant or not, in the order in which the records were screened; those that were not screened
    come last, in any order.
    """

    labels: Labels

    def __post_init__(self) -> None:
        if not self.labels.any():
            raise ParameterError("labels", expected="one relevant record or more", found=Phrase("none"))

    def wss(self, recall: float) -> float:
        """Work saved over sampling at this recall."""
        return wss(self.labels, recall)

    @property
    def discovery(self) -> float:
        """Average time to discovery: the mean place of the relevant records, as a share of all (lower is better).

        ATD = mean over relevant records of place / N  (Ferdinands et al., "Performance of active learning models for
        screening prioritization in systematic reviews", Systematic Reviews 2023)
        """
        return float(np.mean(np.flatnonzero(self.labels) + 1) / len(self.labels))

    def recall_at(self, share: float) -> float:
        """The recall after screening this share of the records."""
        if not 0 <= share <= 1:
            raise ParameterError("share", expected="a number from 0 to 1", found=share)
        looked = math.floor(share * len(self.labels) + ROUNDING)
        return float(self.labels[:looked].sum() / self.labels.sum())


def wss(labels: Labels, recall: float) -> float:
    """Work saved over sampling at a recall level.

    WSS@r = (records that need not be screened) / N - (1 - r)

    Cohen, Hersh, Peterson and Yen, "Reducing workload in systematic review preparation using automated citation
    classification", JAMIA 2006.
    """
    check_recall(recall)
    needed = math.ceil(recall * labels.sum() - ROUNDING)
    looked = int(np.flatnonzero(labels)[needed - 1]) + 1
    return 1 - looked / len(labels) - (1 - recall)


def recall_curve(labels: Labels) -> npt.NDArray[np.float64]:
    """The recall after each record, with 0 before the first."""
    return np.concatenate(([0.0], np.cumsum(labels) / labels.sum()))


def check_recall(recall: float) -> None:
    """Raise an error unless the recall is above 0 and at most 1."""
    if not 0 < recall <= 1:
        raise ParameterError("recall", expected="a number above 0, at most 1", found=recall)


@dataclass(frozen=True)
class Stopping:
    """Statistics of the last decisions, and whether to stop."""

    stop: bool
    barren: int  # decisions since the last inclusion
    probability: float  # of that many exclusions in a row, if more than the allowed share were still missing
    recall: float
    assumption: str


def suggest_stopping(decisions: Sequence[bool], total: int, recall: float = 0.95, alpha: float = 0.05) -> Stopping:
    """Whether it is unlikely that less than `recall` of all relevant records has been found.

    With r included so far, recall is below the target only if at least m = floor(r / recall - r) + 1 relevant records
    are left. Were the records since the last inclusion drawn at random from those that were left then, n records
    without one of the m would have the hypergeometric probability

    C(L - m, n) / C(L, n),     L = records left after the last inclusion

    Screening the most promising records first makes such a run of exclusions even less likely, so the suggestion is
    conservative as long as the ranking is no worse than chance: an assumption, not a proof. Testing after every
    decision, as a reviewer does, raises the error rate. (After Callaghan and Müller-Hansen, "Statistical
    stopping criteria for automated screening in systematic reviews", Systematic Reviews 2020.)
    """
    for name, share in (("recall", recall), ("alpha", alpha)):
        if not 0 < share < 1:
            raise ParameterError(name, expected="a number between 0 and 1", found=share)
    if len(decisions) > total:
        raise ParameterError("decisions", expected=f"at most {total:,}", found=Phrase(f"{len(decisions):,}"))
    included = sum(decisions)
    last = max((place for place, answer in enumerate(decisions) if answer), default=-1)
    barren = len(decisions) - last - 1
    left = total - last - 1
    missing = math.floor(included / recall - included + 1e-9) + 1  # 19 / 0.95 is not exactly 20
    chance = _none_of(missing, left, barren)
    assumption = (
        f"if the {barren:,} records since the last inclusion are no worse than a random sample of the rest, a recall "
        f"below {recall:.0%} has a probability of {chance:.3f}"
    )
    return Stopping(chance < alpha, barren, chance, recall, assumption)


def _none_of(missing: int, left: int, drawn: int) -> float:
    """The probability that none of the missing is among the drawn; 0 where fewer than `missing` records are left.

    C(L - m, n) / C(L, n) = product over i < m of (L - n - i) / (L - i), which has few factors.
    """
    if missing > left - drawn:
        return 0.0
    return math.prod((left - drawn - place) / (left - place) for place in range(missing))


AGAIN = 0.02  # retrain when the decisions have grown by this share


@dataclass(frozen=True, eq=False)
class Simulation:
    """One simulation: the records known at its start, and the order in which the others were screened.

    The last `len(order) - looked` records were not screened, because all included ones were found before.
    """

    review: LabelledReview
    known: tuple[int, ...]
    order: npt.NDArray[np.int64]
    looked: int

    @property
    def effort(self) -> Effort:
        """The measures of this simulation."""
        return Effort(self.review.included[self.order])


def starts(review: LabelledReview, count: int, seed: int = 0) -> Iterator[tuple[int, ...]]:
    """Random starts: one known included and one known excluded record each."""
    if count < 1:
        raise ParameterError("starts", expected="a number from 1", found=count)
    included, excluded = np.flatnonzero(review.included), np.flatnonzero(~review.included)
    if len(included) < FEWEST_INCLUDED:
        found = Phrase(f"{len(included)}")
        raise ParameterError(review.name, expected="two included records or more to start from one", found=found)
    for number in range(count):
        draw = np.random.default_rng([seed, number])
        yield int(draw.choice(included)), int(draw.choice(excluded))


def simulate(review: LabelledReview, scores: Scorer, known: Sequence[int] = (), again: float = AGAIN) -> Simulation:
    """Screen the best record, learn from the answer, and so on until every included record is found.

    The ranker learns again when the decisions have grown by the share `again` (0: after every decision); in between the
    last order holds. Records that were not screened come last, in the order of the last ranking.
    """
    if not 0 <= again <= 1:
        raise ParameterError("again", expected="a share from 0 to 1", found=again)
    decisions = {place: bool(review.included[place]) for place in known}
    left = int(review.included.sum()) - sum(decisions.values())
    if not left:
        raise ParameterError("known", expected="an included record or more left to find", found=list(known))
    order: list[int] = []
    ranked = np.zeros(0, dtype=np.int64)
    while left:
        ranked = _ranked(scores(decisions), decisions)
        for place in ranked[: max(1, int(len(decisions) * again))].tolist():
            decisions[place] = bool(review.included[place])
            order.append(place)
            left -= decisions[place]
            if not left:
                break
    looked = len(order)
    order += [place for place in ranked.tolist() if place not in decisions]
    return Simulation(review, tuple(known), np.array(order, dtype=np.int64), looked)


def _ranked(scores: Scores, decisions: Mapping[int, bool]) -> npt.NDArray[np.int64]:
    """The records without a decision, best first; equal ones in the order of the list."""
    undecided = np.ones(len(scores), dtype=bool)
    undecided[list(decisions)] = False
    places = np.flatnonzero(undecided)
    return places[np.argsort(-scores[places], kind="stable")]
