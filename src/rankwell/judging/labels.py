"""Labels from several assessors' grades: binary by majority, graded by the ceiled median."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from rankwell.core import Judgments, ParameterError
from rankwell.judging.grades import Grades


class Answers(NamedTuple):
    """A panel's grades of one passage, the number of its assessors who gave none, and what an adjudicator decided."""

    grades: tuple[int, ...]
    missing: int = 0
    adjudicated: int | None = None


@dataclass(frozen=True)
class Panel:
    """The assessors of one query, and their answers by passage."""

    assessors: tuple[str, ...]
    answers: Mapping[str, Answers]


def panels(grades: Grades, complete: float = 0.5) -> dict[str, Panel]:
    """The panel of every query, in the order in which the queries come.

    A query's passages are all those that anybody was asked about. An assessor who graded less than the share `complete`
    of them is not on the panel, and their grades for the query do not count: the re-assessment study left out one of a
    query's seven assessors, who had graded one passage of twenty. Who graded nothing is never on a panel.
    """
    if not 0 <= complete <= 1:
        raise ParameterError("complete", expected="a share from 0 to 1", found=complete)
    given: dict[str, dict[str, dict[str, int]]] = {}  # by query and assessor
    passages: dict[str, dict[str, int | None]] = {}  # in the order in which they come, with their adjudicated grade
    for row in grades.rows():
        decided = passages.setdefault(row.qid, {})
        decided[row.docno] = row.adjudicated if decided.get(row.docno) is None else decided[row.docno]
        of_assessor = given.setdefault(row.qid, {}).setdefault(row.assessor, {})
        if row.grade is not None:
            of_assessor[row.docno] = row.grade
    return {qid: _panel(of_query, passages[qid], complete) for qid, of_query in given.items()}


def _panel(given: Mapping[str, Mapping[str, int]], decided: Mapping[str, int | None], complete: float) -> Panel:
    least = max(1.0, complete * len(decided))
    there = {assessor: answered for assessor, answered in given.items() if len(answered) >= least}
    grades = {docno: tuple(of[docno] for of in there.values() if docno in of) for docno in decided}
    answers = {docno: Answers(of, len(there) - len(of), decided[docno]) for docno, of in grades.items()}
    return Panel(tuple(there), answers)


def vote(grades: Sequence[int], threshold: int) -> bool | None:
    """Whether more than half of the grades reach the threshold. None for a tie and for no grades."""
    for_it = sum(grade >= threshold for grade in grades)
    against = len(grades) - for_it
    return None if for_it == against else for_it > against


def majority(answers: Answers, threshold: int, original: bool | None = None) -> bool | None:
    """The binary label of a passage: relevant where more than half of the given grades reach the threshold.

    Missing answers are ignored. Where the votes tie, the original label stands, and a passage that had none is not
    relevant. None (no label) where neither an answer nor an original label is known. An adjudicated grade decides
    alone.
    """
    if answers.adjudicated is not None:
        return answers.adjudicated >= threshold
    decided = vote(answers.grades, threshold)
    if decided is not None:
        return decided
    return False if original is None and answers.grades else original


