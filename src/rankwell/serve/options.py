"""Options of a search as a request spells them: in a query string all is text, in JSON there are types.

Each field of `SearchRequest` carries its `Option`. It reads the value, refuses what does not fit, and describes itself
for OpenAPI, so that the description and the behaviour are one thing.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankwell.core import ParameterError

WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
MOST_NAMES = 50


@dataclass(frozen=True)
class Option(ABC):
    """What is common to all: a sentence, and an example."""

    about: str
    example: Any = None

    @abstractmethod
    def read(self, name: str, value: Any) -> Any:
        """The value of a request, checked."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The type for OpenAPI."""


@dataclass(frozen=True)
class Text(Option):
    """Text, perhaps one of a few."""

    choices: tuple[str, ...] = ()

    def read(self, name: str, value: Any) -> str:
        """As it is."""
        if not isinstance(value, str):
            raise ParameterError(name, expected="text", found=value)
        if self.choices and value not in self.choices:
            raise ParameterError(name, expected="one of " + ", ".join(self.choices), found=value)
        return value

    def schema(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", **({"enum": list(self.choices)} if self.choices else {})}


@dataclass(frozen=True)
class Whole(Option):
    """A whole number."""

    low: int = 0
    high: int | None = None

    def read(self, name: str, value: Any) -> int:
        """Within the bounds."""
        number = value
        if isinstance(value, str) and WHOLE.fullmatch(value):
            number = int(value)
        if not isinstance(number, int) or isinstance(number, bool) or number < self.low:
            raise ParameterError(name, expected=f"a whole number from {self.low}", found=value)
        if self.high is not None and number > self.high:
            raise ParameterError(name, expected=f"a whole number from {self.low} to {self.high}", found=value)
        return number

    def schema(self) -> dict[str, Any]:
        """An integer."""
        return {"type": "integer", "minimum": self.low, **({} if self.high is None else {"maximum": self.high})}


@dataclass(frozen=True)
class Number(Option):
    """A finite number."""

    low: float = 0.0
    high: float = 1e9

    def read(self, name: str, value: Any) -> float:
        """Within the bounds; NaN is in none."""
        number = math.nan
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except (ValueError, OverflowError):
                number = math.nan
        if not self.low <= number <= self.high:
            raise ParameterError(name, expected=f"a number from {self.low:g} to {self.high:g}", found=value)
        return number

    def schema(self) -> dict[str, Any]:
        """A number."""
        return {"type": "number", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class Flag(Option):
    """Yes or no."""

    def read(self, name: str, value: Any) -> bool:
        """A word for it, or a truth value of JSON."""
        found = TRUTH.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(found, bool):
            raise ParameterError(name, expected="true or false", found=value)
        return found

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Names(Option):
    """Several names: `year,source`, or a list in JSON."""

    def read(self, name: str, value: Any) -> tuple[str, ...]:
        """Each once."""
        parts: Any = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
            raise ParameterError(name, expected="names, with commas between them or as a list", found=value)
        if len(parts) > MOST_NAMES:
            raise ParameterError(name, expected=f"at most {MOST_NAMES} names", found=f"{len(parts)} names")
        return tuple(dict.fromkeys(filter(None, parts)))

    def schema(self) -> dict[str, Any]:
        """A list in JSON, or text."""
        names = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_NAMES}
        return {"anyOf": [{"type": "string"}, names]}


@dataclass(frozen=True)
class Weights(Option):
    """A number for each field: `title=0.25,abstract=0.6`, or an object in JSON. Kept as text, as the command has it."""

    def read(self, name: str, value: Any) -> str:
        """As text."""
        if isinstance(value, str):
            return value
        expected = "fields with numbers, as title=0.25,abstract=0.6 or as an object"
        if not isinstance(value, Mapping) or not value:
            raise ParameterError(name, expected=expected, found=value)
        for key, weight in value.items():
            if set("=,") & set(key) or isinstance(weight, bool) or not isinstance(weight, int | float):
                raise ParameterError(name, expected=expected, found={key: weight})
        return ",".join(f"{key}={weight!r}" for key, weight in value.items())

    def schema(self) -> dict[str, Any]:
        """An object in JSON, or text."""
        numbers = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "minProperties": 1}
        return {"anyOf": [{"type": "string"}, numbers]}


def option(default: Any, how: Option) -> Any:
    """A field of a request with its option."""
    return field(default=default, metadata={"option": how})
