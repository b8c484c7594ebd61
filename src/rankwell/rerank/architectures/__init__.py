"""The four document rankers of S3: [CLS] vectors of one, two or three inputs side by side, and a head over them."""

from __future__ import annotations

from rankwell.rerank.architectures.dual_interaction import DualInteraction
from rankwell.rerank.architectures.example import Architecture, Example, Reading
from rankwell.rerank.architectures.folder import ArchitectureRecord
from rankwell.rerank.architectures.interaction import Interaction
from rankwell.rerank.architectures.parts import DocumentParts
from rankwell.rerank.architectures.ranker import ArchitectureRanker
from rankwell.rerank.architectures.relevant import RelevantAbstracts
from rankwell.rerank.architectures.representation import Representation
from rankwell.rerank.architectures.scorer import ArchitectureScorer, load_architecture
from rankwell.rerank.architectures.table import ARCHITECTURES, architecture
from rankwell.rerank.architectures.triple_representation import TripleRepresentation

__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "ArchitectureRanker",
    "ArchitectureRecord",
    "ArchitectureScorer",
    "DocumentParts",
    "DualInteraction",
    "Example",
    "Interaction",
    "Reading",
    "RelevantAbstracts",
    "Representation",
    "TripleRepresentation",
    "architecture",
    "load_architecture",
]
