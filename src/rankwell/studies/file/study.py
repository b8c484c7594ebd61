"""The content of a study file, read and checked by the types of its records; rows with variables expand to several."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, NewType, get_args, get_origin, get_type_hints

from rankwell.core.errors import shown
from rankwell.evaluation import parse_measure
from rankwell.evaluation.evaluation import POLICIES
from rankwell.evaluation.judged import OWN
from rankwell.evaluation.significance import CORRECTIONS, MARKS, TESTS
from rankwell.studies.file.errors import EntryError, KeyPath, unknown

Variable = NewType("Variable", str)  # a text or a number; kept as text, because it will be put into a line
PLAIN = {  # what a type is called, in errors and in JSON
    str: ("text", "string"),
    bool: ("true or false", "boolean"),
    int: ("a whole number", "integer"),
    float: ("a number", "number"),
}


def key(about: str, default: Any = MISSING, *, choices: Iterable[str] = (), least: int | None = None) -> Any:
    """A field of a record: its description, default, and the values that it may have."""
    metadata = {"about": about, "choices": tuple(choices), "least": least}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def read_record(kind: type[Any], value: Any, path: KeyPath = ()) -> Any:
    """A table of the file as a record; an `EntryError` for an unknown or a missing key, or a wrong value."""
    if not isinstance(value, dict):
        raise EntryError(f"expected a table, found {shown(value)}", path)
    known = {part.name: part for part in fields(kind)}
    for name in value:
        if name not in known:
            raise EntryError(unknown("a key", name, known), (*path, name))
    for name, part in known.items():
        if name not in value and _is_needed(part):
            raise EntryError(f'expected a key "{name}" ({part.metadata["about"]}), found none', path)
    hints = get_type_hints(kind)
    return kind(**{name: _read(hints[name], part, (*path, name), known[name]) for name, part in value.items()})


def _is_needed(part: Any) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _read(hint: Any, value: Any, path: KeyPath, declared: Any) -> Any:
    """A value of this type; `declared` is the field that it belongs to."""
    container, inner = get_origin(hint), (get_args(hint) or (hint,))[0]
    if is_dataclass(hint):
        return read_record(hint, value, path)  # type: ignore[arg-type]  # a class
    if container is UnionType:
        return _read(inner, value, path, declared)
    if container is tuple:
        if not isinstance(value, list):
            raise EntryError(f"expected a list in [ ], found {shown(value)}", path)
        return tuple(_read(inner, part, (*path, place), declared) for place, part in enumerate(value))
    if container is Mapping:
        if not isinstance(value, dict):
            raise EntryError(f"expected a table of names with values, found {shown(value)}", path)
        return {name: _read(get_args(hint)[1], part, (*path, name), declared) for name, part in value.items()}
    return _read_plain(hint, value, path, declared)


def _read_plain(hint: Any, value: Any, path: KeyPath, declared: Any) -> Any:
    if hint is Variable:
        if type(value) not in (str, int, float):
            raise EntryError(f"expected a text or a number, found {shown(value)}", path)
        return f"{value:g}" if isinstance(value, float) else str(value)
    value = float(value) if hint is float and type(value) is int else value
    called, choices, least = PLAIN[hint][0], declared.metadata["choices"], declared.metadata["least"]
    if type(value) is not hint:
        raise EntryError(f"expected {called}, found {shown(value)}", path)
    if choices and value not in choices:
        raise EntryError(unknown("one of", value, choices), path)
    if least is not None and not value >= least:
        raise EntryError(f"expected {called} from {least:g}, found {shown(value)}", path)
    return value


def record_schema(kind: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a record."""
    hints = get_type_hints(kind)
    properties = {
        part.name: {**_schema(hints[part.name], part), "description": part.metadata["about"]} for part in fields(kind)
    }
    needed = [part.name for part in fields(kind) if _is_needed(part)]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": needed} if needed else {})


