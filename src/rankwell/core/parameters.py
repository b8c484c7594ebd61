"""Parameters, declared once, on the field of a stage or trainer.

    k1: float = param(1.2, "Term-frequency saturation.", Number(0))

Commands, REST, the search page, study lines, grids and the reference are made from the declaration: `parameters(BM25)`
lists them, `like(BM25, "k1")` gives another class the same field, and `check_parameters` holds their bounds.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, make_dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from rankwell.core.errors import ParameterError, Phrase

INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
MOST_NAMES = 50
DECLARED = "parameter"  # the key in a field's metadata


@dataclass(frozen=True)
class Kind(ABC):
    """The values that a parameter may have."""

    @property
    @abstractmethod
    def type(self) -> type[Any]:
        """The Python type, for options of commands."""

    @abstractmethod
    def read(self, name: str, value: Any) -> Any:
        """Convert a value that came as text or JSON, and check it."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the values."""


@dataclass(frozen=True)
class Text(Kind):
    """Text, or one of a few words."""

    choices: tuple[str, ...] = ()

    type = str

    def read(self, name: str, value: Any) -> str:
        """Return the text."""
        if not isinstance(value, str):
            raise ParameterError(name, expected="text", found=value)
        if self.choices and value not in self.choices:
            raise ParameterError(name, expected="one of " + ", ".join(self.choices), found=value)
        return value

    def schema(self) -> dict[str, Any]:
        """A JSON string, with its choices."""
        return {"type": "string", **({"enum": list(self.choices)} if self.choices else {})}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number within bounds."""

    low: int = 0
    high: int | None = None

    type = int

    def read(self, name: str, value: Any) -> int:
        """Return the integer; digits as text are accepted."""
        number = int(value) if isinstance(value, str) and INTEGER.fullmatch(value) else value
        highest = math.inf if self.high is None else self.high
        if not isinstance(number, int) or isinstance(number, bool) or not self.low <= number <= highest:
            bounds = f"from {self.low}" if self.high is None else f"from {self.low} to {self.high}"
            raise ParameterError(name, expected=f"a whole number {bounds}", found=value)
        return number

    def schema(self) -> dict[str, Any]:
        """A JSON integer with its bounds."""
        return {"type": "integer", "minimum": self.low, **({} if self.high is None else {"maximum": self.high})}


@dataclass(frozen=True)
class Number(Kind):
    """A finite number within bounds; `above` and `below` are exclusive."""

    low: float = 0.0
    high: float = 1e9
    above: bool = False
    below: bool = False

    type = float

    def read(self, name: str, value: Any) -> float:
        """Return the number; text is accepted. NaN is outside all bounds."""
        number = math.nan
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            with suppress(ValueError, OverflowError):
                number = float(value)
        outside = (self.above and number == self.low) or (self.below and number == self.high)
        if outside or not self.low <= number <= self.high:
            raise ParameterError(name, expected=f"a number {self._bounds()}", found=value)
        return number

    def _bounds(self) -> str:
        if not (self.above or self.below):
            return f"from {self.low:g} to {self.high:g}"
        low = f"{'above' if self.above else 'from'} {self.low:g}"
        if self.high == math.inf:
            return low
        if self.below:
            return f"{low} {'and' if self.above else 'to'} below {self.high:g}"
        return f"{low}, up to {self.high:g}"

    def schema(self) -> dict[str, Any]:
        """A JSON number with its bounds."""
        low, high = ("exclusiveMinimum" if self.above else "minimum"), ("exclusiveMaximum" if self.below else "maximum")
        return {"type": "number", low: self.low, **({} if self.high == math.inf else {high: self.high})}


POSITIVE = Number(0, math.inf, above=True, below=True)
FROM_ZERO = Number(0, math.inf, below=True)


@dataclass(frozen=True)
class Flag(Kind):
    """Yes or no."""

    type = bool

    def read(self, name: str, value: Any) -> bool:
        """Return the truth value; words such as "yes" are accepted."""
        truth = TRUTH.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(truth, bool):
            raise ParameterError(name, expected="true or false", found=value)
        return truth

    def schema(self) -> dict[str, Any]:
        """A JSON boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Names(Kind):
    """Several names: `year,source`, or a list in JSON."""

    type = str

    def read(self, name: str, value: Any) -> tuple[str, ...]:
        """Return the names, each once."""
        parts: Any = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
            raise ParameterError(name, expected="names, with commas between them or as a list", found=value)
        if len(parts) > MOST_NAMES:
            raise ParameterError(name, expected=f"at most {MOST_NAMES} names", found=f"{len(parts)} names")
        return tuple(dict.fromkeys(filter(None, parts)))

    def schema(self) -> dict[str, Any]:
        """A JSON list, or text."""
        names = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_NAMES}
        return {"anyOf": [{"type": "string"}, names]}


