"""The texts of pairs as token ids, each text stored once, and batches of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwell.core import Progress
from rankwell.core.arrays import Integers
from rankwell.core.progress import SILENT
from rankwell.models.base.tokens import TextTokens
from rankwell.models.learning.pairs import Pairs

WINDOW = 4096  # pairs whose texts are tokenised together


class TextTable:
    """Tokenised texts; equal texts share an entry."""

    def __init__(self, tokens: TextTokens) -> None:
        self._tokens = tokens
        self._places: dict[bytes, int] = {}
        self._ids: list[np.ndarray[Any, np.dtype[np.int32]]] = []

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, place: int) -> np.ndarray[Any, np.dtype[np.int32]]:
        return self._ids[place]

    def add(self, texts: Sequence[str]) -> list[int]:
        """Tokenise new texts and return the entries of all."""
        digests = [hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest() for text in texts]
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._places}
        for digest, tokens in zip(new, self._tokens(list(new.values())), strict=True):
            self._places[digest] = len(self._ids)
            self._ids.append(tokens.ids.astype(np.int32))
        return [self._places[digest] for digest in digests]

    def inputs(self, places: Sequence[int], padding: int) -> dict[str, Any]:
        """The model's input for some texts, padded to the longest."""
        import torch

        chosen = [self._ids[place] for place in places]
        ids = np.full((len(chosen), max(map(len, chosen))), padding, dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(chosen):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}


@dataclass(frozen=True, eq=False)
class PairTexts:
    """Pairs with texts in a table: `queries[i]` and `documents[i]` are the entries of pair i."""

    table: TextTable
    queries: Integers
    documents: Integers
    labels: np.ndarray[Any, np.dtype[np.float32]]
    groups: Integers
    query_ids: Sequence[str]
    document_ids: Sequence[str]

    @classmethod
    def of(cls, pairs: Pairs, table: TextTable, prompt: str, progress: Progress = SILENT) -> PairTexts:
        """Tokenise the texts of all pairs; `prompt` precedes queries."""
        queries: list[int] = []
        documents: list[int] = []
        for batch in pairs.batches(["query", "document"], WINDOW):
            queries += table.add([prompt + text for text in batch["query"].to_pylist()])
            documents += table.add(batch["document"].to_pylist())
            progress.advance(len(batch))
        return cls(
            table,
            np.array(queries, dtype=np.int64),
            np.array(documents, dtype=np.int64),
            np.array(pairs.column("label"), dtype=np.float32),
            np.array(pairs.column("group"), dtype=np.int64),
            pairs.column("query_id"),
            pairs.column("document_id"),
        )

    def __len__(self) -> int:
        return len(self.labels)
