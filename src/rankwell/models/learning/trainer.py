"""Train a model into a run folder: a thin layer over the Hugging Face Trainer, for any model that scores pairs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from rankwell.core import Integers, MissingExtraError, Progress, RankwellError, Shown
from rankwell.core.parameters import known_settings
from rankwell.evaluation import parse_measure
from rankwell.index.manifest import WriterLock
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.runtime import cores
from rankwell.models.learning.data import Data
from rankwell.models.learning.pair_batches import PairBatches, TokenisedPairs, query_lists, single_pairs
from rankwell.models.learning.pairs import Pairs
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import HELD_OUT, RankerSettings, TrainingSettings, should_stop
from rankwell.models.learning.starting_model import find_trainable, token_budget
from rankwell.models.learning.validation import RankingValidation, validation_measures

if TYPE_CHECKING:
    from rankwell.models.cross_encoder.training import CrossEncoderSettings


log = logging.getLogger(__name__)

Settings = TypeVar("Settings", bound=TrainingSettings)
Ranker = TypeVar("Ranker", bound=RankerSettings)
PairSettings = TypeVar("PairSettings", bound="CrossEncoderSettings")
Tokenised = TypeVar("Tokenised", bound=Sized)


@dataclass(frozen=True)
class Job:
    """A training job: model, examples, loss and validation.

    `examples` has a length and gives an example by position; its `set_epoch`, if any, is called in each epoch.
    `collate` makes a batch of examples, `loss` computes the mean loss of the model on a batch.
    `validate` measures the model on validation examples; `measure` names the measure that
    selects the step to keep. `write_model` writes the finished model into a folder.
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

    def decided_by(self, measure: str) -> Job:
        """The job with a measure of rankings that selects the step to keep; without validation there is none."""
        wanted = parse_measure(measure)
        decisive = None if self.validate is None else str(wanted)
        return replace(self, measure=decisive, higher_is_better=wanted.higher_is_better)


@dataclass(frozen=True, repr=False)
class TrainingResult(Shown):
    """The result of a training run; `folder.model` is the folder of the trained model.

    >>> result = train.cross_encoder("pairs", "run", model="minilm-l6")
    >>> BM25(index) >> CrossEncoder(result.model)
    """

    folder: RunFolder
    steps: int  # steps done
    best: int | None  # the step of the weights in `model/`, selected by the validation measure
    measures: Mapping[str, float]  # measures of these weights on the validation examples
    before: Mapping[str, float]  # the same before training
    stopped_early: bool
    seconds: float  # seconds of training, since the start or the last resumption

    def __repr__(self) -> str:
        measured = "".join(f", {name} {value:.4f}" for name, value in self.measures.items())
        return f"TrainingResult({str(self.folder.path)!r}, {self.steps} steps{measured})"

    @property
    def model(self) -> str:
        """The folder of the trained model, as stages take it: `CrossEncoder(result.model)`."""
        return str(self.folder.model)


def needs_training(what: str) -> None:
    """Raise where the extra for training is not installed."""
    # The Hugging Face Trainer needs accelerate but does not install it.
    if any(find_spec(name) is None for name in ("torch", "transformers", "sentence_transformers", "accelerate")):
        raise MissingExtraError(what, extra="train")


def set_up(settings: TrainingSettings) -> None:
    """Set seeds and threads; call it before the model is created."""
    import torch
    import transformers

    torch.set_num_threads(settings.threads or cores())
    transformers.set_seed(settings.seed)


def going_on(run: RunFolder, settings: Settings) -> Settings:
    """The settings of a resumed run, with its original number of threads."""
    return replace(settings, threads=settings.threads or run.environment.get("threads"))


@dataclass(frozen=True)
class Start(Generic[Settings]):
    """What a family makes its job of: the run's folder, the data, the starting model and the settings."""

    run: RunFolder
    data: Data
    folder: ModelFolder
    settings: Settings
    quiet: bool

    def tokenise(
        self, tokens: Any, make: Callable[[Pairs, Progress], Tokenised], *, unit: str = "pairs", cut: str = "documents"
    ) -> tuple[Tokenised, Tokenised | None]:
        """What a family makes of the training and of the validation pairs; `tokens` truncates both alike and counts."""
        parts = (self.data.training, self.data.validation)
        total = sum(len(part) for part in parts if part is not None) if unit == "pairs" else None
        with Progress("tokenising", unit=unit, total=total, quiet=self.quiet) as progress:
            training, held_out = (None if part is None else make(part, progress) for part in parts)
        if tokens.truncated.documents_cut or tokens.truncated.queries_cut:
            log.warning("%s", str(tokens.truncated).replace("documents", cut))
        if training is None or not len(training):
            raise RankwellError(f"{self.data.training.folder}: expected pairs to train on, found none")
        return training, held_out

    def train(self, prepare: Callable[[Start[Settings]], tuple[Job, Settings]]) -> TrainingResult:
        """Prepare the job and train it; a resumed run keeps its number of threads."""
        start = replace(self, settings=going_on(self.run, self.settings))
        set_up(start.settings)
        with self.run.preparing():
            job, settings = prepare(start)
        return train_job(self.run, job, settings, quiet=self.quiet)


