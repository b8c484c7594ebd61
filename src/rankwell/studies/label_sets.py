"""Label sets: the same queries under other judgments, as S1 compares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import Judgments, RankwellError

if TYPE_CHECKING:
    from rankwell.assess.grades import Grades
    from rankwell.assess.labels import LabelRules, Labels

ORIGINAL, SPARSE, LIBERAL, STRICT, GRADED = LABEL_SETS = ("original", "sparse", "liberal", "strict", "graded")
LEAST = {LIBERAL: 1, STRICT: 2}  # the grade that counts as relevant, where the grades of single people are not known


def labelled(judgments: Judgments, labels: str, grades: Path | None = None, assessors: int = 3) -> Judgments:
    """The judgments as a label set has them.

    `original`: as they are. `sparse`: one relevant document a query, the best, and no other judgment, as MS MARCO has
    it. `liberal` and `strict`: relevant or not, by the majority of the single grades in the file `grades`, or without
    one by the grade that there is (1 or more, 2 or more). `graded`: the ceiled median of the single grades.
    """
    if labels == SPARSE:
        return _sparse(judgments)
    if labels == ORIGINAL or (grades is None and labels == GRADED):
        return judgments
    if grades is None:
        least = LEAST[labels]
        return Judgments((qid, docno, int(grade >= least)) for qid, docno, grade in judgments.rows())
    return _of_people(judgments, labels, grades, assessors)


def _sparse(judgments: Judgments) -> Judgments:
    rows = []
    for qid, grades in judgments.items():
        docno, grade = max(grades.items(), key=lambda item: (item[1], item[0]))
        if grade > 0:
            rows.append((qid, docno, 1))
    return Judgments(rows)


@dataclass(frozen=True)
class People:
    """The grades of single people, and the labels that they come to."""

    grades: Grades
    rules: LabelRules
    labels: Labels


def grades_of_people(judgments: Judgments, grades: Path, assessors: int) -> People:
    """S1's rules over the grades of single people; ties are settled by the judgments there were."""
    from rankwell.assess.gathered import gather
    from rankwell.assess.grades import Grades
    from rankwell.assess.labels import LabelRules, make_labels, thresholds_of

    found = gather(grades)
    rules = LabelRules(lowest=found.lowest, thresholds=thresholds_of(found.lowest, found.highest), assessors=assessors)
    # A grade below 0 says that somebody could not tell.
    told = Grades.of(row._replace(grade=None) if (row.grade or 0) < 0 else row for row in found.grades.rows())
    return People(told, rules, make_labels(told, judgments, rules, confirmed=False))


def _of_people(judgments: Judgments, labels: str, grades: Path, assessors: int) -> Judgments:
    sets = grades_of_people(judgments, grades, assessors).labels.sets
    if labels not in sets:
        raise RankwellError(f"{grades}: expected grades for the label set {labels}, found {', '.join(sets)}")
    return sets[labels]
