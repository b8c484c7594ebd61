"""A step of a pipeline, checked: what kind it is and every setting it has; and what a kind must know about itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rankwell.core import Judgments, Run, Stage
from rankwell.core.errors import shown
from rankwell.index import Index
from rankwell.studies.lines import Argument
from rankwell.studies.problems import LineError, unknown

REQUIRED = object()  # for a parameter that has no default
KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Parameter:
    """A setting of a step; `choices` where only some values will do."""

    name: str
    about: str
    type: type[str | int | float | bool] = str
    default: Any = None
    choices: tuple[str, ...] = ()

    def checked(self, argument: Argument) -> Any:
        """The value as this parameter has it."""
        value: Any = argument.value
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if self.type is str and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = f"{value:g}" if isinstance(value, float) else str(value)  # a model may be called 7
        wrong = type(value) is not self.type or (isinstance(value, float) and not math.isfinite(value))
        if wrong:
            found = shown(value) if not hasattr(value, "calls") else f"the line {value}"
            raise LineError(f"{self.name}: expected {KINDS[self.type]}, found {found}", argument.place)
        if self.choices and value not in self.choices:
            raise LineError(f"{self.name}: {unknown('one of', value, self.choices)}", argument.place)
        return value


def completed(name: str, parameters: tuple[Parameter, ...], settings: Mapping[str, Any], place: int) -> dict[str, Any]:
    """All settings in order of their names: those that were given, and the usual values of the others."""
    found = dict(settings)
    for parameter in parameters:
        if parameter.name not in found:
            if parameter.default is REQUIRED:
                raise LineError(f"{name}: expected {parameter.name} ({parameter.about}), found nothing", place)
            found[parameter.name] = parameter.default
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Step:
    """A step with all its settings, those that were left out too; `beside` are the lines that it was given."""

    kind: str
    settings: Mapping[str, Any]
    weights: Mapping[str, float] = field(default_factory=dict)
    beside: tuple[Chain, ...] = ()
    place: int = field(default=0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def configuration(self) -> dict[str, Any]:
        """In plain words, for records and fingerprints."""
        found: dict[str, Any] = {"step": self.kind, **self.settings}
        if self.weights:
            found["weights"] = dict(self.weights)
        if self.beside:
            found["beside"] = [[step.configuration() for step in chain] for chain in self.beside]
        return found


Chain = tuple[Step, ...]


@dataclass(frozen=True)
class Bench:
    """Where a step works: an index with its judgments, and what else a stage may ask for."""

    index: Index
    judgments: Judgments
    source: Path | None = None  # the collection's own folder
    scores: Path | bool = False  # where re-rankers keep scores
    threads: int = 1
    models: Mapping[str, str] = field(default_factory=dict)  # models that the study trained: name -> folder

    def model(self, name: str) -> str:
        """The folder of a trained model, or the name as it is."""
        return self.models.get(name, name)


@dataclass(frozen=True)
class ModelUse:
    """A model that a step needs, and as what: cross-encoder or bi-encoder; at a precision where one is asked for."""

    name: str
    role: str
    precision: str | None = None


class StepKind(ABC):
    """One kind of step. Kinds are objects in a table (`rankwell.studies.steps.STEPS`)."""

    name: ClassVar[str]
    about: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    main: ClassVar[str | None] = None  # the parameter that a value without a name is for
    begins: ClassVar[bool] = False  # whether it can stand first, with nothing but queries
    follows: ClassVar[bool] = False  # whether it can stand behind another step
    takes_weights: ClassVar[bool] = False  # whether unknown names are fields with weights

    def check(self, step: Step) -> None:  # noqa: B027 -- most kinds are content with checked parameters
        """Raise a RankwellError for settings that do not go together."""

    def fields(self, step: Step) -> tuple[str, ...]:
        """The fields of documents that the step names."""
        return tuple(step.weights)

    def model(self, step: Step) -> ModelUse | None:  # noqa: ARG002 -- for those that have one
        """The model that it needs."""
        return None

    @abstractmethod
    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:
        """The stage that does it; `before` are the steps of the line up to here."""


class JoiningKind(StepKind):
    """A kind whose steps have lines of their own, and make one run of what these give."""

    @abstractmethod
    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:
        """One run of the run before the step and those of its own lines."""
