"""Screening the records of a systematic review: ranking, saved work, and when to stop."""

from __future__ import annotations

from rankwell.reviews.screening.effort import Effort, recall_curve, simulate, starts, suggest_stopping, wss
from rankwell.reviews.screening.figures import Replays, replay
from rankwell.reviews.screening.labelled import LabelledReview, Setting, labelled_reviews, read_setting
from rankwell.reviews.screening.learner import Learner, text_features
from rankwell.reviews.screening.rankers import RANKERS, LinearRanker, by_run, ranked, ranker_named
from rankwell.reviews.screening.reader import Meaning

__all__ = [
    "RANKERS",
    "Effort",
    "LabelledReview",
    "Learner",
    "LinearRanker",
    "Meaning",
    "Replays",
    "Setting",
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
