"""The steps of a pipeline line: parse a line into a chain of checked steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rankwell.core import RankwellError, Template
from rankwell.core.parameters import Number, parameters
from rankwell.models.reranking.passages import Passages
from rankwell.pipelines import RankerOptions, RerankOptions, parse_weights, read_options
from rankwell.pipelines.file import options_from
from rankwell.pipelines.options import parse_rm3
from rankwell.retrieve import RM3, parse_filter, parse_match
from rankwell.studies.file.errors import LineError, unknown
from rankwell.studies.file.pipeline_line import TOP, Argument, Call, PipelineLine, Value, parse_line
from rankwell.studies.steps.kinds import (
    CROSS_ENCODER,
    FEEDBACK,
    INTERPOLATE,
    STEPS,
    WORDS,
    ModelUse,
    model_of,
    stage_of,
)
from rankwell.studies.steps.step import Chain, LineKind, Step, StepContext, all_steps, checked, setting

__all__ = [
    "STEPS",
    "Chain",
    "LineKind",
    "ModelUse",
    "Step",
    "StepContext",
    "all_steps",
    "chain_of",
    "line_of",
    "model_of",
    "stage_of",
    "written",
]

# How the text of a setting is checked, whatever step has it.
TEXTS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {"document": Template, "passages": Passages.parse, "match": parse_match, "filter": parse_filter}
)
FILE = "pipeline"  # a line may begin with a pipeline's file
WEIGHT = Number(-math.inf, math.inf)


def chain_of(text: str, named: Mapping[str, str] | None = None) -> Chain:
    """Parse the steps of a line; `named` are pipelines that its first word may refer to."""
    return _Lines(named or {}).chain(parse_line(text))


class _Lines:
    """Reads lines; `within` are the named pipelines that are being read."""

    def __init__(self, named: Mapping[str, str], within: tuple[str, ...] = ()) -> None:
        self.named, self.within = named, within

    def chain(self, line: PipelineLine) -> Chain:
        first, *others = line.calls
        is_named = first.name in self.named and first.name not in STEPS
        if is_named:
            steps = [*self.pipeline(first)]
        elif first.name == FILE:
            steps = [*self.file(first)]
        else:
            steps = [self.step(first)]
        steps += map(self.step, others)
        if not STEPS[steps[0].kind].begins:
            begin = ", ".join(name for name, kind in STEPS.items() if kind.begins)
            raise LineError(f"expected a step that can begin ({begin}), found {steps[0].kind}", first.place)
        for step in steps[1:]:
            if not STEPS[step.kind].follows:
                raise LineError(f"expected {step.kind} at the beginning of the line, found it behind |", step.place)
        return tuple(steps)

    def pipeline(self, call: Call) -> Chain:
        """The steps of a named pipeline."""
        name, place = call.name, call.place
        if call.arguments:
            raise LineError(f"expected nothing in brackets behind the pipeline {name}, found something", place)
        if name in self.within:
            raise LineError(f"pipeline {name}: expected other pipelines, found itself", place)
        try:
            return _Lines(self.named, (*self.within, name)).chain(parse_line(self.named[name]))
        except LineError as error:
            raise LineError(f"in {name}: {error.message}", place) from error

    def file(self, call: Call) -> Chain:
        """The steps of a pipeline's file: `pipeline("best.toml")`."""
        paths = [argument.value for argument in call.arguments if argument.name is None]
        if len(call.arguments) != 1 or not paths or not isinstance(paths[0], str):
            raise LineError(f'expected {FILE}("best.toml") with the name of a file, found {call}', call.place)
        try:
            return self.chain(line_of(*options_from(read_options(paths[0])), call.place))
        except LineError:
            raise
        except RankwellError as error:
            raise LineError(str(error), call.place) from error

    def step(self, call: Call) -> Step:
        """The step with default values filled in, checked."""
        kind = STEPS.get(call.name)
        if kind is None:
            raise LineError(unknown("a step", call.name, [*STEPS, *self.named]), call.place)
        beside: list[Chain] = []
        weights: dict[str, float] = {}

        def take_weight(name: str, argument: Argument) -> bool:
            if name in weights:
                raise LineError(f"{call.name}: expected {name} once, found it twice", argument.place)
            weights[name] = checked(setting(name, "A weight.", WEIGHT, 0.0), argument)
            return True

        own = []
        for argument in call.arguments:
            line = self.line(argument) if kind.combine is not None and argument.name is None else None
            beside += [] if line is None else [line]
            own += [argument] if line is None else []
        settings = kind.read(own, call.place, take_weight if kind.takes_weights else None)
        step = Step(kind.name, settings, weights, tuple(beside), call.place)
        try:
            for name, check in TEXTS.items():
                if settings.get(name) is not None:
                    check(settings[name])
            if kind.check is not None:
                kind.check(step)
        except LineError:
            raise
        except RankwellError as error:
            raise LineError(f"{kind.name}: {error}", call.place) from error
        return step

    def line(self, argument: Argument) -> Chain | None:
        """A line in brackets: a whole pipeline, or one step that is no first stage (a re-ranker to interpolate)."""
        value = argument.value
        if isinstance(value, str) and (value in STEPS or value in self.named):
            value = PipelineLine((Call(value, (), argument.place),))
        if not isinstance(value, PipelineLine):
            return None
        only = STEPS.get(value.calls[0].name)
        if len(value.calls) == 1 and only is not None and not only.begins:
            return (self.step(value.calls[0]),)
        return self.chain(value)


