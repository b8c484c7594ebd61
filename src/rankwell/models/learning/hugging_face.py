"""The Hugging Face Trainer with our batches, measures and checkpoints. Imports torch: import it late."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Generator, randperm
from torch.utils.data import Sampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_pt_utils import get_length_grouped_indices

from rankwell.core import SILENT, Progress, RankwellError
from rankwell.models.base.device import CPU, chosen_device
from rankwell.models.learning.run_folder import RunFolder
from rankwell.models.learning.settings import TrainingSettings, best_step, should_stop
from rankwell.models.learning.trainer import Job


class EpochSampler(Sampler[int]):
    """Positions of examples, shuffled anew in each epoch.

    The order depends only on the seed and the epoch, not on earlier draws: a run resumed in the middle of
    an epoch gets the same batches. (The Hugging Face sampler draws from torch's global random state, and a
    resumed run would get another order.) With `lengths` a batch has examples of similar length, which
    reduces padding.
    """

    def __init__(self, count: int, *, seed: int, lengths: Sequence[int] | None = None, batch_size: int = 1) -> None:
        self.count, self.seed, self.batch_size = count, seed, batch_size
        self.lengths = None if lengths is None else list(lengths)
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, from 0."""
        self.epoch = epoch

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed((self.seed << 20) + self.epoch)
        if self.lengths is None:
            return iter(randperm(self.count, generator=generator).tolist())
        return iter(self._grouped(generator))

    def _grouped(self, generator: Generator) -> list[int]:
        """Group by length as the library does, then shuffle the batches, which it leaves sorted from long to short."""
        grouped: Callable[..., list[int]] = get_length_grouped_indices
        order = grouped(self.lengths, self.batch_size, generator=generator)
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        *full, last = batches  # the last batch may be short, and must stay last
        shuffled = [full[place] for place in randperm(len(full), generator=generator).tolist()]
        return [place for batch in (*shuffled, last) for place in batch]


METRICS = "metrics.jsonl"


