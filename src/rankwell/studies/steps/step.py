"""A checked step of a pipeline: its kind and all its settings; and the interface of the kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from rankwell.core import Judgments, ParameterError, Run, Stage
from rankwell.core.parameters import Kind, Parameter, Text, parameters
from rankwell.index import Index
from rankwell.studies.file.lines import Argument
from rankwell.studies.file.values import LineError, unknown

REQUIRED = MISSING  # the default of a parameter that must be given


def setting(name: str, help: str, kind: Kind | None = None, default: Any = None) -> Parameter:
    """A setting of a step that no stage declares."""
    return Parameter(name, default, help, kind or Text())


def settings_of(owner: type[Any], *names: str) -> tuple[Parameter, ...]:
    """The declared parameters of a stage or trainer as settings of a step: all, or those named."""
    declared = parameters(owner)
    return tuple(declared[name] for name in names or declared)


def checked(parameter: Parameter, argument: Argument) -> Any:
    """The argument's value, converted to the parameter's type."""
    value: Any = argument.value
    if hasattr(value, "calls"):
        raise LineError(f"{parameter.name}: expected a value, found the line {value}", argument.place)
    if isinstance(parameter.kind, Text) and isinstance(value, (int, float)) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)  # a model may be called 7
    if isinstance(value, str) and (choices := getattr(parameter.kind, "choices", ())) and value not in choices:
        raise LineError(f"{parameter.name}: {unknown('one of', value, choices)}", argument.place)
    try:
        return parameter.read(value)
    except ParameterError as error:
        raise LineError(str(error), argument.place) from error


def completed(name: str, parameters: tuple[Parameter, ...], settings: Mapping[str, Any], place: int) -> dict[str, Any]:
    """All settings, sorted by name: the given values, and defaults for the others."""
    found = dict(settings)
    for parameter in parameters:
        if parameter.name not in found:
            if parameter.default is REQUIRED:
                about = parameter.help.removesuffix(".").lower()
                raise LineError(f"{name}: expected {parameter.name} ({about}), found nothing", place)
            found[parameter.name] = parameter.default
    return dict(sorted(found.items()))


@dataclass(frozen=True)
class Step:
    """A step with all its settings, defaults included; `beside` are the pipelines given to it."""

    kind: str
    settings: Mapping[str, Any]
    weights: Mapping[str, float] = field(default_factory=dict)
    beside: tuple[Chain, ...] = ()
    place: int = field(default=0, compare=False)

    def __getitem__(self, name: str) -> Any:
        return self.settings[name]

    def configuration(self) -> dict[str, Any]:
        """The step as a dictionary, for records and fingerprints."""
        found: dict[str, Any] = {"step": self.kind, **self.settings}
        if self.weights:
            found["weights"] = dict(self.weights)
        if self.beside:
            found["beside"] = [[step.configuration() for step in chain] for chain in self.beside]
        return found


Chain = tuple[Step, ...]


@dataclass(frozen=True)
class StepContext:
    """What stages need: an index with its judgments, folders, and trained models."""

    index: Index
    judgments: Judgments
    source: Path | None = None  # the collection's own folder
    scores: Path | bool = False  # folder of the re-rankers' score cache
    threads: int = 1
    models: Mapping[str, str] = field(default_factory=dict)  # models trained by the study: name -> folder

    def model(self, name: str) -> str:
        """The folder of a trained model, or the name unchanged."""
        return self.models.get(name, name)


@dataclass(frozen=True)
class ModelUse:
    """A model that a step needs, its kind (cross-encoder or bi-encoder), and its precision where one is set."""

    name: str
    role: str
    precision: str | None = None


class StepKind(ABC):
    """One kind of step. Kinds are objects in a table (`rankwell.studies.steps.STEPS`)."""

    name: ClassVar[str]
    about: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    old_names: ClassVar[Mapping[str, str]] = MappingProxyType({})  # earlier names of settings, still accepted
    main: ClassVar[str | None] = None  # the parameter of a value without a name
    begins: ClassVar[bool] = False  # whether it can be a first stage
    follows: ClassVar[bool] = False  # whether it can follow another step
    takes_weights: ClassVar[bool] = False  # whether unknown names are fields with weights

    def check(self, step: Step) -> None:  # noqa: B027 -- most kinds need no further check
        """Raise a RankwellError for settings that do not go together."""

    def fields(self, step: Step) -> tuple[str, ...]:
        """The document fields that the step names."""
        return tuple(step.weights)

    def model(self, step: Step) -> ModelUse | None:  # noqa: ARG002 -- for kinds with a model
        """The model that the step needs, or None."""
        return None

    @abstractmethod
    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:
        """Create the stage; `before` are the earlier steps of the line."""


class JoiningKind(StepKind):
    """A kind whose steps contain pipelines, and combine their runs into one."""

    @abstractmethod
    def combined(self, step: Step, first: Run, beside: tuple[Run, ...]) -> Run:
        """Combine the run before the step with those of its own pipelines."""