def _schema(hint: Any, declared: Any) -> dict[str, Any]:
    container, inner = get_origin(hint), (get_args(hint) or (hint,))[0]
    if is_dataclass(hint):
        return record_schema(hint)  # type: ignore[arg-type]  # a class
    if container is UnionType:
        return _schema(inner, declared)
    if container is tuple:
        return {"type": "array", "items": _schema(inner, declared)}
    if container is Mapping:
        return {"type": "object", "additionalProperties": _schema(get_args(hint)[1], declared)}
    if hint is Variable:
        return {"type": ["string", "number"]}
    choices, least = declared.metadata["choices"], declared.metadata["least"]
    bounds = ({"enum": list(choices)} if choices else {}) | ({} if least is None else {"minimum": least})
    return {"type": PLAIN[hint][1]} | bounds


ORIGINAL, SPARSE, LIBERAL, STRICT, GRADED = LABEL_SETS = ("original", "sparse", "liberal", "strict", "graded")
COMPARISON, DEPTHS, GRADES, FRONTIER, CHOSEN, LABELS, LABEL_TESTS, ASSESSORS, PAIRS, CURVES, SCORES = TABLE_KINDS = (
    "comparison", "depths", "grades", "frontier", "chosen", "labels", "label-tests", "assessors", "pairs",
    "curves", "scores",
)  # fmt: skip
UNMEASURED = (GRADES, CHOSEN, CURVES, SCORES)  # tables that need no measure
OF_DATA = (LABELS, ASSESSORS, PAIRS)  # tables about collections, without rankings
ANY = "any"
ALL, VALIDATION, TEST = PARTS = ("all", "validation", "test")
MATCH_RATIO = "MatchRatio"  # a measure that needs the size of the collection


@dataclass(frozen=True)
class CollectionEntry:
    """A collection of the study, or a replacement for one."""

    name: str = key("what tables call it")
    source: str = key("a folder below --data, a path with / in it, irds:NAME, or rankwell:python")
    instead_of: str | None = key('the collection that it stands in for where that is not here, or "any"', None)
    split: str | None = key("which judgments: test, dev, train, full, or several: validation+test", None)
    fields: Mapping[str, str] = key("the study's names of fields = the collection's own", {})
    pipelines: Mapping[str, str] = key("pipelines that are others on this collection", {})
    labels: str = key("the judgments as a label set has them (re-assessment study)", "original", choices=LABEL_SETS)
    grades: str | None = key("the file of single people's grades, in the collection's folder, for labels", None)
    assessors: int = key("how many people must have graded a query, for labels", 3, least=1)
    train: str | None = key("the judgments that models are trained on: train", None)
    held_back: float = key("without these: the share of queries that are trained on and not measured", 0.0)
    measured: bool = key("false: no table is made of it, models are trained on it: labelled(from='NAME')", True)
    whole: bool = key("no budget takes documents away, because a stored run needs them", False)
    own: str = key("documents of their query's own id; auto: drop if queries are documents", "auto", choices=OWN)
    about: str = key("what a reader should know of it", "")


@dataclass(frozen=True)
class Budget:
    """A version of a study: limits that make it smaller, or data and models that make it as large as its paper."""

    queries: int | None = key("at most so many judged queries of each collection, drawn by the seed", None, least=1)
    documents: int | None = key("at most so many documents: the judged ones, then others by the seed", None, least=1)
    training: int | None = key("train on at most so many queries, drawn by the seed", None, least=1)
    vary: Mapping[str, tuple[Variable, ...]] = key("other lists of what varies", {})
    sources: Mapping[str, str] = key("other sources of collections: name = source", {})
    about: str = key("what it is for, and what it needs", "")