class RunTrainer(Trainer):
    """Trains a job, and writes its run folder."""

    loss_is_scaled_for_ga = False  # our losses are means over a batch

    def __init__(self, folder: RunFolder, job: Job, settings: TrainingSettings) -> None:
        self.folder, self.job, self.settings = folder, job, settings
        self.progress = SILENT
        self._begun = time.monotonic()
        count = len(job.examples)
        self.steps_an_epoch = max(1, math.ceil(math.ceil(count / settings.batch_size) / settings.accumulate))
        self.total_steps = settings.steps or math.ceil(self.steps_an_epoch * settings.epochs)
        self.sampler = EpochSampler(
            count,
            seed=settings.seed,
            lengths=job.lengths if settings.group_by_length else None,
            batch_size=settings.batch_size * settings.accumulate,
        )
        verbosity: Any = transformers.logging
        verbosity.set_verbosity_error()
        super().__init__(
            model=job.model,
            args=self._arguments(),
            data_collator=job.collate,
            train_dataset=job.examples,
            eval_dataset=None if job.validate is None else [],
            callbacks=[FollowRun(self)],
        )
        self.remove_callback(PrinterCallback)

    def _arguments(self) -> TrainingArguments:
        settings = self.settings
        evaluate_every = settings.evaluate_every or self.steps_an_epoch
        return TrainingArguments(
            output_dir=str(self.folder.checkpoints.path),
            max_steps=self.total_steps,
            per_device_train_batch_size=settings.batch_size,
            gradient_accumulation_steps=settings.accumulate,
            learning_rate=settings.lr,
            lr_scheduler_type="linear",
            warmup_steps=settings.warmup,
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip,
            optim="adamw_torch_fused",
            eval_strategy="no" if self.job.validate is None else "steps",
            eval_steps=evaluate_every,
            save_strategy="steps",
            save_steps=settings.save_every or evaluate_every,
            logging_strategy="steps",
            logging_steps=settings.log_every,
            logging_first_step=True,
            logging_nan_inf_filter=False,
            seed=settings.seed,
            remove_unused_columns=False,
            report_to="none",
            disable_tqdm=True,
            use_cpu=chosen_device() == CPU,
            dataloader_pin_memory=torch.cuda.is_available(),
            **_precision(settings.precision),
        )

    def run(self, checkpoint: Path | None, progress: Progress) -> None:
        """Train to the last step, from a checkpoint where there is one."""
        self.progress = progress
        self.args.eval_on_start = checkpoint is None and self.job.validate is not None
        self.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))

    def _get_train_sampler(self, train_dataset: Any = None) -> EpochSampler:  # noqa: ARG002 -- the library's signature
        return self.sampler

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,  # noqa: ARG002 -- the library's signature
    ) -> Any:
        """Compute the job's own loss."""
        loss = self.job.loss(model, inputs)
        return (loss, None) if return_outputs else loss

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        """Stop where the loss is NaN or infinite: further training would be useless."""
        loss = super().training_step(model, inputs, num_items_in_batch)
        if not torch.isfinite(loss):
            raise RankwellError(self._diverged(f"the loss is {float(loss)}"))
        return loss

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Measure on the validation examples, log, and stop early without improvement."""
        measure, higher = self.job.measure, self.job.higher_is_better
        step = int(self.state.global_step)
        if self.job.validate is None:
            return {}
        if any(line["step"] == step and "validation" in line for line in self.folder.metrics.lines()):
            return {}
        self.job.model.eval()
        with torch.inference_mode():
            measures = {name: float(value) for name, value in self.job.validate(self.job.model).items()}
        self.folder.metrics.append({"step": step, "epoch": self.state.epoch, "validation": measures})
        history = self.folder.metrics.validations(measure)
        if step == best_step(history, higher_is_better=higher):
            self.control.should_save = True
        if should_stop(history, self.settings.patience, higher_is_better=higher):
            self.control.should_training_stop = self.control.should_save = True
        return measures

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:  # noqa: ARG002 -- the library's signature
        """Write a line to `metrics.jsonl`."""
        if "loss" in logs:
            line: dict[str, Any] = {"step": self.state.global_step, "epoch": self.state.epoch, "loss": logs["loss"]}
            line |= {"lr": logs["learning_rate"], "gradient": logs.get("grad_norm")}
            self.folder.metrics.append({**line, "seconds": round(time.monotonic() - self._begun, 3)})

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Write the library's checkpoint atomically; keep the newest and the best."""
        step, place = int(self.state.global_step), self.args.output_dir
        if not all(bool(torch.isfinite(weights).all()) for weights in self.job.model.parameters()):
            raise RankwellError(self._diverged("some weights are no numbers"))
        checkpoints = self.folder.checkpoints
        with checkpoints.saving(step) as staging:
            try:
                self.args.output_dir = str(staging)
                super()._save_checkpoint(model, trial)
            finally:
                self.args.output_dir = place
            self.folder.metrics.copy_to(staging / f"checkpoint-{step}" / METRICS)
        history = self.folder.metrics.validations(self.job.measure)
        best = best_step(history, higher_is_better=self.job.higher_is_better)
        checkpoints.keep({step} if best is None else {step, best})

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Write weights and configuration; the library would add its arguments as a pickle."""
        self.job.model.save_pretrained(output_dir or self.args.output_dir, state_dict=state_dict)

    def load_weights(self, checkpoint: Path) -> None:
        """Load the weights of a checkpoint."""
        self._load_from_checkpoint(str(checkpoint))

    def _diverged(self, what: str) -> str:
        newest = self.folder.checkpoints.newest()
        kept = f"the last good checkpoint is {newest}" if newest else "no checkpoint had been saved"
        return (
            f"{self.folder.path}: training diverged at step {self.state.global_step + 1}: {what} "
            f"(learning rate {self.settings.lr:g}); {kept}: start again in another folder with a smaller learning rate"
        )


class FollowRun(TrainerCallback):
    """Passes each epoch to the sampler and the examples, shows progress, and validates after the last step."""

    def __init__(self, trainer: RunTrainer) -> None:
        self.trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 -- the library's signature
        """Count the steps already done."""
        self.trainer.progress.advance(int(state.global_step))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 -- the library's signature
        """Set the epoch, which determines the order of the examples."""
        epoch = int(state.epoch or 0)
        for part in (self.trainer.sampler, self.trainer.job.examples):
            if hasattr(part, "set_epoch"):
                part.set_epoch(epoch)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002 -- the library's signature
        """Show the last loss."""
        if logs and "loss" in logs:
            self.trainer.progress.note = f"loss {float(logs['loss']):.4f}"

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Advance the progress, and log before each checkpoint."""
        self.trainer.progress.advance()
        # The loss since the last line is not in a checkpoint: with a line before each, none of it is lost.
        control.should_log |= control.should_save or control.should_evaluate
        if state.global_step >= state.max_steps:
            control.should_log = control.should_save = True
            control.should_evaluate = args.eval_strategy != "no"


def _precision(wanted: str) -> dict[str, Any]:
    if wanted == "auto":
        if not torch.cuda.is_available():
            return {}
        return {"bf16": True} if torch.cuda.is_bf16_supported() else {"fp16": True}
    if wanted == "fp16" and not torch.cuda.is_available():
        raise RankwellError("precision: expected fp32 or bf16 on a machine without a GPU, found fp16")
    return {} if wanted == "fp32" else {wanted: True}