def ceiled_median(grades: Sequence[int]) -> int:
    """The middle grade, or the mean of the two middle ones, rounded up."""
    if not grades:
        raise ParameterError("grades", expected="at least one grade", found=list(grades))
    ordered = sorted(grades)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return -(-(low + high) // 2)


def lowest_in_doubt(answers: Answers, lowest: int) -> int:
    """The re-assessment study's rule: the ceiled median, or the lowest grade where a missing answer leaves doubt.

    There is doubt where an answer is missing and the others are an even number of grades that are not all the same.
    Of three assessors whose third did not answer, 4 and 4 make a 4, and 4 and 5 make a 1.
    """
    left = answers.grades
    in_doubt = answers.missing > 0 and len(left) % 2 == 0 and len(set(left)) > 1
    return lowest if in_doubt else ceiled_median(left)


MISSING_RULES: MappingProxyType[str, Callable[[Answers, int], int]] = MappingProxyType(
    {"lowest": lowest_in_doubt, "median": lambda answers, _lowest: ceiled_median(answers.grades)}
)


def graded_label(answers: Answers, lowest: int, missing: str = "lowest") -> int | None:
    """One grade for a passage: the adjudicated one, else by a rule of `MISSING_RULES`; None without any grade."""
    if missing not in MISSING_RULES:
        raise ParameterError("missing", expected=" or ".join(MISSING_RULES), found=missing)
    if answers.adjudicated is not None:
        return answers.adjudicated
    return MISSING_RULES[missing](answers, lowest) if answers.grades else None


KEPT = "kept"
TOO_FEW = "too few assessors"
NOT_CONFIRMED = "no passage known to be relevant was judged relevant"


def why_left_out(panel: Panel, original: Mapping[str, int], assessors: int, threshold: int | None) -> str:
    """`KEPT`, or why the query is left out.

    The re-assessment study's algorithm 1 keeps a query if at least `assessors` people assessed it and the majority
    grades its originally relevant passage at or above the threshold. Of several originally relevant passages one is
    enough (the study's queries had one each). Of several thresholds give the highest, so that all label sets have the
    same queries. Without a threshold only the number of assessors counts.
    """
    if len(panel.assessors) < assessors:
        return TOO_FEW
    if threshold is None:
        return KEPT
    relevant = (docno for docno, grade in original.items() if grade > 0 and docno in panel.answers)
    confirmed = any(majority(panel.answers[docno], threshold, original=True) for docno in relevant)
    return KEPT if confirmed else NOT_CONFIRMED


GRADED = "graded"
ORIGINAL = "original"
# Relevant from so far above the scale's lowest grade: from 2 and 3 on the re-assessment study's scale from 1 to 5.
STEPS = MappingProxyType({"liberal": 1, "strict": 2})


@dataclass(frozen=True)
class LabelRules:
    """How grades become labels. The defaults are the re-assessment study's, for its scale from 1 to 5.

    `assessors` is the least number of people a query needs, `english` the least level of English of those who count
    (the study: 7; None lets all count), `complete` the least share of a query's passages that an assessor must have
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
    """The label sets over the kept queries, and for every assessed query whether and why it was left out."""

    binary: Mapping[str, Judgments]  # by the name of the threshold: 1 is relevant, 0 is not
    graded: Judgments
    original: Judgments  # of the kept queries
    fates: Mapping[str, str]  # by query: kept, or why it was left out
    thin: int = 0  # passages of kept queries whose label rests on one grade, though more people were asked
    adjudicated: int = 0  # passages of kept queries whose label an adjudicator decided

    @property
    def kept(self) -> tuple[str, ...]:
        """The ids of the queries that were kept."""
        return tuple(qid for qid, fate in self.fates.items() if fate == KEPT)

    def notes(self) -> Iterator[str]:
        """What to know of the labels, a sentence each."""
        if self.thin:
            few = "1 label rests" if self.thin == 1 else f"{self.thin:,} labels rest"
            yield f"{few} on a single grade, because the others who were asked gave none"
        if self.adjudicated:
            few = "1 label was" if self.adjudicated == 1 else f"{self.adjudicated:,} labels were"
            yield f"{few} decided by an adjudicator, and not by the rules"

    @property
    def sets(self) -> dict[str, Judgments]:
        """The new label sets, binary and graded, by name."""
        return {**self.binary, GRADED: self.graded}


def thresholds_of(lowest: int, highest: int) -> dict[str, int]:
    """Thresholds of a scale: liberal is one step above the lowest grade, strict two, if the scale has such grades."""
    return {name: lowest + step for name, step in STEPS.items() if lowest + step <= highest}


def make_labels(
    grades: Grades, original: Judgments | None = None, rules: LabelRules | None = None, *, confirmed: bool | None = None
) -> Labels:
    """Binary labels by majority vote, graded ones by ceiled median.

    `original` are the earlier judgments: they settle ties, and with `confirmed` (the default where they are
    given) only queries are kept whose known relevant passage is still judged relevant (`why_left_out`).
    """
    rules, known = rules or LabelRules(), original if original is not None else Judgments()
    if confirmed is None:
        confirmed = original is not None
    counted = grades.only(english=rules.english)
    every = (*counted.grades, *counted.adjudicated)
    given = min((grade for grade in every if grade is not None), default=rules.lowest)
    if given < rules.lowest:
        expected = f"none below {rules.lowest}, the lowest of the scale (`lowest` says another)"
        raise ParameterError("grades", expected=expected, found=given)
    by_query = panels(counted, rules.complete)
    strictest = max(rules.thresholds.values())
    fates = {
        qid: why_left_out(panel, known.get(qid, {}), rules.assessors, strictest if confirmed else None)
        for qid, panel in by_query.items()
    }
    kept = {qid: panel for qid, panel in by_query.items() if fates[qid] == KEPT}
    binary = {
        name: _judgments(kept, known, partial(majority, threshold=threshold))
        for name, threshold in rules.thresholds.items()
    }
    graded = _judgments(kept, known, lambda answers, original: graded_label(answers, rules.lowest, rules.missing))  # noqa: ARG005 -- as `majority`
    answers = [of for panel in kept.values() for of in panel.answers.values()]
    thin = sum(len(of.grades) == 1 and of.missing > 0 and of.adjudicated is None for of in answers)
    adjudicated = sum(of.adjudicated is not None for of in answers)
    return Labels(binary, graded, known.only(kept), fates, thin, adjudicated)


def with_original(labels: Judgments, original: Judgments, *, binary: bool) -> Judgments:
    """New labels, and the original ones of passages that have no new one (in a binary set as 1 and 0)."""
    merged: dict[str, dict[str, int]] = {}
    for qid, docno, grade in original.rows():
        merged.setdefault(qid, {})[docno] = int(grade > 0) if binary else grade
    for qid, docno, grade in labels.rows():
        merged.setdefault(qid, {})[docno] = grade
    return Judgments.from_dict(merged)


def _judgments(kept: Mapping[str, Panel], original: Judgments, label: Callable[..., int | None]) -> Judgments:
    """The labels of all passages that get one."""
    rows = []
    for qid, panel in kept.items():
        known = original.get(qid, {})
        for docno, answers in panel.answers.items():
            grade = label(answers, original=known[docno] > 0 if docno in known else None)
            if grade is not None:
                rows.append((qid, docno, int(grade)))
    return Judgments(rows)
