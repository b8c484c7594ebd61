"""Distil a cross-encoder: settings, methods, training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, RankwellError
from rankwell.core.parameters import POSITIVE, Text, known_settings, like, param
from rankwell.models.base.folder import ModelFolder
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.distillation.student import Student, find_teacher
from rankwell.models.learning.data import Data, full_name
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import RankerSettings, ValidationSettings
from rankwell.models.learning.starting_model import copy_tokenizer, freeze
from rankwell.models.learning.trainer import Job, Start, TrainingResult, needs_training, with_budget

LOSSES = ("embedding", "attention", "hidden", "cosine", "soft", "margin", "hard")

METHODS: Mapping[str, Mapping[str, float]] = {
    # Simplified TinyBERT: everything together in one stage (Chen et al., ECIR 2021).
    "tinybert": {"embedding": 1.0, "attention": 1.0, "hidden": 1.0, "soft": 1.0, "hard": 1.0},
    # Hinton et al., 2015.
    "soft": {"soft": 1.0},
    # Hofstätter et al., 2020.
    "margin-mse": {"margin": 1.0},
    # Sanh et al., 2019, with their weights (labels in place of masked words).
    "distilbert": {"soft": 5.0, "hard": 2.0, "cosine": 1.0},
}


def weights_of(method: str, changes: Mapping[str, float]) -> dict[str, float]:
    """The weights of all losses of a method, with some changed."""
    if method not in METHODS:
        raise ParameterError("method", expected=f"one of {', '.join(METHODS)}", found=method)
    for name, weight in changes.items():
        if name not in LOSSES:
            raise ParameterError("weights", expected=f"losses among {', '.join(LOSSES)}", found=name)
        if not (math.isfinite(weight) and weight >= 0):
            raise ParameterError("weights", expected="numbers from 0", found=weight)
    weights = {name: weight for name, weight in {**METHODS[method], **changes}.items() if weight}
    if not weights:
        raise ParameterError("weights", expected="a loss with a weight above 0", found="none")
    return weights


def parse_weights(told: str) -> dict[str, float]:
    """Parse `soft=2,hard=0.5`; an empty text changes nothing."""
    weights = {}
    for part in filter(None, told.split(",")):
        name, _, number = part.partition("=")
        try:
            weights[name.strip()] = float(number)
        except ValueError as error:
            raise ParameterError("weights", expected="losses with numbers: soft=2,hard=0.5", found=told) from error
    return weights


KIND = "distilled cross-encoder"
WHAT = "distillation"
WIDENING = "to_teacher_width"


@dataclass(frozen=True, kw_only=True)
class DistilSettings(RankerSettings):
    """Settings for training a student, besides those of all training.

    For `layers` see `layer_map`; `batch_size` counts pairs. No dropout by default: a teacher's scores have no label
    noise to memorise.
    """

    method: str = param("tinybert", "Which losses are added up.", Text(tuple(METHODS)))
    temperature: float = param(4.0, "Temperature of the soft loss: logits are divided by it.", POSITIVE)
    weights: Mapping[str, float] = param(
        "", f"Other weights of losses ({', '.join(LOSSES)}), such as soft=2,hard=0.", Text(), example="soft=2,hard=0"
    )
    layers: str = param(
        "evenly",
        "Layers of the teacher that the student is made of: evenly, every-second, first, last, or 2,4,6.",
        Text(),
    )
    targets: str = param(
        "evenly", "Layers of the teacher that the student's are compared with; written as layers.", Text()
    )
    list_size: int = like(
        CrossEncoderSettings, "list_size", help="Documents of a query that margin-mse compares, at most."
    )
    query_tokens: int | None = like(CrossEncoderSettings, "query_tokens")
    batch_size: int = like(RankerSettings, "batch_size", default=32)
    lr: float = like(RankerSettings, "lr", default=1e-4)
    dropout: float | None = like(RankerSettings, "dropout", default=0.0, help="Dropout probability.")

    unchecked = ("weights",)  # text or numbers by name

    def __post_init__(self) -> None:
        if isinstance(self.weights, str):
            object.__setattr__(self, "weights", parse_weights(self.weights))
        super().__post_init__()
        weights_of(self.method, self.weights)


@dataclass(frozen=True)
class DistilValidation(ValidationSettings):
    """No validation by default: a teacher needs no labels."""

    validation: str = like(
        ValidationSettings,
        "validation",
        default="0",
        help="Validation: a folder of labelled pairs, or the share of the queries to hold out; 0 for none.",
    )


def distil(
    teacher: str,
    student: str,
    pairs: Pairs | Path | str,
    out: Path | str,
    *,
    settings: DistilSettings | None = None,
    validation: Pairs | Path | str | float | None = None,
    resume: bool = False,
    quiet: bool = False,
    **changes: Any,
) -> TrainingResult:
    """Train a student on pairs, which need no labels, and write a run folder.

    `changes` are single settings by name.
    `teacher` is a cross-encoder by name or folder. `student` is another model, or one made of the teacher (`Student`).
    `validation` (labelled pairs) and `resume` are those of `rankwell.models.learning.trainer.Training`.

    >>> distil("ms-marco-minilm-l12", "teacher:6", "pairs", "run", epochs=1)
    """
    needs_training(WHAT)
    settings = replace(settings or DistilSettings(), **known_settings(DistilSettings, changes))
    master = find_teacher(teacher)
    start = Student.parse(student).folder(master)
    data = Data.of(pairs, validation, settings.seed)
    settings = with_budget(start, settings)
    told = {"teacher": full_name(teacher), "teacher_fingerprint": master.fingerprint(), "student": full_name(student)}
    run = data.run_folder(out, KIND, {**told, **settings.as_dict()}, start, resume=resume)
    return _train(Start(run, data, start, settings, quiet), master, student)


def resume_distillation(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Resume an interrupted run."""
    needs_training(WHAT)
    told = run.settings
    master, before, student = find_teacher(told.pop("teacher")), told.pop("teacher_fingerprint"), told.pop("student")
    if master.fingerprint() != before:
        raise RankwellError(f"{run.path}: expected the teacher it was begun with in {master.path}, found another")
    settings = DistilSettings.from_dict(told)
    return _train(Start(run, Data.reopen(run), Data.model_of(run), settings, quiet), master, student)


