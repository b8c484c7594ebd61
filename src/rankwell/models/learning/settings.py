"""The settings shared by all training, and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from rankwell.core import ParameterError
from rankwell.core.parameters import FROM_ZERO, POSITIVE, Flag, Number, Text, Whole, check_parameters, param
from rankwell.evaluation import parse_measure

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
LARGEST_SEED = (1 << 32) - 1
USUAL_TOKENS = 256  # tokens of an example, if the model takes that many
HELD_OUT = 0.1  # fraction of the queries


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """The settings of all training: AdamW, a linear warm-up and a linear decay to 0.

    A step uses `batch_size` times `accumulate` examples. `precision="auto"` is bf16 or fp16 on a GPU that supports it,
    else fp32.
    """

    epochs: float = param(3.0, "Passes over the training data.", POSITIVE)
    steps: int | None = param(None, "Optimisation steps, instead of epochs.", Whole(1))
    batch_size: int = param(16, "Batch size: pairs that are run together.", Whole(1))
    accumulate: int = param(1, "Batches whose gradients are added up before the weights are updated.", Whole(1))
    lr: float = param(2e-5, "Highest learning rate (AdamW).", POSITIVE)
    warmup: float = param(0.1, "Warm-up: fraction of the steps (< 1) or number of steps.", FROM_ZERO)
    weight_decay: float = param(0.01, "Weight decay (AdamW).", FROM_ZERO)
    dropout: float | None = param(None, "Dropout probability (default: the model's own).", Number(0, 1, below=True))
    clip: float = param(1.0, "Clip gradients to this norm; 0: no clipping.", FROM_ZERO)
    freeze: str = param(
        "none",
        "Weights that stay as they are: none, embeddings, layers:N (the first N); head trains the head alone.",
        Text(),
        example="layers:4",
    )
    evaluate_every: int | None = param(None, "Steps between two validations (default: one epoch).", Whole(1))
    save_every: int | None = param(None, "Steps between two checkpoints (default: as validations).", Whole(1))
    log_every: int = param(10, "Steps between two lines of the training log.", Whole(1))
    patience: int | None = param(None, "Stop after so many validations without a better one.", Whole(1))
    group_by_length: bool = param(True, "Put texts of similar length into one batch.", Flag())
    precision: str = param("auto", "Arithmetic.", Text(PRECISIONS))
    seed: int = param(42, "Random seed: new weights, order, dropout and held-out queries.", Whole(0, LARGEST_SEED))
    threads: int | None = param(None, "CPU threads (default: all cores).", Whole(1))
    keep_checkpoints: bool = param(False, "Keep the checkpoints after training.", Flag())
    onnx: bool = param(True, "Also write the model as ONNX.", Flag())

    unchecked: ClassVar[tuple[str, ...]] = ()  # parameters with a parser of their own

    def __post_init__(self) -> None:
        check_parameters(self, but=self.unchecked)

    def as_dict(self) -> dict[str, Any]:
        """The settings by name, as stored beside a model."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Create from settings by name; unknown names are refused."""
        known = {field.name for field in fields(cls)}
        strangers = sorted(set(values) - known)
        if strangers:
            raise ParameterError("settings", expected=f"names among {', '.join(sorted(known))}", found=strangers[0])
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class RankerSettings(TrainingSettings):
    """Further settings for training rankers: the length of inputs, and the measure that selects the step to keep."""

    max_tokens: int | None = param(
        None, f"Tokens of query and document together (default: {USUAL_TOKENS}).", Whole(1), example=USUAL_TOKENS
    )
    measure: str = param(
        "nDCG@10",
        "Measure on the validation queries that decides which step is kept: nDCG@10, RR@10, AP, AUC, ...",
        Text(),
        flags=("--measure", "-m"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_measure(self.measure)


@dataclass(frozen=True)
class ValidationSettings:
    """The validation queries of a training."""

    validation: str = param(
        str(HELD_OUT), "Validation: share of the queries to hold out, or a folder of pairs; 0 for none.", Text()
    )

    @property
    def chosen(self) -> float | str:
        """The fraction, or the folder."""
        try:
            return float(self.validation)
        except ValueError:
            return self.validation


History = Sequence[tuple[int, float]]  # steps with the measure after each; the first may be step 0


def best_step(history: History, *, higher_is_better: bool = True) -> int | None:
    """The step with the best measure, the earliest of equal ones; step 0, before training, does not count.

    NaN is never the best.
    """
    sign = 1 if higher_is_better else -1
    best: tuple[float, int] | None = None
    for step, value in history:
        if step > 0 and value == value and (best is None or sign * value > best[0]):  # noqa: PLR0124 -- NaN
            best = (sign * value, step)
    return None if best is None else best[1]


def should_stop(history: History, patience: int | None, *, higher_is_better: bool = True) -> bool:
    """Whether the last `patience` evaluations brought no improvement."""
    if patience is None:
        return False
    steps = [step for step, _ in history if step > 0]
    best = best_step(history, higher_is_better=higher_is_better)
    since = sum(step > best for step in steps) if best is not None else len(steps)
    return since >= patience
