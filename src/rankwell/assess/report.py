"""An assessment on one page: who did what, how far they agree, what the labels are, and whether a verdict holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rankwell.assess import tables
from rankwell.assess.agreement import Agreement
from rankwell.assess.experiments import Experiments
from rankwell.assess.grades import Grades
from rankwell.assess.group_pictures import group_pictures
from rankwell.assess.labels import LabelRules, Labels
from rankwell.assess.pictures import assessment_pictures
from rankwell.evaluate.significance import mark
from rankwell.plots import Picture
from rankwell.report import Heading, Note, Page, Part, PicturePart, TablePart, Text

ABOUT_AGREEMENT = (
    "1 is perfect agreement and 0 what chance would give. Alpha takes missing answers into account and, on ordinal "
    "grades, that 1 and 2 are nearer than 1 and 5. Its interval comes from drawing queries. The majority that an "
    "assessor is compared with is that of the others."
)


@dataclass(frozen=True)
class Assessment:
    """All that the page shows."""

    grades: Grades
    rules: LabelRules
    labels: Labels
    agreement: Agreement
    experiments: Experiments | None = None
    texts: Mapping[str, str] = field(default_factory=dict)  # what the queries ask, for the results by kind of query


def assessment_page(found: Assessment, title: str, *, marks: str = "stars", command: str | None = None) -> Page:
    """The page: the verdict first, then what it rests on."""
    pictures = assessment_pictures(found.grades, found.labels)
    parts: list[Part] = [
        *(_verdict(found.experiments, marks) if found.experiments else []),
        Heading("Labels"),
        Text(_rules(found.rules)),
        TablePart(tables.labels_table(found.labels, found.rules.thresholds, found.rules.lowest)),
        TablePart(tables.fates_table(found.labels)),
        *_shown(pictures, "relevant-passages", "grades-per-query", "grades"),
        Heading("Agreement"),
        Text(ABOUT_AGREEMENT),
        TablePart(tables.agreement_table(found.agreement)),
        *map(Note, found.agreement.warnings()),
        Heading("Assessors"),
        TablePart(tables.assessors_table(found.agreement)),
        *_shown(pictures, "queries-per-assessor", "assessors-per-query", "assessors-per-kept-query", "english-levels"),
        *(_experiments(found.experiments, marks) if found.experiments else []),
        *(_kinds(found.experiments, found.texts) if found.experiments else []),
    ]
    return Page(title, parts, command)


def _verdict(experiments: Experiments, marks: str) -> list[Part]:
    said = (
        f"{experiments.queries} queries; a positive difference is a higher value, which is worse for MFR. Differences "
        f"are tested query by query (paired t-test). {mark(marks).legend}"
    )
    return [
        Heading("Does the verdict hold?"),
        TablePart(tables.verdict_table(experiments, marks)),
        Text(said),
        *map(Note, experiments.notes),
    ]


def _experiments(experiments: Experiments, marks: str) -> list[Part]:
    return [
        Heading("Old labels against new"),
        *(TablePart(tables.experiment_table(one, marks)) for one in experiments.of_labels),
        Heading("Run against run"),
        *(TablePart(tables.experiment_table(one, marks)) for one in experiments.of_runs),
    ]


def _kinds(experiments: Experiments, texts: Mapping[str, str]) -> list[Part]:
    pictures = group_pictures(experiments, texts)
    return [Heading("Kinds of queries"), *map(PicturePart, pictures.values())] if pictures else []


def _rules(rules: LabelRules) -> str:
    """The rules that were used, in words."""
    sets = " and ".join(f"{name} from grade {threshold}" for name, threshold in rules.thresholds.items())
    english = f" with English of level {rules.english} or more" if rules.english is not None else ""
    return (
        f"Binary labels by majority vote ({sets}), graded ones by the ceiled median, of queries with at least "
        f"{rules.assessors} assessors{english}."
    )


def _shown(pictures: dict[str, Picture], *names: str) -> list[PicturePart]:
    return [PicturePart(pictures[name]) for name in names if name in pictures]