@dataclass(frozen=True)
class TableEntry:
    """A table of the report, and its figure."""

    name: str = key("a short name of its own, for links")
    title: str = key("what stands above it")
    rows: Mapping[str, str] = key("row = pipeline; $names are what varies", {})
    measures: tuple[str, ...] = key("nDCG@10, RR@10, R@100, AUC, ...", ())
    kind: str = key("what is made of the rows", COMPARISON, choices=TABLE_KINDS)
    about: str = key("what is asked", "")
    after: str = key("the table or figure of the study that it follows", "")
    collections: tuple[str, ...] = key("which collections; all by default", ())
    columns: str = key("what the columns are", "measures", choices=("measures", "collections"))
    baseline: str | None = key('the row that others are compared with; the first by default, or "none"', None)
    of: str | None = key("the table whose best row is taken (kind chosen)", None)
    part: str = key("measure only these of the queries", ALL, choices=PARTS)
    unjudged: str = key("what becomes of unjudged documents", "zero", choices=POLICIES)
    optional: tuple[str, ...] = key("rows that are left out where a field or model is missing", ())
    depths: tuple[int, ...] = key("how deep to re-rank (kind depths)", (), least=1)
    depth: int = key("how deep to look (kind grades)", 10, least=1)
    x: str | None = key("draw the measures over this variable", None)
    speed: bool = key("add pairs, seconds, pairs a second, queries a minute, parameters and megabytes", False)
    average: tuple[str, ...] = key('add the mean over these collections, or ["*"]: all (columns = "collections")', ())
    share: bool = key("add the share of the baseline's first measure, and how many times as fast a row is", False)
    published: Mapping[str, Mapping[str, float]] = key("row = {column = figure}, from a publication", {})
    published_on: str = key("the data of the published figures", "")
    differences: str = key("why ours may differ", "")

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the measures' columns."""
        return tuple(name if name == MATCH_RATIO else str(parse_measure(name)) for name in self.measures)


@dataclass(frozen=True)
class Study:
    """The content of a study file."""

    title: str = key("what the study is called")
    collection: tuple[CollectionEntry, ...] = key("the collections")
    table: tuple[TableEntry, ...] = key("the tables to make")
    about: str = key("what is asked and why", "")
    seed: int = key("of everything that is drawn", 0, least=0)
    test: str = key("the paired test", "t", choices=TESTS)
    correction: str = key("for many comparisons", "holm", choices=CORRECTIONS)
    marks: str = key("how significance is marked", "stars", choices=MARKS)
    vary: Mapping[str, tuple[Variable, ...]] = key("name = values; $name stands for each", {})
    pipelines: Mapping[str, str] = key("names that lines may begin with", {})
    models: Mapping[str, str] = key("models that the study trains: name = pairs | training", {})
    budget: Mapping[str, Budget] = key("other versions of the study, by name: small, night, paper", {})


def measure_on(name: str, documents: int) -> str:
    """A measure of a table on a collection of that size."""
    return f"{MATCH_RATIO}(documents={documents})" if name == MATCH_RATIO else name


VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
MOST_ROWS = 1000


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, its pipeline line, and the values that its variables have here."""

    name: str
    line: str
    values: Mapping[str, str] = field(default_factory=dict)
    written: str = ""  # the name in the file


def expanded(name: str, line: str, vary: Mapping[str, Sequence[str]], path: KeyPath = ()) -> list[Row]:
    """A row for each combination of its variables' values, the last variable changing fastest; `path` is for errors."""
    named = VARIABLE.findall(name)
    used = list(dict.fromkeys(named + VARIABLE.findall(line)))
    for variable in used:
        if variable not in vary:
            raise EntryError(unknown("a variable of [vary]", variable, vary), path)
        if variable not in named and len(vary[variable]) > 1:
            raise EntryError(f"expected ${variable} in the row's name too, because every row needs its own name", path)
    count = math.prod(len(vary[variable]) for variable in used)
    if count > MOST_ROWS:
        raise EntryError(f"expected at most {MOST_ROWS:,} rows, found {count:,} combinations", path)
    rows = []
    for chosen in itertools.product(*(vary[variable] for variable in used)):
        values = dict(zip(used, chosen, strict=True))
        rows.append(Row(_filled(name, values), _filled(line, values), values, name))
    return rows


def _filled(text: str, values: Mapping[str, str]) -> str:
    return VARIABLE.sub(lambda match: values[match[1]], text)
