"""Distil a cross-encoder: settings, methods, training."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rankwell.core import ParameterError, RankwellError
from rankwell.core.parameters import POSITIVE, Text, like, param
from rankwell.evaluation import parse_measure
from rankwell.models.base.folder import ModelFolder
from rankwell.models.cross_encoder.training import CrossEncoderSettings
from rankwell.models.distillation.student import Student, find_teacher
from rankwell.models.learning.data import Data
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import RankerSettings, ValidationSettings
from rankwell.models.learning.starting_model import copy_tokenizer, freeze, token_budget
from rankwell.models.learning.trainer import Job, TrainingResult, going_on, needs_training, set_up, train_job

LOSSES = ("embedding", "attention", "hidden", "cosine", "soft", "margin", "hard")

METHODS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        # Simplified TinyBERT: everything together in one stage (Chen et al., ECIR 2021).
        "tinybert": {"embedding": 1.0, "attention": 1.0, "hidden": 1.0, "soft": 1.0, "hard": 1.0},
        # Hinton et al., 2015.
        "soft": {"soft": 1.0},
        # Hofstätter et al., 2020.
        "margin-mse": {"margin": 1.0},
        # Sanh et al., 2019, with their weights (labels in place of masked words).
        "distilbert": {"soft": 5.0, "hard": 2.0, "cosine": 1.0},
    }
)


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


log = logging.getLogger(__name__)

KIND = "distilled cross-encoder"
WHAT = "distillation"
WIDENING = "to_teacher_width"


@dataclass(frozen=True, kw_only=True)
class DistilSettings(RankerSettings):
    """Settings for training a student, besides those of all training.

    `method`: tinybert, soft, margin-mse or distilbert; `weights` changes the weight of any loss by name. `layers`
    are the teacher's layers that a student is made of (see `layer_map`), `targets` those that its own are
    compared with. Lists, for margin-mse, have at most `list_size` documents of a query; `batch_size` counts pairs.
    `measure` selects the step to keep. No dropout by default: a teacher's scores have no label noise to memorise.
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
) -> TrainingResult:
    """Train a student on pairs, which need no labels, and write a run folder.

    `teacher` is a cross-encoder by name or folder. `student` is another model, or one made of the teacher:
    `teacher:6` has 6 of its layers, `teacher:3x192` is like it with 3 layers 192 wide. `validation`: labelled pairs of
    other queries, a folder of them, or the fraction of queries to hold out; None or 0 for none, and then the weights
    of the last step are kept. With `resume` an unfinished run in `out` is continued.
    """
    needs_training(WHAT)
    settings = settings or DistilSettings()
    master = find_teacher(teacher)
    start = Student.parse(student).folder(master)
    data = Data.of(pairs, validation, settings.seed)
    settings = replace(settings, max_tokens=token_budget(start, settings.max_tokens))
    told = {"teacher": _whole_name(teacher), "teacher_fingerprint": master.fingerprint()}
    told["student"] = _whole_name(student)
    run = data.run_folder(out, KIND, {**told, **settings.as_dict()}, start, resume=resume)
    return _train(run, data, master, student, going_on(run, settings), quiet=quiet)


def resume_distillation(run: RunFolder, *, quiet: bool = False) -> TrainingResult:
    """Resume an interrupted run."""
    needs_training(WHAT)
    told = run.settings
    master, before, student = find_teacher(told.pop("teacher")), told.pop("teacher_fingerprint"), told.pop("student")
    if master.fingerprint() != before:
        raise RankwellError(f"{run.path}: expected the teacher it was begun with in {master.path}, found another")
    settings = going_on(run, DistilSettings.from_dict(told))
    Data.model_of(run)
    return _train(run, Data.reopen(run), master, student, settings, quiet=quiet)


def _train(
    run: RunFolder, data: Data, master: ModelFolder, told: str, settings: DistilSettings, *, quiet: bool
) -> TrainingResult:
    from rankwell.models.distillation.batches import DistilBatches, validation_of
    from rankwell.models.distillation.comparing import Comparing
    from rankwell.models.distillation.losses import Mixture

    set_up(settings)
    decisive = str(parse_measure(settings.measure))
    student = Student.parse(told)
    start = student.folder(master)
    mixture = Mixture.of(weights_of(settings.method, settings.weights), settings.temperature)
    with run.preparing():
        model = student.make(master, settings.layers, settings.dropout)
        freeze(model, settings.freeze)
        comparing = Comparing.of(mixture, master, start, model, settings.targets)
        batches = DistilBatches.of(
            data.training, settings, mixture, master=master, start=start, model=model, quiet=quiet
        )
        validate = None if data.validation is None else validation_of(data.validation, batches, decisive)

    def write(model: Any, place: Path) -> None:
        kept = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith(WIDENING)}
        model.save_pretrained(place, state_dict=kept)
        copy_tokenizer(start.path, place, settings.max_tokens or 0)

    job = Job(
        model=model,
        examples=batches.examples,
        collate=batches,
        loss=comparing,
        write_model=write,
        validate=validate,
        measure=None if validate is None else decisive,
        higher_is_better=parse_measure(decisive).higher_is_better,
        lengths=[int(batches.tokens.pairs.lengths[rows].max()) for rows in batches.examples],
    )
    a_batch = max(1, settings.batch_size // settings.list_size) if mixture.lists else settings.batch_size
    return train_job(run, job, replace(settings, batch_size=a_batch), quiet=quiet)


def _whole_name(model: str) -> str:
    """The full path of a user's folder, so that it is found from anywhere."""
    local = Path(model).expanduser()
    return str(local.resolve()) if local.is_dir() else model
