"""The folder of a trained architecture, which says all that is needed to read texts as it was trained to.

ranker.json        the kind, and the settings below
tokenizer.json     one for all encoders
encoder/           a Hugging Face folder: the encoder that all inputs share; or one for each, by its name
head.safetensors   the head's layers
onnx/model.onnx    all of it as one graph
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rankwell.core import FormatError
from rankwell.rerank.architectures.example import Architecture, Reading
from rankwell.rerank.architectures.table import architecture
from rankwell.rerank.ranker_record import RECORD, RankerRecord, read_record

HEAD, GRAPH, SHARED = "head.safetensors", Path("onnx") / "model.onnx", "encoder"
NEEDED = ("texts", "max_tokens")


@dataclass(frozen=True)
class ArchitectureRecord:
    """What `ranker.json` says of an architecture: how it reads, and its budgets of tokens."""

    kind: str
    texts: str | None
    max_tokens: int
    query_tokens: int | None = None
    clean: bool = False
    most_words: int | None = None
    shared: bool = False
    seed: int = 0

    @property
    def architecture(self) -> Architecture:
        """Which of the four."""
        return architecture(self.kind, self.texts)

    @property
    def reading(self) -> Reading:
        """What is done with texts first."""
        return Reading(self.clean, self.most_words)

    def encoder(self, name: str) -> str:
        """The folder of the encoder that reads an input."""
        return SHARED if self.shared else name

    def write(self, folder: Path) -> None:
        """Leave it in the model's folder."""
        settings = asdict(self)
        RankerRecord(settings.pop("kind"), settings).write(folder)

    @classmethod
    def read(cls, folder: Path) -> ArchitectureRecord:
        """From a model's folder."""
        record = read_record(folder)
        if record is None:
            raise FormatError(folder / RECORD, None, expected="a record of an architecture", found="none")
        return cls.of(record, folder)

    @classmethod
    def of(cls, record: RankerRecord, folder: Path) -> ArchitectureRecord:
        """From what the folder's record says."""
        settings: Mapping[str, Any] = record.settings
        known = [part.name for part in fields(cls)[1:]]
        wrong = [name for name in settings if name not in known] or [name for name in NEEDED if name not in settings]
        if wrong:
            expected = f"the settings {', '.join(known)} of an architecture"
            raise FormatError(folder / RECORD, None, expected=expected, found=", ".join(settings))
        found = cls(record.kind, **settings)
        found.architecture, found.reading  # noqa: B018 -- a wrong word in them is found here
        return found
