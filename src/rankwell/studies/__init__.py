"""Studies: declarative experiments, run cell by cell, and the five that come with Rankwell."""

from __future__ import annotations

from rankwell.studies.cells import Cell, CellStore
from rankwell.studies.cost import Estimate, estimate
from rankwell.studies.describing import described, described_cell, progress_of
from rankwell.studies.difference import differences, remarks
from rankwell.studies.plan import Plan, data_folder, make_plan
from rankwell.studies.problems import LineError, StudyError, unknown
from rankwell.studies.reading import StudyFile, parse_study, read_study
from rankwell.studies.report import advices, is_reported, read_numbers, write_report
from rankwell.studies.results import results
from rankwell.studies.runner import Machine, Settings, StudyFolder, run_study
from rankwell.studies.schema import study_schema
from rankwell.studies.shipped_studies import find_study, shipped_studies

__all__ = [
    "Cell",
    "CellStore",
    "Estimate",
    "LineError",
    "Machine",
    "Plan",
    "Settings",
    "StudyError",
    "StudyFile",
    "StudyFolder",
    "advices",
    "data_folder",
    "described",
    "described_cell",
    "differences",
    "estimate",
    "find_study",
    "is_reported",
    "make_plan",
    "parse_study",
    "progress_of",
    "read_numbers",
    "read_study",
    "remarks",
    "results",
    "run_study",
    "shipped_studies",
    "study_schema",
    "unknown",
    "write_report",
]
