"""Assessment: studies in which several people grade passages, their database, and what the grades come to."""

from __future__ import annotations

from rankwell.assess.agreement import Agreement, measure_agreement
from rankwell.assess.experiments import Experiments, run_experiments
from rankwell.assess.fleiss import fleiss_kappa
from rankwell.assess.grades import GivenGrade, Grades
from rankwell.assess.grades_file import read_grades, write_grades
from rankwell.assess.krippendorff import krippendorff_alpha
from rankwell.assess.labels import LabelRules, Labels, make_labels, with_original
from rankwell.assess.opening import create_study, open_study
from rankwell.assess.ratings import Ratings, count_ratings

__all__ = [
    "Agreement",
    "Experiments",
    "GivenGrade",
    "Grades",
    "LabelRules",
    "Labels",
    "Ratings",
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
