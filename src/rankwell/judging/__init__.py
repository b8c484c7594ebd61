"""Assessment studies: several people grade passages; grades become labels, agreement figures and experiments."""

from __future__ import annotations

from rankwell.judging.agreement import count_ratings, fleiss_kappa, krippendorff_alpha, measure_agreement
from rankwell.judging.experiments import Experiments, run_experiments
from rankwell.judging.grades import GivenGrade, Grades, read_grades, write_grades
from rankwell.judging.labels import LabelRules, Labels, make_labels, with_original
from rankwell.judging.opening import create_study, open_study

__all__ = [
    "Experiments",
    "GivenGrade",
    "Grades",
    "LabelRules",
    "Labels",
    "count_ratings",
    "create_study",
    "fleiss_kappa",
    "krippendorff_alpha",
    "make_labels",
    "measure_agreement",
    "open_study",
    "read_grades",
    "run_experiments",
    "with_original",
    "write_grades",
]