@dataclass(frozen=True)
class Weights(Kind):
    """A number for each field: `title=0.25,abstract=0.6`, or an object in JSON. Returned as text."""

    type = str

    def read(self, name: str, value: Any) -> str:
        """Return the text form."""
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
        """A JSON object, or text."""
        numbers = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "minProperties": 1}
        return {"anyOf": [{"type": "string"}, numbers]}


@dataclass(frozen=True)
class Several(Kind):
    """Several values of a kind to try; numbers may stand in one text, with commas between them. None: not tried."""

    kind: Kind

    type = list[str]

    def read(self, name: str, value: Any) -> list[Any]:
        """Return the values, each checked."""
        numbers = isinstance(self.kind, Whole | Number)
        parts = [part for text in value for part in (text.split(",") if numbers else [text])]
        return [self.kind.read(name, part.strip()) for part in parts]

    def schema(self) -> dict[str, Any]:
        """A JSON list."""
        return {"type": "array", "items": self.kind.schema()}


@dataclass(frozen=True)
class Parameter:
    """A declared parameter, as used by commands, REST, pages and studies."""

    name: str
    default: Any
    help: str
    kind: Kind
    example: Any = None
    flags: tuple[str, ...] = ()
    optional: bool = False

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is MISSING

    @property
    def may_be_none(self) -> bool:
        """Whether None is a valid value."""
        return self.default is None or self.optional

    def read(self, value: Any) -> Any:
        """Convert and check an external value; None where that is the default or allowed."""
        if value is None and self.may_be_none:
            return None
        return self.kind.read(self.name, value.item() if hasattr(value, "item") else value)  # numpy's numbers too


def param(
    default: Any,
    help: str,
    kind: Kind,
    *,
    example: Any = None,
    flags: tuple[str, ...] = (),
    optional: bool = False,
    **of_field: Any,
) -> Any:
    """A dataclass field with its declaration; `of_field` goes to `dataclasses.field` (`repr`, `compare`).

    `optional`: None is also valid, though it is not the default.
    """
    declared = Parameter("", default, help, kind, example, flags, optional)
    given = {} if default is MISSING else {"default": default}
    return field(**given, metadata={DECLARED: declared}, **of_field)


def like(owner: type[Any], name: str, *, default: Any = ..., help: str | None = None, **others: Any) -> Any:
    """Repeat the field of another class: the same kind and help, and the same default unless one is given."""
    known = parameters(owner)[name]
    others = {"example": known.example, "flags": known.flags, "optional": known.may_be_none, **others}
    return param(known.default if default is ... else default, help or known.help, known.kind, **others)


_KNOWN: dict[type[Any], Mapping[str, Parameter]] = {}


def parameters(owner: type[Any]) -> Mapping[str, Parameter]:
    """The declared parameters of a dataclass by name, in the order of its fields."""
    if owner not in _KNOWN:
        declared = {part.name: part.metadata[DECLARED] for part in fields(owner) if DECLARED in part.metadata}
        _KNOWN[owner] = MappingProxyType({name: replace(known, name=name) for name, known in declared.items()})
    return _KNOWN[owner]


def check_parameters(value: Any, *, but: Sequence[str] = ()) -> None:
    """Raise a ParameterError for a field outside its bounds; None is valid where it is the default."""
    for name, declared in parameters(type(value)).items():
        if name not in but:
            given = getattr(value, name)
            if isinstance(given, str) and declared.kind.type in {int, float}:  # a command's text is read before
                raise ParameterError(name, expected="a number", found=Phrase(f"the text {given!r}"))
            declared.read(given)


def chosen(value: Any, owner: type[Any]) -> dict[str, Any]:
    """An object's values for the declared parameters of another class, by name."""
    return {name: getattr(value, name) for name in parameters(owner) if hasattr(value, name)}


def grid_of(owner: type[Any]) -> type[Any]:
    """A dataclass with the declared parameters of another, each with several values to try; flags stay flags."""
    parts = []
    for declared in parameters(owner).values():
        flag = isinstance(declared.kind, Flag)
        kind, default = (declared.kind, declared.default) if flag else (Several(declared.kind), None)
        about = param(default, declared.help, kind, example=declared.example, flags=declared.flags)
        parts.append((declared.name, Any, about))
    return make_dataclass(f"{owner.__name__}Grid", parts, frozen=True)


def known_settings(owner: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given settings, all of which the class must know; an unknown name gets the one that is most like it."""
    names = [known.name for known in fields(owner)]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            expected = f"{near[0]}" if near else f"one of {', '.join(names)}"
            raise ParameterError("setting", expected=expected, found=name)
    return dict(given)
