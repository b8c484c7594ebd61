"""A study as its file says it: collections, pipelines, what varies, and the tables to make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankwell.evaluate.significance import CORRECTIONS, MARKS, TESTS
from rankwell.evaluate.unjudged import POLICIES
from rankwell.studies.label_sets import LABEL_SETS
from rankwell.studies.shapes import COUNT, FLAG, NUMBER, TEXT, WHOLE, ListOf, Record, Scalar, TableOf, key, one_of

COMPARISON, DEPTHS, GRADES, FRONTIER, CHOSEN, LABELS, LABEL_TESTS, ASSESSORS, PAIRS = TABLE_KINDS = (
    "comparison", "depths", "grades", "frontier", "chosen", "labels", "label-tests", "assessors", "pairs",
)  # fmt: skip
OF_DATA = (LABELS, ASSESSORS, PAIRS)  # tables that say something of the collections, and rank nothing
ANY = "any"
ALL, VALIDATION, TEST = PARTS = ("all", "validation", "test")
MATCH_RATIO = "MatchRatio"  # a measure that needs the size of the collection, which a study file does not know


@dataclass(frozen=True)
class CollectionEntry:
    """A collection: the real thing, or one to take instead."""

    name: str = key(TEXT, "what tables call it")
    source: str = key(TEXT, "a folder below --data, a path with / in it, irds:NAME, or rankwell:python")
    instead_of: str | None = key(TEXT, 'the collection that it stands in for where that is not here, or "any"', None)
    split: str | None = key(TEXT, "which judgments: test, dev, train, full, or several: validation+test", None)
    fields: Mapping[str, str] = key(TableOf(TEXT), "the study's names of fields = the collection's own", {})
    pipelines: Mapping[str, str] = key(TableOf(TEXT), "pipelines that are others on this collection", {})
    labels: str = key(one_of(*LABEL_SETS), "the judgments as a label set has them (S1)", "original")
    grades: str | None = key(TEXT, "the file of single people's grades, in the collection's folder, for labels", None)
    assessors: int = key(COUNT, "how many people must have graded a query, for labels", 3)
    train: str | None = key(TEXT, "the judgments that models are trained on: train", None)
    held_back: float = key(NUMBER, "without these: the share of queries that are trained on and not measured", 0.0)
    measured: bool = key(FLAG, "false: no table is made of it, models are trained on it: labelled(from='NAME')", True)
    whole: bool = key(FLAG, "no budget takes documents away, because a stored run needs them", False)
    about: str = key(TEXT, "what a reader should know of it", "")


@dataclass(frozen=True)
class Budget:
    """How a study is made smaller."""

    queries: int | None = key(COUNT, "at most so many judged queries of each collection, drawn by the seed", None)
    documents: int | None = key(COUNT, "at most so many documents: the judged ones, then others by the seed", None)
    training: int | None = key(COUNT, "train on at most so many queries, drawn by the seed", None)
    vary: Mapping[str, tuple[str, ...]] = key(TableOf(ListOf(Scalar())), "shorter lists of what varies", {})


@dataclass(frozen=True)
class TableEntry:
    """A table to make, with its figure."""

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
    """The whole file."""

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
