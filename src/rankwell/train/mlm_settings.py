"""How a masked language model is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.train.held_out import DEFAULT_SHARE
from rankwell.train.masking import REPLACEMENTS
from rankwell.train.settings import TrainingSettings

RANDOM = ("uniform", "frequency")


@dataclass(frozen=True, kw_only=True)
class MlmSettings(TrainingSettings):
    """Settings of masking and measuring beside those of every training.

    `replacement` is "bert" (80 % [MASK], 10 % random, 10 % unchanged) or "all-mask" (S0); `random` says how random
    tokens are drawn. `freeze="body"` trains the head alone. Of the share `held_out` of the documents at most `measured`
    are measured with. `format`, `fields`, `id_column` and `encoding` say how the collection is read.
    """

    lr: float = 5e-5
    onnx: bool = False
    group_by_length: bool = False  # rows are of one length
    max_tokens: int = 128
    mask_probability: float = 0.15
    replacement: str = "bert"
    random: str = "uniform"
    whole_words: bool = False
    held_out: float = DEFAULT_SHARE
    held_out_seed: int = 0
    measured: int = 300
    fill: Sequence[str] = ()
    format: str | None = None
    fields: str | None = None
    id_column: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fill", tuple(self.fill))
        rules = [
            ("replacement", f"one of {', '.join(REPLACEMENTS)}", self.replacement in REPLACEMENTS),
            ("random", f"one of {', '.join(RANDOM)}", self.random in RANDOM),
            ("held_out", "a share above 0 and below 1", 0 < self.held_out < 1),
            ("measured", "a number from 1", self.measured >= 1),
            ("mask_probability", "a number between 0 and 1", 0 < self.mask_probability < 1),
        ]
        for name, expected, right in rules:
            if not right:
                raise ParameterError(name, expected=expected, found=getattr(self, name))
