"""Ranking settings of a page; its address holds only those that differ from the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwell.core.parameters import Number, Parameter, Text, like, param, parameters
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.reranking.reranker import DEPTH
from rankwell.pipelines import RankerOptions, RerankOptions

Pairs = list[tuple[str, str]]
Given = Mapping[str, Sequence[str]]  # the parameters of an address: all values by name

WEIGHT = "weight."
NO_MODEL = "none"
BY = ("words", "vectors", "both")
MATCHES = ("or", "and", "expr")


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
    found: dict[str, Any] = {}
    for name, setting in parameters(RankingSettings).items():
        text = _last(given, prefix + name)
        found[name] = getattr(usual, name) if text is None else _read(setting, text.strip(), getattr(usual, name))
    start = prefix + WEIGHT
    weights = {name.removeprefix(start): _last(given, name) or "" for name in given if name.startswith(start)}
    kept = tuple(
        sorted((name, Number().read(f"{WEIGHT}{name}", text)) for name, text in weights.items() if text.strip())
    )
    return RankingSettings(**found, weights=kept or usual.weights)


def ranking_pairs(ranking: RankingSettings, usual: RankingSettings, prefix: str = "") -> Pairs:
    """The settings as parameters of the address: only those that differ from the defaults."""
    pairs = [
        (prefix + name, written(getattr(ranking, name)))
        for name in parameters(RankingSettings)
        if getattr(ranking, name) != getattr(usual, name)
    ]
    if ranking.weights != usual.weights:
        pairs += [(f"{prefix}{WEIGHT}{name}", written(number)) for name, number in ranking.weights]
    return pairs


def written(value: Any) -> str:
    """A value as text, as in an address."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _last(given: Given, name: str) -> str | None:
    """The last value of that name: a checkbox has its "no" in a hidden field before it."""
    values = given.get(name)
    return values[-1] if values else None


def _read(setting: Parameter, text: str, usual: Any) -> Any:
    """A setting from its form field. An empty number means the default; an empty interpolation weight means none."""
    if text or (isinstance(setting.kind, Text) and not setting.kind.choices):
        return (text or NO_MODEL) if setting.name == "rerank" else setting.read(text)
    return setting.read(None) if setting.default is None else usual
