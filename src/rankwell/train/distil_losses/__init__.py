"""Losses of distillation, one a file, and the methods that are mixtures of them. Loads torch: import it late."""

from __future__ import annotations

from rankwell.train.distil_losses.attention import Attention
from rankwell.train.distil_losses.compared import Compared, DistilLoss
from rankwell.train.distil_losses.cosine import Cosine
from rankwell.train.distil_losses.embedding import Embedding
from rankwell.train.distil_losses.hard import Hard
from rankwell.train.distil_losses.hidden import Hidden
from rankwell.train.distil_losses.margin import TeacherMargin
from rankwell.train.distil_losses.mixture import Mixture
from rankwell.train.distil_losses.soft import Soft

__all__ = [
    "Attention",
    "Compared",
    "Cosine",
    "DistilLoss",
    "Embedding",
    "Hard",
    "Hidden",
    "Mixture",
    "Soft",
    "TeacherMargin",
]
