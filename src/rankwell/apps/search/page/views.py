"""Views: searches and comparisons as the address of a page describes them, with filters and ranking settings.

An address holds only what differs from the defaults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from fastapi import HTTPException

from rankwell.core import ParameterError
from rankwell.core.parameters import Number, Parameter, Text, like, param, parameters
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.reranker import DEPTH
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.retrieve.filters import written
from rankwell.retrieve.sorting import RELEVANCE, parse_sort

Pair = tuple[str, str]
Pairs = list[Pair]
Given = Mapping[str, Sequence[str]]  # the parameters of an address: all values by name

PAGE_SIZES = (10, 20, 50)
LEFT, RIGHT = "a.", "b."
IS, FROM, TO = "is.", "from.", "to."
WEIGHT = "weight."
NO_MODEL = "none"
BY = ("words", "vectors", "both")
MATCHES = ("or", "and", "expr")
MOST_PAIRS = 300
MOST_CONDITIONS = 100  # in one address
MOST_DIGITS = 7
DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")


@dataclass(frozen=True)
class RankingSettings:
    """The settings of one pipeline, under their names in addresses and in the REST API.

    `by` says whether words, vectors or both find the documents; `weights` are numbers by field, none for all fields as
    one text; `rerank` is a model's name or "none".
    """

    by: str = param("words", "What finds documents: words, vectors, or both.", Text(BY))
    match: str = param(MATCHES[0], "Which documents: any word, all words, or an expression.", Text(MATCHES))
    k1: float = like(RankerOptions, "k1")
    b: float = like(RankerOptions, "b")
    idf: str = like(RankerOptions, "idf")
    rm3: bool = like(RankerOptions, "rm3")
    rerank: str = like(RerankOptions, "rerank", default=NO_MODEL)
    depth: int = like(RerankOptions, "depth", default=DEPTH)
    passages: str = like(RerankOptions, "passages", default="")
    aggregate: str = like(CrossEncoder, "aggregate")
    interpolate: float | None = like(RerankOptions, "interpolate")
    weights: tuple[tuple[str, float], ...] = ()

    @property
    def model(self) -> str | None:
        """The re-ranking model, or None."""
        return None if self.rerank == NO_MODEL else self.rerank

    @property
    def name(self) -> str:
        """A name to show: BM25, RM3 + Vectors, BM25 + ms-marco-minilm-l12."""
        words = "RM3" if self.rm3 else "BM25"
        first = {"words": words, "vectors": "Vectors", "both": f"{words} + Vectors"}[self.by]
        return first if self.model is None else f"{first} + {self.model}"


def read_ranking(given: Given, usual: RankingSettings, prefix: str = "") -> RankingSettings:
    """Read the settings from an address; `prefix` tells the two pipelines of a page apart."""
    values = {
        name: _read(setting, last(given, prefix + name).strip(), getattr(usual, name))
        for name, setting in parameters(RankingSettings).items()
        if prefix + name in given
    }
    start = prefix + WEIGHT
    weights = {name.removeprefix(start): last(given, name) for name in given if name.startswith(start)}
    kept = sorted((name, Number().read(f"{WEIGHT}{name}", text)) for name, text in weights.items() if text.strip())
    return replace(usual, **values, weights=tuple(kept) or usual.weights)


def ranking_pairs(ranking: RankingSettings, usual: RankingSettings, prefix: str = "") -> Pairs:
    """The settings as parameters of the address: only those that differ from the defaults."""
    pairs = [
        (prefix + name, as_text(getattr(ranking, name)))
        for name in parameters(RankingSettings)
        if getattr(ranking, name) != getattr(usual, name)
    ]
    if ranking.weights != usual.weights:
        pairs += [(f"{prefix}{WEIGHT}{name}", as_text(number)) for name, number in ranking.weights]
    return pairs


def as_text(value: Any) -> str:
    """A value as text, as in an address."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _read(setting: Parameter, text: str, usual: Any) -> Any:
    """A setting from its form field. An empty number means the default; an empty interpolation weight means none."""
    if text or (isinstance(setting.kind, Text) and not setting.kind.choices):
        return (text or NO_MODEL) if setting.name == "rerank" else setting.read(text)
    return setting.read(None) if setting.default is None else usual


