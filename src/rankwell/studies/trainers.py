"""What trains a model of a recipe: each leaves the model's folder in the room it is given, and goes on after a kill."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankwell.studies.recipe_kinds import ARCHITECTURE, DISTIL, FINE_TUNE, LINEAR, PARADE

if TYPE_CHECKING:
    from rankwell.train import CrossEncoderSettings, DistilSettings, LinearSettings, Pairs
    from rankwell.train.architecture_settings import ArchitectureSettings
    from rankwell.train.parade import ParadeSettings

Told = Mapping[str, Any]
SAVE_EVERY = 100  # steps: an epoch of many unlabelled pairs is long to lose


@dataclass(frozen=True)
class Lesson:
    """What a trainer is given: pairs, others that choose the step where there are some, and room to work in."""

    pairs: Pairs
    validation: Pairs | None
    room: Path
    told: Told
    threads: int

    @property
    def out(self) -> Path:
        """The run folder."""
        return self.room / "run"


def once(train: Callable[[Lesson], object]) -> Callable[[Lesson], Path]:
    """What trains into the lesson's run folder, unless it was trained to its end there."""

    @wraps(train)
    def trained(lesson: Lesson) -> Path:
        from rankwell.train import RunFolder

        run = RunFolder(lesson.out)
        if not run.finished:
            train(lesson)
        return run.model

    return trained


@once
def fine_tune(lesson: Lesson) -> None:
    """A cross-encoder."""
    from rankwell.train import train_cross_encoder

    settings = fine_tuning(lesson.told, lesson.threads)
    train_cross_encoder(lesson.pairs, lesson.out, model=lesson.told["start"], settings=settings, **_usual(lesson))


def fine_tuning(told: Told, threads: int) -> CrossEncoderSettings:
    """The settings of a cross-encoder."""
    from rankwell.train import CrossEncoderSettings

    return CrossEncoderSettings(loss=told["loss"], **_shared(told, threads))


@once
def architecture(lesson: Lesson) -> None:
    """One of S3's four."""
    from rankwell.train.architecture import train_architecture

    settings = of_architecture(lesson.told, lesson.threads)
    train_architecture(lesson.pairs, lesson.out, model=lesson.told["start"], settings=settings, **_usual(lesson))


def of_architecture(told: Told, threads: int) -> ArchitectureSettings:
    """The settings of one of the four."""
    from rankwell.train.architecture_settings import ArchitectureSettings

    own = {name: told[name] for name in ("kind", "texts", "shared", "clean")}
    return ArchitectureSettings(**own, **_shared(told, threads))


@once
def parade(lesson: Lesson) -> None:
    """A PARADE model."""
    from rankwell.train.parade import train_parade

    settings = of_parade(lesson.told, lesson.threads)
    train_parade(lesson.pairs, lesson.out, model=lesson.told["start"], settings=settings, **_usual(lesson))


def of_parade(told: Told, threads: int) -> ParadeSettings:
    """The settings of a PARADE model."""
    from rankwell.train.parade import ParadeSettings

    own = {name: told[name] for name in ("aggregate", "passages", "loss")}
    return ParadeSettings(**own, most_passages=told["most"], **_shared(told, threads))


@once
def distilled(lesson: Lesson) -> None:
    """A student."""
    from rankwell.train import distil

    settings = distilling(lesson.told, lesson.threads)
    teacher, student = lesson.told["teacher"], lesson.told["student"]
    distil(teacher, student, lesson.pairs, lesson.out, settings=settings, **_usual(lesson))


def distilling(told: Told, threads: int) -> DistilSettings:
    """The settings of a distillation."""
    from rankwell.train import DistilSettings
    from rankwell.train.distil_methods import parse_weights

    own = {name: told[name] for name in ("method", "temperature", "layers", "targets", "measure", "steps")}
    return DistilSettings(
        **own,
        weights=parse_weights(told["weights"]),
        list_size=told["list"],
        evaluate_every=told["every"],
        save_every=told["every"] or SAVE_EVERY,
        **_shared(told, threads),
    )


def linear(lesson: Lesson) -> Path:
    """TF-IDF with logistic regression; it takes a moment, and begins anew after a kill."""
    from rankwell.train import train_linear

    place = lesson.room / "linear"
    shutil.rmtree(place, ignore_errors=True)
    train_linear(lesson.pairs, place, of_linear(lesson.told, lesson.threads))
    return place


def of_linear(told: Told, threads: int) -> LinearSettings:  # noqa: ARG001 -- it takes a moment
    """The settings of a linear model."""
    from rankwell.rerank import Words
    from rankwell.train import LinearSettings

    words = Words(longest=told["longest"], cleaned=told["clean"])
    return LinearSettings(words, fewest=told["fewest"], penalty=told["penalty"])


TRAINERS: Mapping[str, Callable[[Lesson], Path]] = MappingProxyType(
    {FINE_TUNE: fine_tune, ARCHITECTURE: architecture, PARADE: parade, DISTIL: distilled, LINEAR: linear}
)
# Made of what a line says, so that a mistake in it is told before anything runs.
SETTINGS: Mapping[str, Callable[[Told, int], Any]] = MappingProxyType(
    {FINE_TUNE: fine_tuning, ARCHITECTURE: of_architecture, PARADE: of_parade, DISTIL: distilling, LINEAR: of_linear}
)


def _usual(lesson: Lesson) -> dict[str, Any]:
    return {"validation": lesson.validation, "resume": True, "quiet": True}


def _shared(told: Told, threads: int) -> dict[str, Any]:
    """The settings that all training of transformers has."""
    return {
        "freeze": told["freeze"],
        "epochs": told["epochs"],
        "batch_size": told["batch"],
        "lr": told["lr"],
        "max_tokens": told["tokens"],
        "seed": told["seed"],
        "threads": threads,
    }
