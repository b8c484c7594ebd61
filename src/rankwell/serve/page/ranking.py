"""How a page ranks: settings that stand in its address only where they differ from the usual."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from rankwell.core import ParameterError

Pairs = list[tuple[str, str]]
Given = Mapping[str, Sequence[str]]  # what an address says: every value of every name

WEIGHT = "weight."
NO_MODEL = "none"
BY = ("words", "vectors", "both")
MATCHES = ("or", "and", "expr")
ON = ("1", "on", "yes", "true")


@dataclass(frozen=True)
class Ranking:
    """The settings of one pipeline, with the names that they have in an address and in the REST API.

    `by` says whether words, vectors or both find the documents; `weights` are numbers by field, none for all fields as
    one text; `rerank` is a model's name or "none".
    """

    by: str = "words"
    match: str = "or"
    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    rm3: bool = False
    rerank: str = NO_MODEL
    depth: int = 100
    passages: str = ""
    aggregate: str = "mean"
    interpolate: float | None = None
    weights: tuple[tuple[str, float], ...] = ()

    @property
    def model(self) -> str | None:
        """The model that re-ranks, if one does."""
        return None if self.rerank == NO_MODEL else self.rerank

    @property
    def name(self) -> str:
        """What to call it: BM25, RM3 + Vectors, BM25 + ms-marco-minilm-l12."""
        words = "RM3" if self.rm3 else "BM25"
        first = {"words": words, "vectors": "Vectors", "both": f"{words} + Vectors"}[self.by]
        return first if self.model is None else f"{first} + {self.model}"


def read_ranking(given: Given, usual: Ranking, prefix: str = "") -> Ranking:
    """The settings that an address asks for; `prefix` tells those of two pipelines on a page apart."""
    found: dict[str, Any] = {}
    for name, read in READ.items():
        text = _last(given, prefix + name)
        found[name] = getattr(usual, name) if text is None else read(name, text, getattr(usual, name))
    start = prefix + WEIGHT
    weights = {name.removeprefix(start): _last(given, name) or "" for name in given if name.startswith(start)}
    kept = tuple(sorted((name, _number(f"{WEIGHT}{name}", text)) for name, text in weights.items() if text.strip()))
    return Ranking(**found, weights=kept or usual.weights)


def ranking_pairs(ranking: Ranking, usual: Ranking, prefix: str = "") -> Pairs:
    """What an address says about a ranking: only what is not usual."""
    pairs = [
        (prefix + name, written(getattr(ranking, name)))
        for name in READ
        if getattr(ranking, name) != getattr(usual, name)
    ]
    if ranking.weights != usual.weights:
        pairs += [(f"{prefix}{WEIGHT}{name}", written(number)) for name, number in ranking.weights]
    return pairs


def written(value: Any) -> str:
    """A value as an address has it and a person would write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _last(given: Given, name: str) -> str | None:
    """The last one counts: a checkbox has its "no" in a hidden field before it."""
    values = given.get(name)
    return values[-1] if values else None


def _number(name: str, text: str, usual: float | None = None) -> float:
    if not text.strip() and usual is not None:
        return usual
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(name, expected="a number", found=text)
    return number


def _whole(name: str, text: str, usual: int) -> int:
    number = _number(name, text, usual)
    if not float(number).is_integer():
        raise ParameterError(name, expected="a whole number", found=text)
    return int(number)


def _number_or_none(name: str, text: str, _: float | None) -> float | None:
    return _number(name, text) if text.strip() else None


def _yes(_: str, text: str, __: bool) -> bool:
    return text.strip().lower() in ON


def _text(_: str, text: str, __: str) -> str:
    return text.strip()


def _one_of(choices: Iterable[str]) -> Callable[[str, str, str], str]:
    known = tuple(choices)

    def read(name: str, text: str, _: str) -> str:
        if text not in known:
            raise ParameterError(name, expected=" or ".join(known), found=text)
        return text

    return read


READ: Mapping[str, Callable[[str, str, Any], Any]] = MappingProxyType(
    {
        "by": _one_of(BY),
        "match": _one_of(MATCHES),
        "k1": _number,
        "b": _number,
        "idf": _text,
        "rm3": _yes,
        "rerank": lambda name, text, usual: _text(name, text, usual) or NO_MODEL,
        "depth": _whole,
        "passages": _text,
        "aggregate": _text,
        "interpolate": _number_or_none,
    }
)
"""How each setting is read; `weights`, of which there is one a field, are read beside them."""

assert {field.name for field in fields(Ranking)} == {*READ, "weights"}  # noqa: S101 -- a table that must be complete
