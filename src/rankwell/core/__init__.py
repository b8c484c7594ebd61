"""The small types that all other packages use."""

from __future__ import annotations

from rankwell.core.arrays import Booleans, Floats, Integers
from rankwell.core.document import Document, Template
from rankwell.core.errors import FormatError, MissingExtraError, ParameterError, RankwellError
from rankwell.core.files import atomic_write, home
from rankwell.core.fingerprint import fingerprint, fingerprint_file
from rankwell.core.judgments import Judgment, Judgments
from rankwell.core.progress import SILENT, Progress
from rankwell.core.query import Queries, Query
from rankwell.core.run import Ranking, Run, Values, sigmoid
from rankwell.core.stage import Pipeline, Stage, Top

__all__ = [
    "SILENT",
    "Booleans",
    "Document",
    "Floats",
    "FormatError",
    "Integers",
    "Judgment",
    "Judgments",
    "MissingExtraError",
    "ParameterError",
    "Pipeline",
    "Progress",
    "Queries",
    "Query",
    "Ranking",
    "RankwellError",
    "Run",
    "Stage",
    "Template",
    "Top",
    "Values",
    "atomic_write",
    "fingerprint",
    "fingerprint_file",
    "home",
    "sigmoid",
]
