"""Studies: declarative experiments, run cell by cell, and the five that come with Rankwell."""

from __future__ import annotations

from rankwell.studies.file.errors import unknown
from rankwell.studies.file.reading import read_study, study_schema
from rankwell.studies.plan.cells import Cell, CellStore
from rankwell.studies.plan.collections import CollectionFinder
from rankwell.studies.plan.cost import Estimate, costs, duration
from rankwell.studies.plan.plan import data_folder
from rankwell.studies.report.describing import described, described_cell, differences, progress_of, remarks
from rankwell.studies.report.report import advices, is_reported, read_numbers, write_report
from rankwell.studies.report.tables import results
from rankwell.studies.run.runner import Machine, RunSettings, StudyFolder, run_study
from rankwell.studies.shipped_studies import find_study, shipped_studies

__all__ = [
    "Cell",
    "CellStore",
    "CollectionFinder",
    "Estimate",
    "Machine",
    "RunSettings",
    "StudyFolder",
    "advices",
    "costs",
    "data_folder",
    "described",
    "described_cell",
    "differences",
    "duration",
    "find_study",
    "is_reported",
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
