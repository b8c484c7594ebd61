"""Bi-encoders: encode a text as one vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankwell.core.arrays import Floats
from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.fingerprint import fingerprint
from rankwell.core.progress import SILENT, Progress
from rankwell.models.base.export import TEXTS, Export
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.opening import check_threads, open_model, run_all
from rankwell.models.base.tokens import TextTokens, Tokenizer, Truncation


def cls(hidden: Floats) -> Floats:
    """The vector of the first token, [CLS]."""
    first: Floats = hidden[0]
    return first


def mean(hidden: Floats) -> Floats:
    """The mean over all tokens, the special ones too, as sentence-transformers does."""
    return hidden.mean(axis=0, dtype="float32")  # type: ignore[no-any-return]


def maximum(hidden: Floats) -> Floats:
    """The largest value of each dimension."""
    return hidden.max(axis=0)  # type: ignore[no-any-return]


POOLINGS: dict[str, Callable[[Floats], Floats]] = {"cls": cls, "max": maximum, "mean": mean}


class TextEncoder:
    """Encodes texts: the token vectors of a layer, pooled into one, by default of length 1.

    `layer` counts from 1, or from the end: -1 is the last.
    """

    def __init__(
        self,
        model: str,
        *,
        pooling: str | None = None,
        layer: int = -1,
        normalise: bool = True,
        max_tokens: int | None = None,
        precision: str | None = None,
        threads: int | None = None,
        query_prompt: str | None = None,
        backend: str | None = None,
    ) -> None:
        self.model, self.layer, self.normalise, self.max_tokens = model, layer, normalise, max_tokens
        self._folder = ModelFolder.find(model)
        self._threads = check_threads(threads)
        self.pooling = pooling or self._folder.pooling
        if self.pooling not in POOLINGS:
            raise ParameterError("pooling", expected=", ".join(POOLINGS), found=pooling)
        longest = self._folder.longest
        if max_tokens is not None and not 1 <= max_tokens <= longest:
            raise ParameterError("max_tokens", expected=f"a number up to {longest}", found=max_tokens)
        self.query_prompt = self._folder.query_prompt if query_prompt is None else query_prompt
        tokenizer = Tokenizer(self._folder.tokenizer_file)
        self._folder.check_tokenizer(tokenizer.vocabulary)
        self._tokens = TextTokens(tokenizer, max_tokens or longest)
        wanted = Export(TEXTS, layer=layer, first_only=self.pooling == "cls")
        self.precision, self._model = open_model(self._folder, wanted, precision, backend)
        self.dimensions = self._model.use(TEXTS)

    @property
    def megabytes(self) -> float:
        """The size of the weights in megabytes."""
        return self._model.file.stat().st_size / 1e6 if self._model.file else 0.0

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far."""
        return self._tokens.truncated

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """A vector for each document."""
        found = run_all(
            texts,
            self._tokens,
            self._model,
            finish=self._vector,
            width=self.dimensions,
            threads=self._threads,
            progress=progress,
        )
        if not np.isfinite(found).all():
            raise RankwellError(f"{self.model}: expected vectors of numbers, found some that are none")
        return found

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A vector for each query, with the model's query prefix."""
        return self.encode([self.query_prompt + text for text in texts])

    def _vector(self, hidden: Floats) -> Floats:
        vector = POOLINGS[self.pooling](hidden)
        return vector / max(float(np.linalg.norm(vector)), 1e-12) if self.normalise else vector

    def fingerprint(self) -> str:
        """Fingerprint of everything that a vector depends on besides the text."""
        how = [self.pooling, self.layer, self.normalise, self._tokens.max_tokens, self.query_prompt]
        weights = self._folder.fingerprint(self._model.file)
        return fingerprint(["texts", weights, self._model.backend, self.precision, *how])


load_text_encoder = lru_cache(maxsize=4)(TextEncoder)
"""A cached encoder: the same arguments give the same object."""
