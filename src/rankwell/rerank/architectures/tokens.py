"""The tokens of an example: those of all its inputs in one row, which is taken apart again before it is read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.encode import Truncation
from rankwell.encode.tokens import PairTokens, TextTokens, Tokenizer, Tokens
from rankwell.rerank.architectures.example import Architecture, Example, Input

WholeNumbers = npt.NDArray[np.signedinteger[Any]]
SEGMENTS = 2  # a token's type is twice the place of its input, and 1 more in the second of two texts


class ExampleTokens:
    """Makes the tokens of examples: `max_tokens` for each input, `query_tokens` of them for a query beside a text."""

    def __init__(
        self, architecture: Architecture, tokenizer: Tokenizer, max_tokens: int, query_tokens: int | None
    ) -> None:
        self.architecture = architecture
        self.max_tokens = max_tokens
        self._pairs = PairTokens(tokenizer, max_tokens, query_tokens)
        self._texts = TextTokens(tokenizer, max_tokens)
        self.query_tokens = self._pairs.query_tokens

    @property
    def truncated(self) -> Truncation:
        """What was cut off so far, over all inputs."""
        one, other = self._pairs.truncated, self._texts.truncated
        return Truncation(
            one.texts + other.texts,
            one.queries_cut + other.queries_cut,
            one.documents_cut + other.documents_cut,
            one.tokens_dropped + other.tokens_dropped,
        )

    def __call__(self, examples: Sequence[Example]) -> list[Tokens]:
        """A row for each example."""
        given = [self.architecture.given(example) for example in examples]
        columns = [self._column([row[place] for row in given]) for place in range(len(self.architecture.inputs))]
        return [_in_a_row(parts) for parts in zip(*columns, strict=True)]

    def _column(self, inputs: Sequence[Input]) -> list[Tokens]:
        """The tokens of one input of every example: all are pairs, or none is."""
        pairs = [one for one in inputs if not isinstance(one, str)]
        return self._pairs(pairs) if pairs else self._texts([one for one in inputs if isinstance(one, str)])


def taken_apart(ids: WholeNumbers, types: WholeNumbers, inputs: int) -> list[Tokens]:
    """The tokens of each input."""
    bounds = np.searchsorted(types, SEGMENTS * np.arange(inputs + 1)).tolist()  # as inputs follow one another
    wide = [array.astype(np.int64, copy=False) for array in (ids, types % SEGMENTS)]
    return [Tokens(*(array[start:end] for array in wide)) for start, end in pairwise(bounds)]


def _in_a_row(parts: Sequence[Tokens]) -> Tokens:
    ids = np.concatenate([part.ids for part in parts])
    types = np.concatenate([part.types + SEGMENTS * place for place, part in enumerate(parts)])
    return Tokens(ids, types)
