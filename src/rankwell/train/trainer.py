"""Training a model and leaving a run folder: a thin layer over the Hugging Face Trainer.

Ours are the batches (`batching`), the ranking measure that is taken while training, early stopping on it, checkpoints
that are never half there, and the folder. Optimiser, schedule, precision and the loop itself are the library's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from rankwell.core import MissingExtraError, Progress
from rankwell.encode.working import cores
from rankwell.index.lock import WriterLock
from rankwell.train.early_stopping import should_stop
from rankwell.train.run_folder import RunFolder
from rankwell.train.settings import TrainingSettings

log = logging.getLogger(__name__)

Settings = TypeVar("Settings", bound=TrainingSettings)


@dataclass(frozen=True)
class Job:
    """What is to be trained, on what, and how it is measured.

    `examples` has a length and gives an example by its place; where it has `set_epoch`, it is told of each epoch.
    `collate` makes a batch of examples, `loss` a number of the model and a batch (the mean over the batch).
    `validate` measures the model on examples that are not trained on; `measure` names the one of its measures that
    decides. `write_model` writes the finished model into a folder.
    """

    model: Any
    examples: Any
    collate: Callable[[list[Any]], dict[str, Any]]
    loss: Callable[[Any, dict[str, Any]], Any]
    write_model: Callable[[Any, Path], None]
    validate: Callable[[Any], Mapping[str, float]] | None = None
    measure: str | None = None
    higher_is_better: bool = True
    lengths: Sequence[int] | None = None


@dataclass(frozen=True)
class TrainingResult:
    """What came out of a run."""

    folder: RunFolder
    steps: int  # that were done
    best: int | None  # the step whose weights `model/` has, by the validation measure
    measures: Mapping[str, float]  # of these weights, on the validation examples
    before: Mapping[str, float]  # the same before any training
    stopped_early: bool
    seconds: float  # of training, since the start or the last resumption


def needs_training(what: str) -> None:
    """Say which extra is missing, where it is."""
    # The Hugging Face Trainer needs accelerate and does not bring it.
    if any(find_spec(name) is None for name in ("torch", "transformers", "sentence_transformers", "accelerate")):
        raise MissingExtraError(what, extra="train")


def set_up(settings: TrainingSettings) -> int:
    """Seed everything and take the threads; call it before the model is made. Returns the number of threads."""
    import torch
    import transformers

    threads = settings.threads or cores()
    torch.set_num_threads(threads)
    transformers.set_seed(settings.seed)
    return threads


def going_on(run: RunFolder, settings: Settings) -> Settings:
    """The settings of a run that goes on: with as many threads as it was begun with."""
    return replace(settings, threads=settings.threads or run.environment.get("threads"))


def train_job(folder: RunFolder, job: Job, settings: TrainingSettings, *, quiet: bool = False) -> TrainingResult:
    """Train to the end and leave the folder; from the newest checkpoint on, where there is one.

    With the same seed and as many threads, a run that was killed and resumed ends with the same weights, on a CPU, as
    one that was not.
    """
    from rankwell.train.environment import environment
    from rankwell.train.finishing import finish
    from rankwell.train.hugging_face import RunTrainer

    lock = WriterLock(folder.path)
    try:
        folder.checkpoints.tidy()
        newest = folder.checkpoints.newest()
        folder.metrics.restore(None if newest is None else newest / "metrics.jsonl")
        threads = settings.threads or cores()
        _tell_of_threads(folder, threads)
        folder.write_environment(environment(threads))
        begin = time.monotonic()
        trainer = RunTrainer(folder, job, settings)
        history = folder.metrics.validations(job.measure) if job.measure else []
        stopped = should_stop(history, settings.patience, higher_is_better=job.higher_is_better)
        if not stopped:  # a run may be killed between its last step and its end
            with Progress("training", unit="steps", total=trainer.total_steps, quiet=quiet) as progress:
                trainer.run(newest, progress)
        return finish(trainer, seconds=time.monotonic() - begin)
    finally:
        lock.release()


def _tell_of_threads(folder: RunFolder, threads: int) -> None:
    before = folder.environment.get("threads")
    if before is not None and before != threads:
        log.warning(
            "%s: begun with %s threads, going on with %s: sums are made in another order, and the weights will differ "
            "in their last digits from those of a run without a break",
            folder.path,
            before,
            threads,
        )
