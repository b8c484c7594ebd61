"""The steps of a pipeline line: the table of kinds, and the parser of lines."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from rankwell.core import Pipeline, RankwellError, Stage
from rankwell.core.parameters import Number
from rankwell.studies.file.lines import Argument, Call, PipelineLine, parse_line
from rankwell.studies.file.values import LineError, unknown
from rankwell.studies.steps.dense import DenseStep, Fuse
from rankwell.studies.steps.first_stages import Bm25, Random, Rm3, TfIdfStep
from rankwell.studies.steps.given import JudgedDocuments, StoredRun, SystemRun
from rankwell.studies.steps.rerankers import CrossEncoderStep, Cut, InterpolateStep
from rankwell.studies.steps.step import (
    Chain,
    JoiningKind,
    ModelUse,
    Step,
    StepContext,
    StepKind,
    checked,
    completed,
    setting,
)

__all__ = [
    "STEPS",
    "Bm25",
    "Chain",
    "CrossEncoderStep",
    "Cut",
    "DenseStep",
    "Fuse",
    "InterpolateStep",
    "JoiningKind",
    "JudgedDocuments",
    "ModelUse",
    "Parameter",
    "Random",
    "Rm3",
    "Step",
    "StepContext",
    "StepKind",
    "StoredRun",
    "SystemRun",
    "TfIdfStep",
    "chain_of",
    "stage_of",
]


log = logging.getLogger(__name__)
log = logging.getLogger(__name__)
_KINDS = (
    Bm25,
    TfIdfStep,
    DenseStep,
    StoredRun,
    SystemRun,
    JudgedDocuments,
    Random,
    Fuse,
    Cut,
    Rm3,
    CrossEncoderStep,
    InterpolateStep,
)
STEPS: Mapping[str, StepKind] = MappingProxyType({kind.name: kind() for kind in _KINDS})


def chain_of(text: str | PipelineLine, named: Mapping[str, str] | None = None) -> Chain:
    """Parse the steps of a line; `named` are pipelines that its first word may refer to."""
    return _chain(parse_line(text) if isinstance(text, str) else text, named or {}, ())


def stage_of(chain: Chain, bench: StepContext) -> Stage:
    """Combine a chain's steps into one stage."""
    stages = [STEPS[step.kind].stage(step, bench, chain[:place]) for place, step in enumerate(chain)]
    return stages[0] if len(stages) == 1 else Pipeline(tuple(stages))


def _chain(line: PipelineLine, named: Mapping[str, str], within: tuple[str, ...]) -> Chain:
    first, *others = line.calls
    steps: list[Step] = []
    if first.name in named and first.name not in STEPS:
        steps += _named(first, named, within)
    else:
        steps.append(_step(first, named, within))
    steps += [_step(call, named, within) for call in others]
    if not STEPS[steps[0].kind].begins:
        begin = ", ".join(name for name, kind in STEPS.items() if kind.begins)
        raise LineError(f"expected a step that can begin ({begin}), found {steps[0].kind}", first.place)
    for step in steps[1:]:
        if not STEPS[step.kind].follows:
            raise LineError(f"expected {step.kind} at the beginning of the line, found it behind |", step.place)
    return tuple(steps)


def _named(call: Call, named: Mapping[str, str], within: tuple[str, ...]) -> Chain:
    """The steps of a named pipeline."""
    if call.arguments:
        raise LineError(f"expected nothing in brackets behind the pipeline {call.name}, found something", call.place)
    if call.name in within:
        raise LineError(f"pipeline {call.name}: expected other pipelines, found itself", call.place)
    try:
        return _chain(parse_line(named[call.name]), named, (*within, call.name))
    except LineError as error:
        raise LineError(f"in {call.name}: {error.message}", call.place) from error


def _step(call: Call, named: Mapping[str, str], within: tuple[str, ...]) -> Step:
    kind = STEPS.get(call.name)
    if kind is None:
        raise LineError(unknown("a step", call.name, [*STEPS, *named]), call.place)
    known = {parameter.name: parameter for parameter in kind.parameters}
    settings: dict[str, Any] = {}
    weights: dict[str, float] = {}
    beside: list[Chain] = []
    for argument in call.arguments:
        if argument.name is None and isinstance(kind, JoiningKind) and _is_line(argument, named):
            beside.append(_inner(argument, named, within))
            continue
        name = _today(kind, argument.name) or kind.main
        if name is None:
            raise LineError(f"{kind.name}: expected name=value, found a value without a name", argument.place)
        if name in settings or name in weights:
            raise LineError(f"{kind.name}: expected {name} once, found it twice", argument.place)
        if name in known:
            settings[name] = checked(known[name], argument)
        elif kind.takes_weights:
            weights[name] = checked(setting(name, "A weight.", Number(-math.inf, math.inf), 0.0), argument)
        else:
            raise LineError(f"{kind.name}: {unknown('a setting', name, known)}", argument.place)
    return _whole(kind, settings, weights, tuple(beside), call.place)


def _today(kind: StepKind, name: str | None) -> str | None:
    """The current name of a setting; an earlier name is accepted with a note."""
    if name is None or name not in kind.old_names:
        return name
    log.warning("%s: %s is called %s now", kind.name, name, kind.old_names[name])
    return kind.old_names[name]


def _whole(
    kind: StepKind, settings: dict[str, Any], weights: dict[str, float], beside: tuple[Chain, ...], place: int
) -> Step:
    """The step with default values filled in, checked."""
    step = Step(kind.name, completed(kind.name, kind.parameters, settings, place), weights, beside, place)
    try:
        kind.check(step)
    except LineError:
        raise
    except RankwellError as error:
        raise LineError(f"{kind.name}: {error}", place) from error
    return step


def _is_line(argument: Argument, named: Mapping[str, str]) -> bool:
    value = argument.value
    return isinstance(value, PipelineLine) or (isinstance(value, str) and (value in STEPS or value in named))


def _inner(argument: Argument, named: Mapping[str, str], within: tuple[str, ...]) -> Chain:
    """Parse a line in brackets: a whole pipeline, or one step that is no first stage (a re-ranker to interpolate)."""
    value = argument.value
    line = value if isinstance(value, PipelineLine) else PipelineLine((Call(str(value), (), argument.place),))
    only = STEPS.get(line.calls[0].name)
    if len(line.calls) == 1 and only is not None and not only.begins:
        return (_step(line.calls[0], named, within),)
    return _chain(line, named, within)
