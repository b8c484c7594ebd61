"""The base class of measures: immutable, with a `repr` that `parse_measure` reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, ClassVar, dataclass_transform

from rankwell.core.errors import ParameterError
from rankwell.evaluation.judged import Judged, Values


class Effect(Enum):
    """The effect on a measure when unjudged documents of the list turn out to be relevant."""

    RAISES = auto()  # the measure gets better or stays
    BOTH = auto()  # the list gets better, and so does the ideal that it is divided by
    NONE = auto()  # the measure ignores grades
    UNKNOWN = auto()  # the measure treats unjudged documents itself, so it has no bounds


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True, repr=False)
class Measure(ABC):
    """A measure of the quality of rankings.

    A subclass becomes a frozen dataclass whose fields are the measure's parameters; its `repr` is the name that
    `parse_measure` reads, in the grammar of ir-measures. It implements `_per_query`, and stands in the table of
    `rankwell.evaluation.measures`. Calling a measure gives its value for every query, in the order of the judgments.
    """

    name: ClassVar[str]
    at: ClassVar[str] = "cutoff"  # the parameter that is written after the @
    higher_is_better: ClassVar[bool] = True
    effect: ClassVar[Effect] = Effect.RAISES
    scale: ClassVar[tuple[float, float]] = (0.0, 1.0)  # no value lies outside, and no interval of a mean is shown to
    words: ClassVar[Mapping[str, Collection[str]]] = MappingProxyType({})  # parameters that are one of a few words

    judged_only: bool = False

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True, repr=False)(cls)

    def __post_init__(self) -> None:
        for parameter, least in (("cutoff", 1), ("rel", 1), ("documents", 1), ("unjudged", 0)):
            value = getattr(self, parameter, None)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                expected = f"a whole number, at least {least}"
                raise ParameterError(f"{self.name}, {parameter}", expected=expected, found=value)
        for parameter, known in self.words.items():
            if (value := getattr(self, parameter)) not in known:
                expected = " or ".join(map(repr, known))
                raise ParameterError(f"{self.name}, {parameter}", expected=expected, found=value)

    @abstractmethod
    def _per_query(self, judged: Judged) -> Values:
        """The measure's value for every query."""

    def __call__(self, judged: Judged) -> Values:
        """The value for every query; with `judged_only` of the list without its unjudged documents."""
        return self._per_query(judged.condensed if self.judged_only else judged)

    def aggregate(self, values: Values, judged: Judged) -> float:  # noqa: ARG002 -- some measures pool all queries
        """One number for the run: the mean over queries, unless the measure says otherwise."""
        return float(values.mean())

    def caveat(self, judged: Judged) -> str | None:  # noqa: ARG002 -- most measures have none
        """What a reader of this run's value must know, or None."""
        return None

    @property
    def depth(self) -> int | None:
        """The lowest rank that the measure uses; None: the whole list."""
        return getattr(self, "cutoff", None)

    @property
    def has_bounds(self) -> bool:
        """Whether there are bounds of the measure over all possible grades of the unjudged documents."""
        return self.effect is not Effect.UNKNOWN

    @property
    def is_mean(self) -> bool:
        """Whether the run's value is the mean over queries, so that it has an interval and can be tested."""
        return True

    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults, by name."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if default is MISSING or value != default}

    def __repr__(self) -> str:
        given = self.parameters()
        at = given.pop(self.at, None)
        named = ",".join(f"{name}={value!r}" for name, value in sorted(given.items()))
        return self.name + (f"({named})" if named else "") + ("" if at is None else f"@{at}")

    __str__ = __repr__
