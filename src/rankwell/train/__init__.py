"""Training: make pairs, adapt, fine-tune and search, with or without labels."""

from __future__ import annotations

from rankwell.train.architecture import train_architecture
from rankwell.train.architecture_settings import ArchitectureSettings
from rankwell.train.bi_encoder import BiEncoderSettings, train_bi_encoder
from rankwell.train.cross_encoder import CrossEncoderSettings, train_cross_encoder
from rankwell.train.distillation import DistilSettings, distil
from rankwell.train.duo import DuoSettings, train_duo
from rankwell.train.first_stage import bm25_run
from rankwell.train.folders import check_new_folder, new_folder, room_beside
from rankwell.train.labelled import Labelled, Sources
from rankwell.train.linear import LinearSettings, fit_linear, train_linear
from rankwell.train.making import write_labelled, write_self_supervised
from rankwell.train.negatives import Negatives
from rankwell.train.pair_measures import pair_measures
from rankwell.train.pairs import Pair, Pairs, open_pairs
from rankwell.train.pairs_writer import PairsWriter
from rankwell.train.parade import ParadeSettings, train_parade
from rankwell.train.resume import resume_training
from rankwell.train.run_folder import RunFolder
from rankwell.train.search import Search, Searched
from rankwell.train.self_supervised import SelfSupervised
from rankwell.train.settings import TrainingSettings
from rankwell.train.spool import Spool
from rankwell.train.trainer import Job, TrainingResult, train_job
from rankwell.train.unlabelled import Unlabelled, write_unlabelled

__all__ = [
    "ArchitectureSettings",
    "BiEncoderSettings",
    "CrossEncoderSettings",
    "DistilSettings",
    "DuoSettings",
    "Job",
    "Labelled",
    "LinearSettings",
    "Negatives",
    "Pair",
    "Pairs",
    "PairsWriter",
    "ParadeSettings",
    "RunFolder",
    "Search",
    "Searched",
    "SelfSupervised",
    "Sources",
    "Spool",
    "TrainingResult",
    "TrainingSettings",
    "Unlabelled",
    "bm25_run",
    "check_new_folder",
    "distil",
    "fit_linear",
    "new_folder",
    "open_pairs",
    "pair_measures",
    "resume_training",
    "room_beside",
    "train_architecture",
    "train_bi_encoder",
    "train_cross_encoder",
    "train_duo",
    "train_job",
    "train_linear",
    "train_parade",
    "write_labelled",
    "write_self_supervised",
    "write_unlabelled",
]
