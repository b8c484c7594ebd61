"""Screening the records of a systematic review: ranking, saved work, and when to stop."""

from __future__ import annotations

from rankwell.reviews.screening.effort import Effort, simulate, starts, suggest_stopping
from rankwell.reviews.screening.figures import replay
from rankwell.reviews.screening.labelled import LabelledReview, Setting, labelled_reviews, read_setting
from rankwell.reviews.screening.learner import Learner
from rankwell.reviews.screening.rankers import by_run, ranked, ranker_named

__all__ = [
    "Effort",
    "LabelledReview",
    "Learner",
    "Setting",
    "by_run",
    "labelled_reviews",
    "ranked",
    "ranker_named",
    "read_setting",
    "replay",
    "simulate",
    "starts",
    "suggest_stopping",
]
