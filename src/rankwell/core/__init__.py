"""The small types that every other package speaks of."""

from __future__ import annotations

from rankwell.core.document import Document
from rankwell.core.errors import FormatError, MissingExtraError, ParameterError, RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.fingerprint import fingerprint
from rankwell.core.judgments import Judgment, Judgments
from rankwell.core.progress import Progress
from rankwell.core.query import Queries, Query
from rankwell.core.run import Ranking, Run
from rankwell.core.settings import home
from rankwell.core.stage import Pipeline, Stage, Top
from rankwell.core.template import Template

__all__ = [
    "Document",
    "FormatError",
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
    "atomic_write",
    "fingerprint",
    "home",
]