def _train(start: Start[DistilSettings], master: ModelFolder, student: str) -> TrainingResult:
    return start.train(lambda resumed: _prepare(resumed, master, Student.parse(student)))


def _prepare(start: Start[DistilSettings], master: ModelFolder, student: Student) -> tuple[Job, DistilSettings]:
    from rankwell.models.distillation.batches import Comparing, DistilBatches, validation_of
    from rankwell.models.distillation.losses import Mixture

    settings, folder, data = start.settings, start.folder, start.data
    mixture = Mixture.of(weights_of(settings.method, settings.weights), settings.temperature)
    model = student.make(master, settings.layers, settings.dropout)
    freeze(model, settings.freeze)
    comparing = Comparing.of(mixture, master, folder, model, settings.targets)
    batches = DistilBatches.of(
        data.training, settings, mixture, master=master, start=folder, model=model, quiet=start.quiet
    )
    validate = None if data.validation is None else validation_of(data.validation, batches, settings.measure)

    def write(model: Any, place: Path) -> None:
        kept = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(WIDENING)}
        model.save_pretrained(place, state_dict=kept)
        copy_tokenizer(folder.path, place, settings.max_tokens)

    lengths = [int(batches.tokens.pairs.lengths[rows].max()) for rows in batches.examples]
    job = Job(model, batches.examples, batches, comparing, write, validate, lengths=lengths)
    a_batch = max(1, settings.batch_size // settings.list_size) if mixture.lists else settings.batch_size
    return job.decided_by(settings.measure), replace(settings, batch_size=a_batch)
