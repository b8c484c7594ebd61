"""A query and two documents as token ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from rankwell.core import ParameterError
from rankwell.encode.tokens import QUERY_TOKENS, Tokenizer, Tokens, Truncation

FEWEST = 12  # tokens that a query and two documents have room for at least
Heads = tuple[list[int], int]  # the tokens that are kept of a text, and how many were not
Triple = tuple[str, str, str]  # a query, the document that may win, and the one it is compared with


class TripleTokens:
    """Makes `[CLS] q [SEP] d_i [SEP] d_j [SEP]` of triples, in the segments 0, 1 and 2.

    The query keeps its first `query_tokens` tokens (62 by default), and each document at most half of what is then left
    of `max_tokens`: 62 + 2 x 223 + 4 special ones are 512. Budgets and segments are those of Nogueira, Yang, Cho and
    Lin, "Multi-stage document ranking with BERT", 2019 (arXiv 1910.14424) and of its code. BERT is pre-trained with two
    segments: `rankwell train duo` gives it a third, which begins as a copy of the second. Models without segments have
    none here either.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, query_tokens: int | None) -> None:
        frame = tokenizer.pair
        special = len(frame) + len(frame.between)
        self.room, self.max_tokens = max_tokens - special, max_tokens
        if self.room < FEWEST:
            raise ParameterError("max_tokens", expected=f"at least {FEWEST + special}", found=max_tokens)
        self.query_tokens = min(QUERY_TOKENS, self.room // 3) if query_tokens is None else query_tokens
        if not 1 <= self.query_tokens <= self.room - 2:
            raise ParameterError("query_tokens", expected=f"a number from 1 to {self.room - 2}", found=query_tokens)
        self.truncated = Truncation()
        self._tokenizer = tokenizer

    def __call__(self, triples: Sequence[Triple]) -> list[Tokens]:
        """The token ids of each triple; each text is looked at once."""
        queries = self._heads((query for query, _, _ in triples), self.query_tokens)
        documents = self._heads(chain.from_iterable((one, other) for _, one, other in triples), self.document_tokens)
        return [self.join(queries[query], documents[one], documents[other]) for query, one, other in triples]

    @property
    def document_tokens(self) -> int:
        """The most that a document may have, beside the shortest query."""
        return (self.room - 1) // 2

    def query_heads(self, queries: Sequence[str]) -> list[Heads]:
        """What is kept of each query."""
        return self._tokenizer.heads(queries, self.query_tokens)

    def document_heads(self, documents: Sequence[str]) -> list[Heads]:
        """What is kept of each document at most."""
        return self._tokenizer.heads(documents, self.document_tokens)

    def join(self, query: Heads, one: Heads, other: Heads) -> Tokens:
        """A triple of texts that were tokenised before."""
        frame, counts = self._tokenizer.pair, self.truncated
        half = (self.room - len(query[0])) // 2
        parts = [query[0], one[0][:half], other[0][:half]]
        dropped = [query[1], *(more + len(ids) - len(ids[:half]) for ids, more in (one, other))]
        counts.texts += 1
        counts.queries_cut += dropped[0] > 0
        counts.documents_cut += sum(more > 0 for more in dropped[1:])
        counts.tokens_dropped += sum(dropped)
        first = [*frame.before, *parts[0], *frame.between]
        second, third = [*parts[1], *frame.between], [*parts[2], *frame.after]
        types = np.repeat([0, frame.second, 2 * frame.second], [len(first), len(second), len(third)])
        return Tokens(np.array(first + second + third, dtype=np.int64), types.astype(np.int64))

    def _heads(self, texts: Iterable[str], budget: int) -> dict[str, Heads]:
        unique = list(dict.fromkeys(texts))
        return dict(zip(unique, self._tokenizer.heads(unique, budget), strict=True))
