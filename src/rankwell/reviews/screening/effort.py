"""What a ranking saves: recall against effort, work saved over sampling, time to discovery."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError
from rankwell.core.errors import Phrase
from rankwell.reviews.screening.labelled import Labels

ROUNDING = 1e-9  # 0.95 * 20 is 19, and so is what is a speck more


@dataclass(frozen=True, eq=False)
class Effort:
    """The figures of one screening, over the records that were not known at its start.

    `labels`: relevant or not, in the order in which the records were looked at; those that were never looked at
    behind them, in any order.
    """

    labels: Labels

    def __post_init__(self) -> None:
        if not self.labels.any():
            raise ParameterError("labels", expected="one relevant record or more", found=Phrase("none"))

    def wss(self, recall: float) -> float:
        """Work saved over sampling at this recall."""
        return wss(self.labels, recall)

    @property
    def wss95(self) -> float:
        """WSS@95."""
        return self.wss(0.95)

    @property
    def wss100(self) -> float:
        """WSS@100."""
        return self.wss(1.0)

    @property
    def discovery(self) -> float:
        """Average time to discovery: the mean place of the relevant records, as a share of all (lower is better).

        ATD = mean over relevant records of place / N  (Ferdinands et al., "Performance of active learning models for
        screening prioritization in systematic reviews", Systematic Reviews 2023)
        """
        return float(np.mean(np.flatnonzero(self.labels) + 1) / len(self.labels))

    def recall_at(self, share: float) -> float:
        """The recall after looking at this share of the records."""
        if not 0 <= share <= 1:
            raise ParameterError("share", expected="a number from 0 to 1", found=share)
        looked = math.floor(share * len(self.labels) + ROUNDING)
        return float(self.labels[:looked].sum() / self.labels.sum())


def wss(labels: Labels, recall: float) -> float:
    """Work saved over sampling at a recall level.

    WSS@r = (records that need not be looked at) / N - (1 - r)

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
    """A recall is a share above nothing."""
    if not 0 < recall <= 1:
        raise ParameterError("recall", expected="a number above 0, at most 1", found=recall)
