"""An encoder that needs no model, for tests of everything around one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rankwell.core.arrays import Floats
from rankwell.core.progress import SILENT, Progress


class HashingEncoder:
    """A bag of words: each word has a fixed random direction, a text is the sum of its words'."""

    def __init__(self, dimensions: int = 24, seed: str = "", model: str = "hashing") -> None:
        self.model, self.dimensions, self.seed = model, dimensions, seed
        self.pooling, self.layer = "mean", -1
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> Floats:
        self.encoded += texts
        progress.advance(len(texts))
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(-1, self.dimensions)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def fingerprint(self) -> str:
        return f"hashing {self.dimensions} {self.seed}"

    def _vector(self, text: str) -> Floats:
        return sum((self._word(word) for word in text.lower().split()), np.zeros(self.dimensions, dtype=np.float32))

    def _word(self, word: str) -> Floats:
        return direction(f"{self.seed}{word}", self.dimensions)


@lru_cache(maxsize=10_000)
def direction(word: str, dimensions: int) -> Floats:
    digest = hashlib.sha256(word.encode()).digest()
    return np.random.default_rng(list(digest)).standard_normal(dimensions).astype(np.float32)
