"""The pictures of an assessment, as S1 has them in chapter 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from rankwell.assess.english import ENGLISH_LEVELS
from rankwell.assess.grades import Grades
from rankwell.assess.labels import ORIGINAL, Labels
from rankwell.plots import Picture, bars, boxes, columns, stacked_bars

CANNOT_TELL = "can't tell"


def assessment_pictures(grades: Grades, labels: Labels | None = None) -> dict[str, Picture]:
    """All pictures for which there is something to draw, by the name of their file."""
    pictures = {}
    if len(grades):
        pictures["grades"] = _grades(grades)
        pictures["queries-per-assessor"] = _queries_per_assessor(grades)
        pictures["assessors-per-query"] = _assessors_per_query(grades, "Assessors per query")
    if any(level is not None for level in grades.english):
        pictures["english-levels"] = _english_levels(grades)
    if labels is not None and labels.kept:
        kept = set(labels.kept)
        pictures["assessors-per-kept-query"] = _assessors_per_query(grades, "Assessors per kept query", kept)
        pictures["relevant-passages"] = _relevant_passages(labels)
        pictures["grades-per-query"] = _grades_per_query(labels)
    return pictures


def _grades(grades: Grades) -> Picture:
    """How often each grade was given."""
    counts = Counter(grade for grade in grades.grades if grade is not None)
    unsure = len(grades) - counts.total()
    title = "Grades given" + (f" ({unsure:,} times: {CANNOT_TELL})" if unsure else "")
    if not counts:
        return columns({0: 0}, title=title, x="grade", y="answers")
    steps = range(min(counts), max(counts) + 1)
    return columns({grade: counts[grade] for grade in steps}, title=title, x="grade", y="answers")


def _queries_per_assessor(grades: Grades) -> Picture:
    """How many people assessed so many queries (S1's figure 4.5)."""
    done = Counter(assessor for assessor, _ in set(zip(grades.assessors, grades.qids, strict=True)))
    return columns(Counter(done.values()), title="Queries per assessor", x="queries assessed", y="assessors")


def _assessors_per_query(grades: Grades, title: str, only: Collection[str] | None = None) -> Picture:
    """How many queries have so many assessors (S1's figures 4.6 and 4.7)."""
    seen = set(zip(grades.qids, grades.assessors, strict=True))
    people = Counter(qid for qid, _ in seen if only is None or qid in only)
    return columns(Counter(people.values()), title=title, x="assessors", y="queries")


def _english_levels(grades: Grades) -> Picture:
    """How many people put themselves on each level (S1's figure 4.8)."""
    told = {who: level for who, level in zip(grades.assessors, grades.english, strict=True) if level is not None}
    counts = Counter(told.values())
    labels = [f"{level} ({cefr})" if cefr else f"{level}" for level, _, cefr in ENGLISH_LEVELS]
    series = {"assessors": [float(counts[level.level]) for level in ENGLISH_LEVELS]}
    return bars(labels, series, title="English levels of the assessors", x="assessors")


def _relevant_passages(labels: Labels) -> Picture:
    """Relevant passages of each query by label set (S1's figure 4.1)."""
    sets = {ORIGINAL: labels.original, **labels.binary} if labels.original else dict(labels.binary)
    counts = {name: [len(judged.relevant(qid)) for qid in labels.kept] for name, judged in sets.items()}
    return boxes(counts, title="Relevant passages per query", x="labels", y="relevant passages")


def _grades_per_query(labels: Labels) -> Picture:
    """The graded labels of each query, best queries first (S1's figure 4.2)."""
    steps = sorted({row.grade for row in labels.graded.rows()})
    counts = {qid: Counter(of_query.values()) for qid, of_query in labels.graded.items()}
    order = sorted(counts, key=lambda qid: [counts[qid][step] for step in reversed(steps)], reverse=True)
    series = {f"grade {step}": [float(counts[qid][step]) for qid in order] for step in steps}
    return stacked_bars(order, series, title="Grades per query", x="queries", y="passages")