@dataclass(frozen=True)
class Range:
    """From one number or date to another, both included; "" for no bound. Kept as text, as it was typed."""

    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Filters:
    """Filters of a page: any of the chosen values of each column, and within each range."""

    values: tuple[tuple[str, str], ...] = ()  # (column, value)
    ranges: tuple[tuple[str, Range], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.ranges)

    def chosen(self, column: str) -> tuple[str, ...]:
        """The chosen values of a column."""
        return tuple(value for name, value in self.values if name == column)

    def range(self, column: str) -> Range:
        """The range of a column, perhaps without bounds."""
        return dict(self.ranges).get(column, Range())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have a filter."""
        return tuple(dict.fromkeys([name for name, _ in (*self.values, *self.ranges)]))

    def toggled(self, column: str, value: str) -> Filters:
        """The filters with this value switched on, or off if it was on."""
        pair = (column, value)
        rest = tuple(other for other in self.values if other != pair)
        return replace(self, values=rest if pair in self.values else (*self.values, pair))

    def only(self, *columns: str) -> Filters:
        """The filters of these columns alone."""
        return Filters(
            tuple(pair for pair in self.values if pair[0] in columns),
            tuple(pair for pair in self.ranges if pair[0] in columns),
        )

    def without(self, column: str) -> Filters:
        """The filters without those of this column."""
        return self.only(*(name for name in self.columns if name != column))

    def condition(self) -> str | None:
        """The filters as an expression for `--filter`."""
        parts = [
            f"{written(column)} in ({', '.join(map(written, self.chosen(column)))})"
            for column in dict.fromkeys(name for name, _ in self.values)
        ]
        for column, bounds in self.ranges:
            parts += [f"{written(column)}>={written(bounds.low)}"] if bounds.low else []
            parts += [f"{written(column)}{_up_to(bounds.high)}"] if bounds.high else []
        return " and ".join(parts) or None

    def pairs(self) -> Pairs:
        """The filters as parameters of the address."""
        pairs = [(IS + column, value) for column, value in self.values]
        for column, bounds in self.ranges:
            pairs += [(FROM + column, bounds.low)] if bounds.low else []
            pairs += [(TO + column, bounds.high)] if bounds.high else []
        return pairs


def _up_to(high: str) -> str:
    """A condition that includes all of a day or a month, with its times."""
    if not DATE.fullmatch(high):
        return f"<={written(high)}"
    step = np.timedelta64(1, "D") if high.count("-") > 1 else np.timedelta64(1, "M")
    return f"<{np.datetime64(high) + step}"


def read_filters(given: Given) -> Filters:
    """Read the filters from an address."""
    values = [
        (name.removeprefix(IS), value)
        for name, texts in given.items()
        if name.startswith(IS)
        for value in dict.fromkeys(texts)
    ]
    bounded = dict.fromkeys(
        name.partition(".")[2] for name, texts in given.items() if name.startswith((FROM, TO)) and any(texts)
    )
    ranges = [(column, Range(_bound(given, FROM + column), _bound(given, TO + column))) for column in bounded]
    if len(values) + len(ranges) > MOST_CONDITIONS:
        raise ParameterError("filters", expected=f"at most {MOST_CONDITIONS}", found=len(values) + len(ranges))
    return Filters(tuple(values), tuple((column, bounds) for column, bounds in ranges if bounds != Range()))


def _bound(given: Given, name: str) -> str:
    """A bound as typed, or "" where there is none."""
    text = last(given, name).strip()
    try:
        if DATE.fullmatch(text):
            np.datetime64(text)  # refuses the 31st of February
            return text
        if not text or math.isfinite(float(text)):
            return text
    except ValueError:
        pass
    raise ParameterError(name, expected="a number, or a date such as 2020-03-31", found=text)


NO_FILTERS = Filters()
PLAIN = RankingSettings()


@dataclass(frozen=True)
class View:
    """A search on a page. `wait`: include the re-ranked results at once, for browsers without scripts."""

    q: str = ""
    page: int = 1
    k: int = PAGE_SIZES[0]
    filters: Filters = NO_FILTERS
    ranking: RankingSettings = PLAIN
    wait: bool = False
    sort: str = RELEVANCE

    @property
    def offset(self) -> int:
        """Number of results before this page."""
        return (self.page - 1) * self.k

    def first_page(self, **changes: Any) -> View:
        """The same search with these changes, from the first page and without waiting."""
        return replace(self, **{"page": 1, "wait": False, **changes})

    def pairs(self, usual: RankingSettings) -> Pairs:
        """The view as parameters of the address."""
        pairs = query_pairs(self.q, self.filters) + ranking_pairs(self.ranking, usual)
        pairs += [("sort", self.sort)] if self.sort != RELEVANCE else []
        pairs += [("k", str(self.k))] if self.k != PAGE_SIZES[0] else []
        pairs += [("page", str(self.page))] if self.page > 1 else []
        return [*pairs, ("wait", "1")] if self.wait else pairs


@dataclass(frozen=True)
class SideBySide:
    """One query with two rankings."""

    q: str
    filters: Filters
    left: RankingSettings
    right: RankingSettings
    wait: bool = False

    def pairs(self, usual: tuple[RankingSettings, RankingSettings]) -> Pairs:
        """The view as parameters of the address."""
        pairs = query_pairs(self.q, self.filters)
        pairs += ranking_pairs(self.left, usual[0], LEFT) + ranking_pairs(self.right, usual[1], RIGHT)
        return [*pairs, ("wait", "1")] if self.wait else pairs


def query_pairs(q: str, filters: Filters) -> Pairs:
    """A query and its filters as parameters of the address."""
    return [*([("q", q)] if q else []), *filters.pairs()]


def given_of(query: str) -> Given:
    """Parse a query string."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="replace", max_num_fields=MOST_PAIRS)
    except ValueError as error:
        raise HTTPException(422) from error
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def last(given: Given, name: str) -> str:
    """The last value of that name, or "": a checkbox has its "no" in a hidden field before it."""
    return given.get(name, [""])[-1]


