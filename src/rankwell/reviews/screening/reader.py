"""BERT reads records: a vector for each text, kept on disk as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankwell.core.progress import SILENT, Progress
from rankwell.reviews.screening.vector_cache import Vector, VectorCache

if TYPE_CHECKING:
    from rankwell.encode import TextEncoder

MODEL = "minilm-l6"
"""What reads where no other model is named: small, and trained to bring texts of one meaning together."""
AT_ONCE = 32  # texts between two looks at whether to stop; a kill loses no more than these

Vectors = npt.NDArray[np.float32]


class StoppedError(Exception):
    """The reader was told to stop before it had read everything."""


@dataclass(frozen=True)
class Reader:
    """Reads texts with a model that was fetched."""

    encoder: TextEncoder
    cache: VectorCache

    @classmethod
    def open(cls, model: str = MODEL, *, threads: int | None = None) -> Reader:
        """A reader with this model: a short name or a folder; where it is not there, the error says how to fetch it."""
        from rankwell.encode import load_text_encoder

        encoder = load_text_encoder(model, threads=threads)
        return cls(encoder, VectorCache(encoder.fingerprint(), encoder.dimensions))

    def read(
        self, texts: Sequence[str], progress: Progress = SILENT, *, stopped: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """A row for each text; what was read before, by anybody, comes from the disk."""
        known = self.cache.get(dict.fromkeys(texts))
        progress.advance(sum(text in known for text in texts))
        left = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(left), AT_ONCE):
            if stopped():
                raise StoppedError
            some = left[start : start + AT_ONCE]
            found: dict[str, Vector] = dict(zip(some, self.encoder.encode(some), strict=True))
            self.cache.add(found)
            known |= found
            progress.advance(len(some))
        if not texts:
            return np.zeros((0, self.encoder.dimensions), dtype=np.float32)
        return np.stack([known[text] for text in texts])
