"""Views: searches and comparisons as the address of a page describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from rankwell.apps.search.page.filters import Filters, read_filters
from rankwell.apps.search.page.ranking import Given, Pairs, RankingSettings, ranking_pairs, read_ranking
from rankwell.core import ParameterError

PAGE_SIZES = (10, 20, 50)
LEFT, RIGHT = "a.", "b."
MOST_PAIRS = 300
MOST_DIGITS = 7
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

    @property
    def offset(self) -> int:
        """Number of results before this page."""
        return (self.page - 1) * self.k

    def narrowed(self, filters: Filters) -> View:
        """The same search with other filters, from the first page."""
        return replace(self, filters=filters, page=1, wait=False)

    def pairs(self, usual: RankingSettings) -> Pairs:
        """The view as parameters of the address."""
        pairs = [("q", self.q)] if self.q else []
        pairs += self.filters.pairs() + ranking_pairs(self.ranking, usual)
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
        pairs = [("q", self.q)] if self.q else []
        pairs += self.filters.pairs()
        pairs += ranking_pairs(self.left, usual[0], LEFT) + ranking_pairs(self.right, usual[1], RIGHT)
        return [*pairs, ("wait", "1")] if self.wait else pairs


def given_of(query: str) -> Given:
    """Parse a query string."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="replace", max_num_fields=MOST_PAIRS)
    except ValueError as error:
        raise ParameterError("address", expected=f"at most {MOST_PAIRS} parts", found="more") from error
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def read_view(given: Given, usual: RankingSettings) -> View:
    """Read a search view from an address."""
    k = _count(given, "k", PAGE_SIZES[0])
    if k not in PAGE_SIZES:
        raise ParameterError("k", expected=" or ".join(map(str, PAGE_SIZES)), found=k)
    return View(
        words_of(given), _count(given, "page", 1), k, read_filters(given), read_ranking(given, usual), _waits(given)
    )


def read_side_by_side(given: Given, usual: tuple[RankingSettings, RankingSettings]) -> SideBySide:
    """Read a comparison from an address."""
    left, right = read_ranking(given, usual[0], LEFT), read_ranking(given, usual[1], RIGHT)
    return SideBySide(words_of(given), read_filters(given), left, right, _waits(given))


def words_of(given: Given) -> str:
    """The query text of an address."""
    return given.get("q", [""])[-1].strip()


def address(path: str, pairs: Pairs) -> str:
    """A path with its query string."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def is_shortest(query: str, pairs: Pairs) -> bool:
    """Whether a query string contains no more than these pairs, in any order."""
    given = given_of(query)
    return sorted((name, value) for name, values in given.items() for value in values) == sorted(pairs)


def request_values(q: str, filters: Filters, ranking: RankingSettings, **more: Any) -> dict[str, Any]:
    """The values of the REST API's request for the same search."""
    values: dict[str, Any] = {"q": q, **more, "match": ranking.match, "k1": ranking.k1, "b": ranking.b}
    values |= {"idf": ranking.idf, "rm3": ranking.rm3, "rerank": ranking.rerank, "aggregate": ranking.aggregate}
    values |= {"depth": ranking.depth} if ranking.model else {}
    values |= {"dense": True} if ranking.by == "vectors" else {}
    values |= {"hybrid": True} if ranking.by == "both" else {}
    values |= {"weights": dict(ranking.weights)} if ranking.weights else {}
    values |= {"passages": ranking.passages} if ranking.passages else {}
    values |= {"interpolate": ranking.interpolate} if ranking.interpolate is not None else {}
    condition = filters.condition()
    return values | ({"filter": condition} if condition else {})


def _count(given: Given, name: str, usual: int) -> int:
    text = given.get(name, [""])[-1]
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise ParameterError(name, expected="a number from 1", found=text)
    return int(text)


def _waits(given: Given) -> bool:
    values: Sequence[str] = given.get("wait", ())
    return bool(values) and values[-1] == "1"