def line_of(first: RankerOptions, second: RerankOptions, place: int = 0) -> PipelineLine:
    """The options of a pipeline as a line. A search by vectors is refused: a study makes its own vectors."""
    for name in ("dense", "hybrid", "variants"):
        if getattr(first, name):
            expected = "a pipeline by words, because a line names the model of its vectors: fuse(bm25, dense(MODEL))"
            raise LineError(f"expected {expected}; found {name}", place)
    if second.relevant is not None:
        raise LineError("expected a pipeline without a relevant document; found relevant", place)

    def call(name: str, unnamed: Sequence[Value], named: Mapping[str, Any]) -> Call:
        given = [(None, value) for value in unnamed] + [
            (key, value) for key, value in named.items() if value is not None
        ]
        return Call(name, tuple(Argument(key, value, place) for key, value in given), place)

    def own(step: str, options: RankerOptions | RerankOptions) -> dict[str, Any]:
        return {name: getattr(options, name) for name in STEPS[step].parameters if name in parameters(type(options))}

    weights = parse_weights(first.weights) or {}
    calls = [call(WORDS, [], {**own(WORDS, first), "k": second.deep(first.k), **weights})]
    if first.rm3:
        calls.append(call(FEEDBACK, [], dict(zip(parameters(RM3), parse_rm3(first.rm3_settings), strict=True))))
    if second.rerank is not None:
        model, mixed = call(CROSS_ENCODER, [second.rerank], own(CROSS_ENCODER, second)), second.interpolate
        calls.append(model if mixed is None else call(INTERPOLATE, [PipelineLine((model,)), mixed], {}))
        calls.append(call(TOP, [first.k], {}))
    return PipelineLine(tuple(calls))


def written(chain: Chain) -> str:
    """A chain as one line, with the settings that differ from their defaults."""
    return " | ".join(map(_written, chain))


def _written(step: Step) -> str:
    if step.kind == TOP:
        return f"top {step['k']}"
    kind = STEPS[step.kind]
    parts = [f"{name}={weight:g}" for name, weight in step.weights.items()]
    parts += [written(inner) for inner in step.beside]
    for name, value in step.settings.items():
        if value != kind.parameters[name].default:
            shown = f'"{value}"' if isinstance(value, str) and not value.replace("-", "").isalnum() else value
            parts.insert(0, str(shown)) if name in kind.main else parts.append(f"{name}={shown}")
    return f"{step.kind}({', '.join(parts)})" if parts else step.kind
