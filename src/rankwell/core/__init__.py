"""The small types that all other packages use."""

from __future__ import annotations

from rankwell.core.arrays import TEXT, Booleans, Floats, Integers, Strings, strings
from rankwell.core.errors import FormatError, MissingExtraError, ParameterError, Phrase, RankwellError, shown
from rankwell.core.files import atomic_write, home, make_folder, sync_folder, sync_tree
from rankwell.core.fingerprint import fingerprint, fingerprint_file
from rankwell.core.progress import SILENT, Progress
from rankwell.core.records import NOTHING, Document, Judgment, Judgments, Queries, Query, Template, check_id
from rankwell.core.run import Ranking, Run, Values, sigmoid
from rankwell.core.showing import Shown
from rankwell.core.stage import FunctionStage, Pipeline, Stage, Top, stage

__all__ = [
    "NOTHING",
    "SILENT",
    "TEXT",
    "Booleans",
    "Document",
    "Floats",
    "FormatError",
    "FunctionStage",
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
    "Shown",
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
    "make_folder",
    "shown",
    "sigmoid",
    "stage",
    "strings",
    "sync_folder",
    "sync_tree",
]
