"""The content of a study file; rows with variables such as `$model` become several rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rankwell.core import Judgments, RankwellError
from rankwell.evaluation.significance import CORRECTIONS, MARKS, TESTS
from rankwell.evaluation.unjudged import POLICIES
from rankwell.studies.file.values import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    ListOf,
    Record,
    Scalar,
    TableOf,
    key,
    one_of,
    unknown,
)

if TYPE_CHECKING:
    from rankwell.judging.grades import Grades
    from rankwell.judging.labels import LabelRules, Labels


ORIGINAL, SPARSE, LIBERAL, STRICT, GRADED = LABEL_SETS = ("original", "sparse", "liberal", "strict", "graded")
LEAST = {LIBERAL: 1, STRICT: 2}  # the grade that counts as relevant, where the grades of single people are not known


def labelled(judgments: Judgments, labels: str, grades: Path | None = None, assessors: int = 3) -> Judgments:
    """The judgments as a label set has them.

    `original`: unchanged. `sparse`: one relevant document a query, the best, and no other judgment, as in MS MARCO.
    `liberal` and `strict`: relevant or not, by the majority of the single grades in the file `grades`, or without
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
    """The grades of single assessors, and the labels made from them."""

    grades: Grades
    rules: LabelRules
    labels: Labels


def grades_of_people(judgments: Judgments, grades: Path, assessors: int) -> People:
    """Labels from the grades of single assessors by the re-assessment study's rules; `judgments` settle ties."""
    from rankwell.judging.grades import Grades, gather
    from rankwell.judging.labels import LabelRules, make_labels, thresholds_of

    found = gather(grades)
    rules = LabelRules(lowest=found.lowest, thresholds=thresholds_of(found.lowest, found.highest), assessors=assessors)
    # A grade below 0 means "I can't tell".
    told = Grades.of(row._replace(grade=None) if (row.grade or 0) < 0 else row for row in found.grades.rows())
    return People(told, rules, make_labels(told, judgments, rules, confirmed=False))


def _of_people(judgments: Judgments, labels: str, grades: Path, assessors: int) -> Judgments:
    sets = grades_of_people(judgments, grades, assessors).labels.sets
    if labels not in sets:
        raise RankwellError(f"{grades}: expected grades for the label set {labels}, found {', '.join(sets)}")
    return sets[labels]


COMPARISON, DEPTHS, GRADES, FRONTIER, CHOSEN, LABELS, LABEL_TESTS, ASSESSORS, PAIRS = TABLE_KINDS = (
    "comparison", "depths", "grades", "frontier", "chosen", "labels", "label-tests", "assessors", "pairs",
)  # fmt: skip
OF_DATA = (LABELS, ASSESSORS, PAIRS)  # tables about collections, without rankings
ANY = "any"
ALL, VALIDATION, TEST = PARTS = ("all", "validation", "test")
MATCH_RATIO = "MatchRatio"  # a measure that needs the size of the collection


@dataclass(frozen=True)
class CollectionEntry:
    """A collection of the study, or a replacement for one."""

    name: str = key(TEXT, "what tables call it")
    source: str = key(TEXT, "a folder below --data, a path with / in it, irds:NAME, or rankwell:python")
    instead_of: str | None = key(TEXT, 'the collection that it stands in for where that is not here, or "any"', None)
    split: str | None = key(TEXT, "which judgments: test, dev, train, full, or several: validation+test", None)
    fields: Mapping[str, str] = key(TableOf(TEXT), "the study's names of fields = the collection's own", {})
    pipelines: Mapping[str, str] = key(TableOf(TEXT), "pipelines that are others on this collection", {})
    labels: str = key(one_of(*LABEL_SETS), "the judgments as a label set has them (re-assessment study)", "original")
    grades: str | None = key(TEXT, "the file of single people's grades, in the collection's folder, for labels", None)
    assessors: int = key(COUNT, "how many people must have graded a query, for labels", 3)
    train: str | None = key(TEXT, "the judgments that models are trained on: train", None)
    held_back: float = key(NUMBER, "without these: the share of queries that are trained on and not measured", 0.0)
    measured: bool = key(FLAG, "false: no table is made of it, models are trained on it: labelled(from='NAME')", True)
    whole: bool = key(FLAG, "no budget takes documents away, because a stored run needs them", False)
    about: str = key(TEXT, "what a reader should know of it", "")


@dataclass(frozen=True)
class Budget:
    """Limits that make a study smaller."""

    queries: int | None = key(COUNT, "at most so many judged queries of each collection, drawn by the seed", None)
    documents: int | None = key(COUNT, "at most so many documents: the judged ones, then others by the seed", None)
    training: int | None = key(COUNT, "train on at most so many queries, drawn by the seed", None)
    vary: Mapping[str, tuple[str, ...]] = key(TableOf(ListOf(Scalar())), "shorter lists of what varies", {})