@dataclass(frozen=True)
class Training(Generic[Settings]):
    """The trainer of a family: trains on pairs into a run folder, and resumes after an interruption.

    `prepare` loads the model, makes the batches, and checks that they can be trained on; it returns the job and its
    settings. `complete` fills in settings that depend on the starting model, such as the tokens of an example.

    train_cross_encoder("pairs", "run", model="minilm-l6", settings=CrossEncoderSettings(epochs=2))
    """

    kind: str
    about: str  # the help of its command
    settings: type[Settings]
    prepare: Callable[[Start[Settings]], tuple[Job, Settings]]
    complete: Callable[[ModelFolder, Settings], Settings]

    def __call__(
        self,
        pairs: Pairs | Path | str,
        out: Path | str,
        *,
        model: str,
        settings: Settings | None = None,
        validation: Pairs | Path | str | float | None = HELD_OUT,
        resume: bool = False,
        quiet: bool = False,
        **changes: Any,
    ) -> TrainingResult:
        """Train on pairs and write a run folder, whose `model/` re-ranks or encodes.

            train.cross_encoder("pairs", "run", model="minilm-l6", epochs=2, batch_size=32)

        `changes` are single settings by name; `settings` has all of them.
        `validation`: pairs of other queries, a folder of them, or the fraction of queries to hold out; None or 0 for
        none, and then the weights of the last step are kept. With `resume` an unfinished run in `out` is continued.
        """
        settings = replace(settings or self.settings(), **known_settings(self.settings, changes))
        needs_training(f"training ({self.kind})")
        folder, data = find_trainable(model), Data.of(pairs, validation, settings.seed)
        settings = self.complete(folder, settings)
        kind = getattr(settings, "kind", self.kind)  # each review ranker has its own kind of run
        run = data.run_folder(out, kind, settings.as_dict(), folder, resume=resume)
        return Start(run, data, folder, settings, quiet).train(self.prepare)

    def resume(self, run: RunFolder, *, quiet: bool = False) -> TrainingResult:
        """Resume an interrupted run."""
        needs_training(f"training ({self.kind})")
        settings = self.settings.from_dict(run.settings)
        return Start(run, Data.reopen(run), Data.model_of(run), settings, quiet).train(self.prepare)


def with_budget(folder: ModelFolder, settings: Ranker) -> Ranker:
    """The settings with a default number of tokens that fits the model."""
    return replace(settings, max_tokens=token_budget(folder, settings.max_tokens))


def train_job(folder: RunFolder, job: Job, settings: TrainingSettings, *, quiet: bool = False) -> TrainingResult:
    """Train to the end and write the run folder; resume from the newest checkpoint, if there is one.

    With the same seed and number of threads, an interrupted and resumed run gives the same weights, on a CPU, as
    an uninterrupted one.
    """
    from rankwell.models.learning.finishing import finish
    from rankwell.models.learning.hugging_face import RunTrainer

    lock = WriterLock(folder.path)
    try:
        folder.checkpoints.tidy()
        newest = folder.checkpoints.newest()
        folder.metrics.restore(None if newest is None else newest / "metrics.jsonl")
        threads = settings.threads or cores()
        _tell_of_threads(folder, threads)
        folder.write_environment(threads)
        begin = time.monotonic()
        trainer = RunTrainer(folder, job, settings)
        history = folder.metrics.validations(job.measure)
        stopped = should_stop(history, settings.patience, higher_is_better=job.higher_is_better)
        if not stopped:  # a run may be interrupted between its last step and its end
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


def pair_ranker(
    model: Any,
    training: PairBatches,
    held_out: PairBatches | None,
    settings: PairSettings,
    write: Callable[[Any, Path], None],
) -> tuple[Job, PairSettings]:
    """The job of a model that gives a pair one logit; the batches are its arguments.

    `batch_size` counts pairs, also where the examples are lists of them.
    """
    from rankwell.models.learning.losses import loss_named

    loss = loss_named(settings.loss)
    validate = None
    if held_out is not None:
        validate = RankingValidation(held_out, validation_measures(held_out.pairs, settings.measure), loss)
    examples, lengths = examples_of(training.pairs, settings, lists=loss.lists), training.pairs.lengths

    def loss_of(model: Any, batch: dict[str, Any]) -> Any:
        given = {name: tensor for name, tensor in batch.items() if name not in ("labels", "sizes")}
        return loss(model(**given).logits.reshape(-1).float(), batch["labels"], batch["sizes"].tolist())

    longest = [int(lengths[rows].max()) for rows in examples]
    job = Job(model, examples, training, loss_of, write, validate, lengths=longest).decided_by(settings.measure)
    size = max(1, settings.batch_size // settings.list_size) if loss.lists else settings.batch_size
    return job, replace(settings, batch_size=size)


def examples_of(pairs: TokenisedPairs, settings: CrossEncoderSettings, *, lists: bool) -> list[Integers]:
    """The examples of the loss: pairs, or lists of them; refused where nothing can be learnt from them."""
    labels = pairs.labels
    if labels.min() == labels.max():
        raise RankwellError(
            f"pairs: expected pairs of both kinds, relevant and not, found {len(pairs):,} with the label "
            f"{labels.min():g} alone"
        )
    if not lists:
        if labels.min() < 0 or labels.max() > 1:
            raise RankwellError(
                f"pairs: expected labels from 0 to 1 for the loss {settings.loss}, found {labels.min():g} to "
                f"{labels.max():g}: choose another loss, or make the pairs with a minimum grade"
            )
        examples = single_pairs(len(pairs))
    else:
        examples = query_lists(pairs.groups, labels, settings.list_size)
        if not examples:
            raise RankwellError(
                f"pairs: expected queries with documents of different labels for the loss {settings.loss}, found none "
                f"among {len(np.unique(pairs.groups)):,} queries: add negatives, or train with --loss bce"
            )
    if sum(map(len, examples)) < settings.batch_size:
        log.warning("%s pairs are fewer than a batch of %s", f"{sum(map(len, examples)):,}", settings.batch_size)
    return examples
