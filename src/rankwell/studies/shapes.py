"""The shapes that values of a study file have: each checks a value, and describes itself for editors (JSON Schema)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from rankwell.core import RankwellError
from rankwell.core.errors import shown
from rankwell.studies.places import Path
from rankwell.studies.problems import unknown


class ShapeError(RankwellError):
    """A value that has not the shape it should have; `path` leads to it."""

    def __init__(self, message: str, path: Path) -> None:
        self.message, self.path = message, path
        super().__init__(message)


class Shape(ABC):
    """What a value must look like."""

    @abstractmethod
    def checked(self, value: Any, path: Path) -> Any:
        """The value as the study has it; a `ShapeError` where it is something else."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""


@dataclass(frozen=True)
class Plain(Shape):
    """A value of one of JSON's plain types."""

    type: type[Any]
    called: str
    json: str
    choices: tuple[str, ...] = ()
    least: float | None = None

    def checked(self, value: Any, path: Path) -> Any:
        """The value itself; whole numbers will do for others."""
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            raise ShapeError(f"expected {self.called}, found {shown(value)}", path)
        if self.choices and value not in self.choices:
            raise ShapeError(unknown("one of", value, self.choices), path)
        if self.least is not None and not value >= self.least:
            raise ShapeError(f"expected {self.called} from {self.least:g}, found {shown(value)}", path)
        return value

    def schema(self) -> dict[str, Any]:
        """Type, choices and least value."""
        found: dict[str, Any] = {"type": self.json}
        if self.choices:
            found["enum"] = list(self.choices)
        return found if self.least is None else found | {"minimum": self.least}


TEXT = Plain(str, "text", "string")
FLAG = Plain(bool, "true or false", "boolean")
NUMBER = Plain(float, "a number", "number")
COUNT = Plain(int, "a whole number", "integer", least=1)
WHOLE = Plain(int, "a whole number", "integer", least=0)


def one_of(*choices: str) -> Plain:
    """One of these words."""
    return Plain(str, "text", "string", choices)


@dataclass(frozen=True)
class Scalar(Shape):
    """A text or a number, as a variable of a study takes it."""

    def checked(self, value: Any, path: Path) -> str:
        """As text, because it will stand in a line."""
        if type(value) not in (str, int, float):
            raise ShapeError(f"expected a text or a number, found {shown(value)}", path)
        return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)

    def schema(self) -> dict[str, Any]:
        """Either."""
        return {"type": ["string", "number"]}


@dataclass(frozen=True)
class ListOf(Shape):
    """Several values of one shape."""

    shape: Shape

    def checked(self, value: Any, path: Path) -> tuple[Any, ...]:
        """Each of them."""
        if not isinstance(value, list):
            raise ShapeError(f"expected a list in [ ], found {shown(value)}", path)
        return tuple(self.shape.checked(part, (*path, place)) for place, part in enumerate(value))

    def schema(self) -> dict[str, Any]:
        """An array."""
        return {"type": "array", "items": self.shape.schema()}


@dataclass(frozen=True)
class TableOf(Shape):
    """Names of the user's own, each with a value of one shape."""

    shape: Shape

    def checked(self, value: Any, path: Path) -> dict[str, Any]:
        """Each of them."""
        if not isinstance(value, dict):
            raise ShapeError(f"expected a table of names with values, found {shown(value)}", path)
        return {name: self.shape.checked(part, (*path, name)) for name, part in value.items()}

    def schema(self) -> dict[str, Any]:
        """An object with any keys."""
        return {"type": "object", "additionalProperties": self.shape.schema()}


@dataclass(frozen=True)
class Record(Shape):
    """A table whose keys are the fields of a dataclass, made with `key`."""

    kind: type[Any]

    def checked(self, value: Any, path: Path) -> Any:
        """The record; a key that it does not have is refused, and so is one that is missing."""
        if not isinstance(value, dict):
            raise ShapeError(f"expected a table, found {shown(value)}", path)
        known = {part.name: part for part in fields(self.kind)}
        for name in value:
            if name not in known:
                raise ShapeError(unknown("a key", name, known), (*path, name))
        for name, part in known.items():
            if name not in value and part.default is MISSING and part.default_factory is MISSING:
                raise ShapeError(f'expected a key "{name}" ({part.metadata["about"]}), found none', path)
        return self.kind(
            **{name: known[name].metadata["shape"].checked(part, (*path, name)) for name, part in value.items()}
        )

    def schema(self) -> dict[str, Any]:
        """An object with these keys and no others."""
        properties = {
            part.name: {**part.metadata["shape"].schema(), "description": part.metadata["about"]}
            for part in fields(self.kind)
        }
        needed = [p.name for p in fields(self.kind) if p.default is MISSING and p.default_factory is MISSING]
        found = {"type": "object", "properties": properties, "additionalProperties": False}
        return found | ({"required": needed} if needed else {})


def key(shape: Shape, about: str, default: Any = MISSING) -> Any:
    """A field of a record: its shape, what it is for, and its value where it is left out."""
    metadata: Mapping[str, Any] = {"shape": shape, "about": about}
    if isinstance(default, (dict, list)):
        factory: Callable[[], Any] = default.copy
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)
