"""Cross-encoders: a query and a document together through a transformer, and a classifier on top."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rankwell.core.errors import ParameterError, RankwellError
from rankwell.core.fingerprint import fingerprint
from rankwell.core.progress import SILENT, Progress
from rankwell.core.run import sigmoid
from rankwell.models.base.export import PAIRS, Export
from rankwell.models.base.folder import ModelFolder
from rankwell.models.base.opening import check_threads, open_model, run_all
from rankwell.models.base.tokens import Pair, PairTokens, Tokenizer, Truncation, as_text

CLASSIFIER, NEXT_SENTENCE = "classifier", "next-sentence"
SMALLEST = 16  # tokens


class PairScorer:
    """Gives (query, document) pairs the logits of a cross-encoder.

    `kind` is "classifier", or "next-sentence" for the head of BERT's pre-training (the COVID-19 study's untrained
    baseline): does the document follow the query? A score depends on its pair alone, not on the rest of the batch.
    """

    def __init__(
        self,
        model: str,
        *,
        max_tokens: int | None = None,
        query_tokens: int | None = None,
        precision: str | None = None,
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        self.model = model
        self._folder = ModelFolder.find(model)
        self._threads = check_threads(threads)
        longest = self._folder.longest
        if max_tokens is not None and not SMALLEST <= max_tokens <= longest:
            raise ParameterError("max_tokens", expected=f"a number from {SMALLEST} to {longest}", found=max_tokens)
        tokenizer = Tokenizer(self._folder.tokenizer_file)
        self._folder.check_tokenizer(tokenizer.vocabulary)
        self._tokens = PairTokens(tokenizer, max_tokens or longest, query_tokens)
        self.precision, self._model = open_model(self._folder, Export(PAIRS), precision, backend)
        self.labels = self._model.use(PAIRS)
        self.kind = NEXT_SENTENCE if self._folder.next_sentence else CLASSIFIER

    @property
    def megabytes(self) -> float:
        """The size of the weights in megabytes."""
        return self._model.file.stat().st_size / 1e6 if self._model.file else 0.0

    @property
    def truncated(self) -> Truncation:
        """Statistics of truncated texts so far."""
        return self._tokens.truncated

    def logits(self, pairs: Sequence[Pair], progress: Progress = SILENT) -> NDArray[np.float32]:
        """The logits of each pair: a row with a number for each label."""
        found = run_all(
            [(query, as_text(document)) for query, document in pairs],
            self._tokens,
            self._model,
            finish=lambda row: row,
            width=self.labels,
            threads=self._threads,
            progress=progress,
        )
        wrong = np.flatnonzero(~np.isfinite(found).all(axis=1))
        if len(wrong):
            query, document = pairs[wrong[0]]
            raise RankwellError(
                f"{self.model}: expected numbers, found {found[wrong[0]].tolist()} for the query {query[:60]!r} "
                f"and the document {as_text(document)[:60]!r} ({len(wrong):,} of {len(pairs):,} pairs)"
            )
        return found

    def scores(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """One score a pair: the only logit, or the difference between "relevant" and "not relevant"."""
        if self.labels == 1:
            return logits[:, 0]
        if self.labels != 2:  # noqa: PLR2004 -- yes and no
            raise RankwellError(
                f"{self.model}: expected a model with 1 label (relevant) or 2 (not relevant, relevant) to rank with, "
                f"found {self.labels}"
            )
        # BERT's next-sentence head calls "is next" 0; classifiers call "relevant" 1.
        yes, no = (0, 1) if self.kind == NEXT_SENTENCE else (1, 0)
        return logits[:, yes] - logits[:, no]

    def probabilities(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sigmoid of a score, which for two labels is their softmax."""
        return sigmoid(scores).astype(np.float32)

    def fingerprint(self) -> str:
        """Fingerprint of everything that a logit depends on besides the pair."""
        budgets = [self._tokens.max_tokens, self._tokens.query_tokens]
        weights = self._folder.fingerprint(self._model.file)
        return fingerprint(["pairs", weights, self._model.backend, self.precision, self.kind, *budgets])


load_pair_scorer = lru_cache(maxsize=4)(PairScorer)
"""A cached scorer: the same arguments give the same object."""
