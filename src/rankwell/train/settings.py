"""How a model is trained: everything that one may want to change, in one flat record that is written beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from rankwell.core import ParameterError

PRECISIONS = ("auto", "fp32", "bf16", "fp16")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What every kind of training has in common: AdamW, a linear warm-up and a linear decay to nothing.

    `epochs` counts passes over the examples, `steps` (instead) changes of the weights; a step sees `batch_size` times
    `accumulate` examples. `warmup` is a share of all steps below 1, or a number of steps. `dropout=None` leaves the
    model's own. `evaluate_every` and `save_every` are steps (None: once an epoch); `patience` stops after so many
    evaluations without a new best. `precision="auto"` takes bf16 or fp16 on a GPU that has it, fp32 elsewhere.
    """

    epochs: float = 3.0
    steps: int | None = None
    batch_size: int = 16
    accumulate: int = 1
    lr: float = 2e-5
    warmup: float = 0.1
    weight_decay: float = 0.01
    dropout: float | None = None
    clip: float = 1.0
    freeze: str = "none"
    evaluate_every: int | None = None
    save_every: int | None = None
    log_every: int = 10
    patience: int | None = None
    group_by_length: bool = True
    precision: str = "auto"
    seed: int = 42
    threads: int | None = None
    keep_checkpoints: bool = False
    onnx: bool = True

    def __post_init__(self) -> None:
        positive = ("epochs", "lr", "batch_size", "accumulate", "log_every")
        rules: list[tuple[str, str, bool]] = [(name, "a number above 0", getattr(self, name) > 0) for name in positive]
        for name in ("steps", "evaluate_every", "save_every", "patience", "threads"):
            value = getattr(self, name)
            rules.append((name, "a number from 1", value is None or value >= 1))
        rules += [(name, "0 or more", getattr(self, name) >= 0) for name in ("warmup", "weight_decay", "clip")]
        rules += [("dropout", "a share from 0 to below 1", self.dropout is None or 0 <= self.dropout < 1)]
        rules += [("precision", ", ".join(PRECISIONS), self.precision in PRECISIONS)]
        rules += [("seed", "a whole number from 0 to 4294967295", 0 <= self.seed < 1 << 32)]
        for name, expected, right in rules:
            if not right:
                raise ParameterError(name, expected=expected, found=getattr(self, name))

    def as_dict(self) -> dict[str, Any]:
        """The settings by name, as they are written beside a model."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From settings by name; an unknown one is refused."""
        known = {field.name for field in fields(cls)}
        strangers = sorted(set(values) - known)
        if strangers:
            raise ParameterError("settings", expected=f"names among {', '.join(sorted(known))}", found=strangers[0])
        return cls(**values)
