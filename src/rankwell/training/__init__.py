"""Training: make pairs, adapt, fine-tune and search, with or without labels."""

from __future__ import annotations

from rankwell.training.families import resume_training
from rankwell.training.labelled import Labelled, Negatives, Sources, bm25_run
from rankwell.training.pairs import PairOptions, make_pairs, write_labelled, write_self_supervised, write_unlabelled
from rankwell.training.search import Search, Searched
from rankwell.training.self_supervised import SelfSupervised, Spool

__all__ = [
    "Labelled",
    "Negatives",
    "PairOptions",
    "Search",
    "Searched",
    "SelfSupervised",
    "Sources",
    "Spool",
    "bm25_run",
    "make_pairs",
    "resume_training",
    "write_labelled",
    "write_self_supervised",
    "write_unlabelled",
]
