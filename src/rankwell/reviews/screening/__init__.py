"""Screening: which record to look at next, what that saves, and when to stop."""

from __future__ import annotations

from rankwell.reviews.screening.effort import Effort, recall_curve, wss
from rankwell.reviews.screening.features import text_features
from rankwell.reviews.screening.figures import Curve, Figure, Replays, replay
from rankwell.reviews.screening.labelled import Labelled, ReadReviews, labelled_reviews
from rankwell.reviews.screening.learner import Learner
from rankwell.reviews.screening.linear import LinearRanker
from rankwell.reviews.screening.meaning import Meaning
from rankwell.reviews.screening.rankers import RANKERS, by_run, ranked, ranker_named
from rankwell.reviews.screening.reader import Reader
from rankwell.reviews.screening.setting import Setting, read_setting
from rankwell.reviews.screening.simulation import Simulation, simulate, starts
from rankwell.reviews.screening.stopping import Stopping, suggest_stopping

__all__ = [
    "RANKERS",
    "Curve",
    "Effort",
    "Figure",
    "Labelled",
    "Learner",
    "LinearRanker",
    "Meaning",
    "ReadReviews",
    "Reader",
    "Replays",
    "Setting",
    "Simulation",
    "Stopping",
    "by_run",
    "labelled_reviews",
    "ranked",
    "ranker_named",
    "read_setting",
    "recall_curve",
    "replay",
    "simulate",
    "starts",
    "suggest_stopping",
    "text_features",
    "wss",
]
