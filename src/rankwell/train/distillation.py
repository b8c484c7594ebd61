"""Knowledge distillation: a small cross-encoder, the student, learns from a large one, its teacher."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rankwell.core import ParameterError, RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.evaluate import parse_measure
from rankwell.train.data import Data
from rankwell.train.distil_methods import weights_of
from rankwell.train.freezing import freeze
from rankwell.train.pairs import Pairs
from rankwell.train.run_folder import RunFolder
from rankwell.train.settings import TrainingSettings
from rankwell.train.starting_model import copy_tokenizer, token_budget
from rankwell.train.student import Student
from rankwell.train.teacher import find_teacher
from rankwell.train.trainer import Job, TrainingResult, going_on, needs_training, set_up, train_job

log = logging.getLogger(__name__)

KIND = "distilled cross-encoder"
WHAT = "distillation"
WIDENING = "to_teacher_width"


@dataclass(frozen=True, kw_only=True)
class DistilSettings(TrainingSettings):
    """How a student is trained, beside what all training has.

    `method`: tinybert, soft, margin-mse or distilbert; `weights` changes the weight of any loss, by its name. `layers`
    says which of the teacher's layers a student is made of (see `layer_map`), `targets` with which of them its own are
    compared. Lists, for margin-mse, have at most `list_size` documents of a query; `batch_size` counts pairs anyway.
    `measure` decides which step is kept. Without dropout: a teacher's scores have no errors to be learnt by heart.
    """

    method: str = "tinybert"
    temperature: float = 4.0
    weights: Mapping[str, float] = field(default_factory=dict)
    layers: str = "evenly"
    targets: str = "evenly"
    list_size: int = 8
    max_tokens: int | None = None
    query_tokens: int | None = None
    measure: str = "nDCG@10"
    batch_size: int = 32
    lr: float = 1e-4
    dropout: float | None = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_measure(self.measure)
        weights_of(self.method, self.weights)
        if not self.temperature > 0:
            raise ParameterError("temperature", expected="a number above 0", found=self.temperature)
        if self.list_size < 2:  # noqa: PLR2004 -- nothing can be compared with itself
            raise ParameterError("list_size", expected="a number from 2", found=self.list_size)


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
    """Train a student on pairs, which need no labels, and leave a run folder.

    `teacher` is a cross-encoder by its name or folder. `student` is another model, or one that is made of the teacher:
    `teacher:6` has 6 of its layers, `teacher:3x192` is like it with 3 layers 192 wide. `validation`: labelled pairs of
    other queries, a folder of them, or the share of the queries to hold out; None or 0 for none, and then the weights
    of the last step are kept. With `resume` a run in `out` that is not finished goes on.
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
    """Go on with a run that was killed."""
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
    from rankwell.train.distil_batches import DistilBatches, validation_of
    from rankwell.train.distil_comparing import Comparing
    from rankwell.train.distil_losses import Mixture

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
    """A folder of the user's by its whole path, so that it is found from anywhere."""
    local = Path(model).expanduser()
    return str(local.resolve()) if local.is_dir() else model
