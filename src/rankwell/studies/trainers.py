"""What trains a model of a recipe: each leaves the model's folder in the room it is given, and goes on after a kill."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwell.train import Pairs

Told = Mapping[str, Any]
Trainer = Callable[["Pairs", Path, Told, int], Path]


def fine_tune(pairs: Pairs, room: Path, told: Told, threads: int) -> Path:
    """A cross-encoder."""
    from rankwell.train import CrossEncoderSettings, RunFolder, train_cross_encoder

    run = RunFolder(room / "run")
    if not run.finished:
        settings = CrossEncoderSettings(loss=told["loss"], **_shared(told, threads))
        train_cross_encoder(
            pairs, run.path, model=told["start"], settings=settings, validation=None, resume=True, quiet=True
        )
    return run.model


def architecture(pairs: Pairs, room: Path, told: Told, threads: int) -> Path:
    """One of S3's four."""
    from rankwell.train import RunFolder
    from rankwell.train.architecture import train_architecture
    from rankwell.train.architecture_settings import ArchitectureSettings

    run = RunFolder(room / "run")
    if not run.finished:
        own = {"kind": told["kind"], "texts": told["texts"], "shared": told["shared"], "clean": told["clean"]}
        settings = ArchitectureSettings(**own, **_shared(told, threads))
        train_architecture(
            pairs, run.path, model=told["start"], settings=settings, validation=None, resume=True, quiet=True
        )
    return run.model


def linear(pairs: Pairs, room: Path, told: Told, threads: int) -> Path:  # noqa: ARG001 -- it takes a moment
    """TF-IDF with logistic regression."""
    from rankwell.rerank import Words
    from rankwell.train import LinearSettings, train_linear

    place = room / "linear"
    shutil.rmtree(place, ignore_errors=True)
    words = Words(longest=told["longest"], cleaned=told["clean"])
    train_linear(pairs, place, LinearSettings(words, fewest=told["fewest"], penalty=told["penalty"]))
    return place


TRAINERS: Mapping[str, Trainer] = MappingProxyType(
    {"fine-tune": fine_tune, "architecture": architecture, "linear": linear}
)


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
