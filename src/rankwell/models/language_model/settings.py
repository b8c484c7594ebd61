"""Settings for training a masked language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from rankwell.core import ParameterError
from rankwell.core.parameters import Flag, Number, Text, Whole, check_parameters, like, param
from rankwell.models.language_model.masking import REPLACEMENTS
from rankwell.models.learning.settings import TrainingSettings

DEFAULT_SHARE = 0.05


def unit_hash(*parts: str | int) -> float:
    """A number in [0, 1) that depends only on the parts: the same on every machine and in every order."""
    text = "\0".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=6).digest()) / 2.0**48


def is_held_out(document_id: str, share: float = DEFAULT_SHARE, seed: int = 0) -> bool:
    """Whether a document is held out from training, independently of other documents."""
    if not 0 <= share < 1:
        raise ParameterError("held_out", expected="a share from 0 to less than 1", found=share)
    return unit_hash("held out", seed, document_id) < share


RANDOM = ("uniform", "frequency")


@dataclass(frozen=True, kw_only=True)
class MlmSettings(TrainingSettings):
    """Settings of masking and measuring, besides those of all training.

    The COVID-19 study has the `replacement` "all-mask". `format`, `fields`, `id_column` and `encoding` say how the
    collection is read.
    """

    lr: float = like(TrainingSettings, "lr", default=5e-5)
    batch_size: int = like(TrainingSettings, "batch_size", help="Batch size: rows of tokens that are run together.")
    freeze: str = like(
        TrainingSettings,
        "freeze",
        help="Weights that stay as they are: none, embeddings, layers:N (the first N); body trains the head alone.",
    )
    seed: int = like(TrainingSettings, "seed", help="Random seed: new weights, order, dropout and masks.")
    dropout: float | None = None  # always the model's own
    onnx: bool = False  # a masked language model is a starting point, and ranks nothing
    group_by_length: bool = False  # rows have equal lengths
    max_tokens: int = param(128, "Tokens in a row.", Whole(1))
    mask_probability: float = param(
        0.15, "Share of the tokens that are masked and guessed.", Number(0, 1, above=True, below=True)
    )
    replacement: str = param(
        "bert",
        "What masked tokens become: bert (80 % [MASK], 10 % random, 10 % unchanged) or all-mask.",
        Text(tuple(REPLACEMENTS)),
    )
    random: str = param("uniform", "How random tokens are drawn: uniform, or by their frequency.", Text(RANDOM))
    whole_words: bool = param(False, "Mask whole words, not single tokens.", Flag())
    held_out: float = param(
        DEFAULT_SHARE, "Share of the documents that are held out from training.", Number(0, 1, above=True, below=True)
    )
    held_out_seed: int = param(0, "Random seed that chooses the held-out documents.", Whole())
    measured: int = param(300, "Held-out documents to measure with, at most.", Whole(1))
    fill: Sequence[str] = ()
    format: str | None = None
    fields: str | None = None
    id_column: str | None = None
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "fill", tuple(self.fill))


@dataclass(frozen=True)
class VocabularySettings:
    """Which words of a collection are added to a vocabulary; `held_out` and `seed` are those of `MlmSettings`."""

    words: int = param(1000, "Words to add.", Whole(1))
    at_least: int = param(2, "Add only words that occur at least so often.", Whole(1))
    held_out: float = param(
        DEFAULT_SHARE,
        "Share of the documents to take no words from; train mlm measures with them.",
        Number(0, 1, below=True),
    )
    seed: int = like(MlmSettings, "held_out_seed")

    def __post_init__(self) -> None:
        check_parameters(self)
