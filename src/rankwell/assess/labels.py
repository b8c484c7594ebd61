"""Labels from several people's grades: a binary set for each threshold, and a graded one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rankwell.assess.grades import Grades
from rankwell.assess.keeping import KEPT, why_left_out
from rankwell.assess.majority import majority
from rankwell.assess.median import graded_label
from rankwell.assess.panels import Panel, panels
from rankwell.core import Judgments, ParameterError

GRADED = "graded"
ORIGINAL = "original"
# How far above the lowest grade of a scale a passage begins to be relevant: 2 and 3 on S1's scale from 1 to 5.
STEPS = MappingProxyType({"liberal": 1, "strict": 2})


@dataclass(frozen=True)
class LabelRules:
    """How grades become labels. The defaults are S1's, for its scale from 1 to 5.

    `assessors` is the least number of people a query needs, `english` the least level of those who count (S1's
    threshold is 7; None lets all count), `complete` the least share of a query's passages that somebody must have
    graded to count for the query, and `missing` the rule for a grade where an answer is missing (`MISSING_RULES`).
    """

    lowest: int = 1
    thresholds: Mapping[str, int] = field(default_factory=lambda: {"liberal": 2, "strict": 3})
    assessors: int = 3
    english: int | None = None
    complete: float = 0.5
    missing: str = "lowest"

    def __post_init__(self) -> None:
        if self.assessors < 1:
            raise ParameterError("assessors", expected="a number of people, at least 1", found=self.assessors)
        if not self.thresholds or {GRADED, ORIGINAL} & self.thresholds.keys():
            expected = f"at least one, none of them called {GRADED} or {ORIGINAL}"
            raise ParameterError("thresholds", expected=expected, found=list(self.thresholds))
        for name, threshold in self.thresholds.items():
            if threshold <= self.lowest:
                expected = f"a grade above {self.lowest}, the lowest, which everything reaches"
                raise ParameterError(f"threshold of {name}", expected=expected, found=threshold)


@dataclass(frozen=True)
class Labels:
    """The label sets over the queries that were kept, and what became of every query that somebody assessed."""

    binary: Mapping[str, Judgments]  # by the name of the threshold: 1 is relevant, 0 is not
    graded: Judgments
    original: Judgments  # of the kept queries
    fates: Mapping[str, str]  # by query: kept, or why it was left out

    @property
    def kept(self) -> tuple[str, ...]:
        """The queries with labels."""
        return tuple(qid for qid, fate in self.fates.items() if fate == KEPT)

    @property
    def sets(self) -> dict[str, Judgments]:
        """The new label sets by name."""
        return {**self.binary, GRADED: self.graded}


def thresholds_of(lowest: int, highest: int) -> dict[str, int]:
    """Liberal is one step above the lowest grade of a scale, strict two; one that lies beyond the scale is left out."""
    return {name: lowest + step for name, step in STEPS.items() if lowest + step <= highest}


def make_labels(
    grades: Grades, original: Judgments | None = None, rules: LabelRules | None = None, *, confirmed: bool | None = None
) -> Labels:
    """Labels by majority vote and by ceiled median.

    `original` are the judgments there were before: they settle ties, and with `confirmed` (the default where they are
    given) only queries count of which a passage known to be relevant is still judged relevant (`why_left_out`).
    """
    rules, known = rules or LabelRules(), original if original is not None else Judgments()
    if confirmed is None:
        confirmed = original is not None
    counted = grades.only(english=rules.english)
    _check_scale(counted, rules.lowest)
    found = panels(counted, rules.complete)
    strictest = max(rules.thresholds.values())
    fates = {
        qid: why_left_out(panel, known.get(qid, {}), rules.assessors, strictest if confirmed else None)
        for qid, panel in found.items()
    }
    kept = {qid: panel for qid, panel in found.items() if fates[qid] == KEPT}
    binary = {name: _binary(kept, threshold, known) for name, threshold in rules.thresholds.items()}
    return Labels(binary, _graded(kept, rules), known.only(kept), fates)


def with_original(labels: Judgments, original: Judgments, *, binary: bool) -> Judgments:
    """New labels, and the original ones of passages that have no new one (in a binary set as 1 and 0).

    This is how judgments that were missing are put to those there were.
    """
    merged: dict[str, dict[str, int]] = {}
    for qid, docno, grade in original.rows():
        merged.setdefault(qid, {})[docno] = int(grade > 0) if binary else grade
    for qid, docno, grade in labels.rows():
        merged.setdefault(qid, {})[docno] = grade
    return Judgments.from_dict(merged)


def _binary(kept: Mapping[str, Panel], threshold: int, original: Judgments) -> Judgments:
    rows = []
    for qid, panel in kept.items():
        known = original.get(qid, {})
        for docno, answers in panel.answers.items():
            label = majority(answers, threshold, known[docno] > 0 if docno in known else None)
            if label is not None:
                rows.append((qid, docno, int(label)))
    return Judgments(rows)


def _graded(kept: Mapping[str, Panel], rules: LabelRules) -> Judgments:
    rows = []
    for qid, panel in kept.items():
        for docno, answers in panel.answers.items():
            label = graded_label(answers, rules.lowest, rules.missing)
            if label is not None:
                rows.append((qid, docno, label))
    return Judgments(rows)


def _check_scale(grades: Grades, lowest: int) -> None:
    given = min((grade for grade in grades.grades if grade is not None), default=lowest)
    if given < lowest:
        raise ParameterError(
            "grades", expected=f"none below {lowest}, the lowest of the scale (`lowest` says another)", found=given
        )
