"""How one of the four S3 architectures is trained."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.rerank.architectures import Architecture, ArchitectureRecord, Reading, architecture
from rankwell.rerank.architectures.interaction import Interaction
from rankwell.train.cross_encoder import CrossEncoderSettings
from rankwell.train.freezing import HEAD


@dataclass(frozen=True, kw_only=True)
class ArchitectureSettings(CrossEncoderSettings):
    """What may be varied (S3 table 4.1), beside what all training has; S3's own choice is the default.

    `kind`: interaction, representation, dual-interaction or triple-representation. `texts`: QA or QTA, for the two
    that read query and document together. `clean`: texts cleaned first. Documents whose abstract has fewer than
    `least_words` words are not trained on; of longer ones the first `most_words` are read. `shared`: one encoder for
    all inputs. `freeze="head"` keeps all of BERT as it is, and puts the head of three layers on top, each of
    `head_ratio` as many units as the one before. `max_tokens` is the budget of each input.
    """

    kind: str = Interaction.kind
    texts: str | None = None
    clean: bool = False
    least_words: int = 0
    most_words: int | None = None
    shared: bool = False
    head_ratio: float = 0.75
    measure: str = "AP"
    lr: float = 1e-4
    warmup: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        architecture(self.kind, self.texts)
        Reading(self.clean, self.most_words)
        if not 0 < self.head_ratio <= 1:
            raise ParameterError("head_ratio", expected="a share above 0, up to 1", found=self.head_ratio)
        if self.least_words < 0 or (self.most_words is not None and self.least_words > self.most_words):
            expected = "a number of words from 0" + (f" to {self.most_words}" if self.most_words else "")
            raise ParameterError("least_words", expected=expected, found=self.least_words)

    @property
    def architecture(self) -> Architecture:
        """Which of the four."""
        return architecture(self.kind, self.texts)

    @property
    def frozen(self) -> bool:
        """Whether nothing of BERT is trained."""
        return self.freeze == HEAD

    def record(self) -> ArchitectureRecord:
        """What the model's folder says of itself."""
        return ArchitectureRecord(
            self.kind,
            texts=self.texts,
            max_tokens=self.max_tokens or 0,
            query_tokens=self.query_tokens,
            clean=self.clean,
            most_words=self.most_words,
            shared=self.shared,
            seed=self.seed,
        )
