"""The small types that all other packages use."""

from __future__ import annotations

from rankwell.core.arrays import TEXT, Booleans, Floats, Integers, Strings, strings
from rankwell.core.errors import FormatError, MissingExtraError, ParameterError, Phrase, RankwellError, shown
from rankwell.core.files import atomic_write, home, sync_folder
from rankwell.core.fingerprint import fingerprint, fingerprint_file
from rankwell.core.progress import SILENT, Progress
from rankwell.core.records import NOTHING, Document, Judgment, Judgments, Queries, Query, Template, check_id
from rankwell.core.run import Ranking, Run, Values, sigmoid
from rankwell.core.stage import Pipeline, Stage, Top

__all__ = [
    "NOTHING",
    "SILENT",
    "TEXT",
    "Booleans",
    "Document",
    "Floats",
    "FormatError",
    "Integers",
    "Judgment",
    "Judgments",
    "MissingExtraError",
    "ParameterError",
    "Phrase",
    "Pipeline",
    "Progress",
    "Queries",
    "Query",
    "Ranking",
    "RankwellError",
    "Run",
    "Stage",
    "Strings",
    "Template",
    "Top",
    "Values",
    "atomic_write",
    "check_id",
    "fingerprint",
    "fingerprint_file",
    "home",
    "shown",
    "sigmoid",
    "strings",
    "sync_folder",
]