def read_view(given: Given, usual: RankingSettings) -> View:
    """Read a search view from an address."""
    k = _count(given, "k", PAGE_SIZES[0])
    if k not in PAGE_SIZES:
        raise ParameterError("k", expected=" or ".join(map(str, PAGE_SIZES)), found=k)
    page, ranking, sort = _count(given, "page", 1), read_ranking(given, usual), parse_sort(last(given, "sort"))
    if sort is not None and ranking.by != "words":
        raise ParameterError("sort", expected=f"{RELEVANCE} where vectors find documents", found=str(sort))
    shown = RELEVANCE if sort is None else str(sort)
    return View(words_of(given), page, k, read_filters(given), ranking, last(given, "wait") == "1", shown)


def read_side_by_side(given: Given, usual: tuple[RankingSettings, RankingSettings]) -> SideBySide:
    """Read a comparison from an address."""
    left, right = read_ranking(given, usual[0], LEFT), read_ranking(given, usual[1], RIGHT)
    return SideBySide(words_of(given), read_filters(given), left, right, last(given, "wait") == "1")


def words_of(given: Given) -> str:
    """The query text of an address."""
    return last(given, "q").strip()


def address(path: str, pairs: Sequence[Pair]) -> str:
    """A path with its query string."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def is_shortest(query: str, pairs: Pairs) -> bool:
    """Whether a query string contains no more than these pairs, in any order."""
    given = given_of(query)
    return sorted((name, value) for name, values in given.items() for value in values) == sorted(pairs)


def request_values(q: str, filters: Filters, ranking: RankingSettings, **more: Any) -> dict[str, Any]:
    """The values of the REST API's request for the same search."""
    same = ("match", "k1", "b", "idf", "rm3", "rerank", "aggregate", "interpolate")
    values = {"q": q, **more, **{name: getattr(ranking, name) for name in same}}
    values |= {"dense": ranking.by == "vectors", "hybrid": ranking.by == "both", "filter": filters.condition()}
    values |= {"weights": dict(ranking.weights) or None, "passages": ranking.passages or None}
    return values | ({"depth": ranking.depth} if ranking.model else {})


def _count(given: Given, name: str, usual: int) -> int:
    text = last(given, name)
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise ParameterError(name, expected="a number from 1", found=text)
    return int(text)
