"""A step of a line with all its settings, the kinds of steps, and what stages are made with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rankwell.core import Judgments, ParameterError, Run, Stage, Template
from rankwell.core.parameters import Kind, Parameter, Text, parameters
from rankwell.index import Index
from rankwell.studies.file.errors import LineError, unknown
from rankwell.studies.file.pipeline_line import Argument, PipelineLine

log = logging.getLogger(__name__)

REQUIRED = MISSING  # the default of a parameter that must be given


@dataclass(frozen=True)
class LineKind:
    """A kind of step in a line."""

    name: str
    about: str
    parameters: Mapping[str, Parameter]
    main: tuple[str, ...] = ()  # the parameters of values without a name
    old_names: Mapping[str, str] = field(default_factory=dict)  # earlier names of settings, still accepted

    def read(
        self, arguments: Iterable[Argument], place: int, take: Callable[[str, Argument], bool] | None = None
    ) -> dict[str, Any]:
        """All settings, sorted by name: the arguments, and defaults for the others.

        `take` may take an argument whose name is no setting.
        """
        settings: dict[str, Any] = {}
        unnamed = iter(self.main)
        for argument in arguments:
            name = argument.name or next(unnamed, None)
            if name is not None and name in self.old_names:
                log.warning("%s: %s is called %s now", self.name, name, self.old_names[name])
                name = self.old_names[name]
            if name is None:
                known = ", ".join(self.parameters) or "there are none"
                expected = f"expected name=value ({known}), found a value without a name"
                raise LineError(f"{self.name}: {expected}", argument.place)
            if name in settings:
                raise LineError(f"{self.name}: expected {name} once, found it twice", argument.place)
            if name in self.parameters:
                settings[name] = checked(self.parameters[name], argument)
            elif take is None or not take(name, argument):
                raise LineError(f"{self.name}: {unknown('a setting', name, self.parameters)}", argument.place)
        for name, parameter in self.parameters.items():
            if name not in settings and parameter.required:
                about = parameter.help.removesuffix(".").lower()
                raise LineError(f"{self.name}: expected {name} ({about}), found nothing", place)
            settings.setdefault(name, parameter.default)
        return dict(sorted(settings.items()))


def setting(name: str, help: str, kind: Kind | None = None, default: Any = None) -> Parameter:
    """A setting of a step that no stage declares."""
    return Parameter(name, default, help, kind or Text())


def by_name(*groups: Parameter | Iterable[Parameter]) -> Mapping[str, Parameter]:
    """Parameters by their names."""
    several = (group if isinstance(group, Iterable) else [group] for group in groups)
    return MappingProxyType({parameter.name: parameter for group in several for parameter in group})


def declared(owner: type[Any], *names: str) -> Sequence[Parameter]:
    """The declared parameters of a stage or trainer: all, or those named."""
    return [parameters(owner)[name] for name in names or parameters(owner)]


def checked(parameter: Parameter, argument: Argument) -> Any:
    """The argument's value, converted to the parameter's type."""
    value: Any = argument.value
    if isinstance(value, PipelineLine):
        raise LineError(f"{parameter.name}: expected a value, found the line {value}", argument.place)
    if isinstance(parameter.kind, Text) and isinstance(value, (int, float)) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)  # a model may be called 7
    if isinstance(value, str) and (choices := getattr(parameter.kind, "choices", ())) and value not in choices:
        raise LineError(f"{parameter.name}: {unknown('one of', value, choices)}", argument.place)
    try:
        return parameter.read(value)
    except ParameterError as error:
        raise LineError(str(error), argument.place) from error


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
        whole: dict[str, Any] = {"step": self.kind, **self.settings}
        if self.weights:
            whole["weights"] = dict(self.weights)
        if self.beside:
            whole["beside"] = [[step.configuration() for step in chain] for chain in self.beside]
        return whole

    @property
    def fields(self) -> tuple[str, ...]:
        """The document fields that the step names."""
        template = self.settings.get("document")
        fields = filter(None, (*self.weights, self.settings.get("field")))
        return (*fields, *(Template(template).fields if template else ()))


Chain = tuple[Step, ...]


def all_steps(chain: Chain) -> Iterator[Step]:
    """The steps of a chain, and those of the pipelines given to them."""
    for step in chain:
        yield step
        for inner in step.beside:
            yield from all_steps(inner)


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
class StepKind(LineKind):
    """One kind of step of a pipeline. Kinds are objects in a table (`rankwell.studies.steps.STEPS`)."""

    # The stage of a step; the chain has the earlier steps of the line.
    stage: Callable[[Step, StepContext, Chain], Stage] = field(kw_only=True)
    # Raises a RankwellError for settings that do not go together.
    check: Callable[[Step], object] | None = None
    # For steps that contain pipelines: one run of the run before the step, and those of its own pipelines.
    combine: Callable[[Step, Run, tuple[Run, ...]], Run] | None = None
    role: str | None = None  # what the step's model is used as
    begins: bool = False  # whether it can be a first stage
    follows: bool = False  # whether it can follow another step
    takes_weights: bool = False  # whether unknown names are fields with weights