@dataclass(frozen=True)
class TableEntry:
    """A table of the report, and its figure."""

    name: str = key(TEXT, "a short name of its own, for links")
    title: str = key(TEXT, "what stands above it")
    rows: Mapping[str, str] = key(TableOf(TEXT), "row = pipeline; $names are what varies", {})
    measures: tuple[str, ...] = key(ListOf(TEXT), "nDCG@10, RR@10, R@100, AUC, ...", ())
    kind: str = key(one_of(*TABLE_KINDS), "what is made of the rows", COMPARISON)
    about: str = key(TEXT, "what is asked", "")
    after: str = key(TEXT, "the table or figure of the study that it follows", "")
    collections: tuple[str, ...] = key(ListOf(TEXT), "which collections; all by default", ())
    columns: str = key(one_of("measures", "collections"), "what the columns are", "measures")
    baseline: str | None = key(TEXT, 'the row that others are compared with; the first by default, or "none"', None)
    of: str | None = key(TEXT, "the table whose best row is taken (kind chosen)", None)
    part: str = key(one_of(*PARTS), "measure only these of the queries", ALL)
    unjudged: str = key(one_of(*POLICIES), "what becomes of unjudged documents", "zero")
    optional: tuple[str, ...] = key(ListOf(TEXT), "rows that are left out where a field or model is missing", ())
    depths: tuple[int, ...] = key(ListOf(COUNT), "how deep to re-rank (kind depths)", ())
    depth: int = key(COUNT, "how deep to look (kind grades)", 10)
    x: str | None = key(TEXT, "draw the measures over this variable", None)
    speed: bool = key(FLAG, "add pairs, seconds, pairs a second, parameters and megabytes", False)
    share: bool = key(FLAG, "add the share of the baseline's first measure, and how many times as fast a row is", False)
    published: Mapping[str, Mapping[str, float]] = key(
        TableOf(TableOf(NUMBER)), "row = {column = figure}, from a publication", {}
    )
    published_on: str = key(TEXT, "the data of the published figures", "")
    differences: str = key(TEXT, "why ours may differ", "")


@dataclass(frozen=True)
class Study:
    """The content of a study file."""

    title: str = key(TEXT, "what the study is called")
    collection: tuple[CollectionEntry, ...] = key(ListOf(Record(CollectionEntry)), "the collections")
    table: tuple[TableEntry, ...] = key(ListOf(Record(TableEntry)), "the tables to make")
    about: str = key(TEXT, "what is asked and why", "")
    seed: int = key(WHOLE, "of everything that is drawn", 0)
    test: str = key(one_of(*TESTS), "the paired test", "t")
    correction: str = key(one_of(*CORRECTIONS), "for many comparisons", "holm")
    marks: str = key(one_of(*MARKS), "how significance is marked", "stars")
    vary: Mapping[str, tuple[str, ...]] = key(TableOf(ListOf(Scalar())), "name = values; $name stands for each", {})
    pipelines: Mapping[str, str] = key(TableOf(TEXT), "names that lines may begin with", {})
    models: Mapping[str, str] = key(TableOf(TEXT), "models that the study trains: name = pairs | training", {})
    budget: Mapping[str, Budget] = key(TableOf(Record(Budget)), "smaller versions of the study, by name", {})


STUDY = Record(Study)


def measure_on(name: str, documents: int) -> str:
    """A measure of a table on a collection of that size."""
    return f"{MATCH_RATIO}(documents={documents})" if name == MATCH_RATIO else name


VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
MOST_ROWS = 1000


class VariableError(RankwellError):
    """A row with wrong variables."""


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, its pipeline line, and the values that its variables have here."""

    name: str
    line: str
    values: Mapping[str, str] = field(default_factory=dict)
    written: str = ""  # the name in the file


def expanded(name: str, line: str, vary: Mapping[str, Sequence[str]]) -> list[Row]:
    """A row for each combination of its variables' values, the last variable changing fastest."""
    used = list(dict.fromkeys(VARIABLE.findall(name) + VARIABLE.findall(line)))
    for variable in used:
        if variable not in vary:
            raise VariableError(unknown("a variable of [vary]", variable, vary))
        if variable not in VARIABLE.findall(name) and len(vary[variable]) > 1:
            raise VariableError(f"expected ${variable} in the row's name too, because every row needs its own name")
    count = 1
    for variable in used:
        count *= len(vary[variable])
    if count > MOST_ROWS:
        raise VariableError(f"expected at most {MOST_ROWS:,} rows, found {count:,} combinations")
    rows = []
    for chosen in itertools.product(*(vary[variable] for variable in used)):
        values = dict(zip(used, chosen, strict=True))
        rows.append(Row(filled(name, values), filled(line, values), values, name))
    return rows


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its variables replaced by their values."""
    return VARIABLE.sub(lambda found: values[found[1]], text)
