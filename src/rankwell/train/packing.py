"""Texts as rows of tokens of one length: one after the other, cut where a row is full, so that nothing is padding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwell.core import ParameterError, RankwellError
from rankwell.core.arrays import Integers
from rankwell.core.fingerprint import fingerprint
from rankwell.train.masking import Flags

TEXTS = 512  # that are tokenised at once
SHORTEST = 8  # tokens of a row, the two special ones included
SMALL = np.iinfo(np.uint16).max


@dataclass(frozen=True, eq=False)
class PackedTexts:
    """Rows that begin and end with the tokenizer's special tokens; texts are parted by the closing one.

    Only the last row may hold padding. `starts` marks the first token of each word.
    """

    ids: Integers
    starts: Flags
    texts: int
    tokens: int
    padding: int

    def __len__(self) -> int:
        return len(self.ids)

    def fingerprint(self) -> str:
        """Over all tokens."""
        import hashlib

        content = np.ascontiguousarray(self.ids, dtype=np.int32)
        return fingerprint([self.ids.shape, hashlib.sha256(content.data).hexdigest()])

    def frequencies(self, size: int) -> npt.NDArray[np.float64]:
        """How often each entry of the vocabulary occurs."""
        return np.bincount(self.ids.ravel(), minlength=size).astype(np.float64)


def pack(texts: Iterable[str], tokenizer: Any, max_tokens: int, padding: int) -> PackedTexts:
    """Tokenise texts with a tokenizer of `tokenizers` and pack them into rows of `max_tokens`."""
    if max_tokens < SHORTEST:
        raise ParameterError("max_tokens", expected=f"a number from {SHORTEST}", found=max_tokens)
    opening, closing = frame(tokenizer)
    counted, found, starts = 0, [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.bool_)]
    for ids, firsts in _tokenised(texts, tokenizer, closing):
        small = np.uint16 if tokenizer.get_vocab_size(with_added_tokens=True) <= SMALL else np.int32
        found.append(ids.astype(small))
        starts.append(firsts)
        counted += 1
    tokens = sum(map(len, found)) - counted
    if not tokens:
        raise RankwellError(f"texts: expected texts to learn from, found {counted:,} with nothing in them")
    joined, begun = np.concatenate(found[1:])[:-1], np.concatenate(starts)[:-1]  # no parting after the last text
    inner = max_tokens - 2
    rows = -(-len(joined) // inner)
    shape, missing = (rows, inner), rows * inner - len(joined)
    body = np.concatenate((joined, np.full(missing, padding, dtype=joined.dtype))).reshape(shape)
    first = np.concatenate((begun, np.ones(missing, dtype=np.bool_))).reshape(shape)
    edge = np.ones((rows, 1), dtype=joined.dtype)
    whole = np.hstack((edge * opening, body, edge * closing)).astype(joined.dtype)
    flags = np.hstack((edge.astype(np.bool_), first, edge.astype(np.bool_)))
    return PackedTexts(whole, flags, counted, tokens, padding)


def frame(tokenizer: Any) -> tuple[int, int]:
    """The special tokens that a sequence begins and ends with."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:  # noqa: PLR2004 -- one at each end
        raise RankwellError(f"tokenizer: expected one special token at each end of a text, found {len(ids)} in all")
    return int(ids[0]), int(ids[1])


def _tokenised(texts: Iterable[str], tokenizer: Any, closing: int) -> Iterator[tuple[Integers, Flags]]:
    """Each text's tokens with the parting one at the end, and which of them begin words."""
    rest = iter(texts)
    while some := list(islice(rest, TEXTS)):
        for encoding in tokenizer.encode_batch(some, add_special_tokens=False):
            words = np.array([-1 if word is None else word for word in [*encoding.word_ids, None]], dtype=np.int64)
            if len(words) > 1:  # an empty text has nothing but its end
                yield np.array([*encoding.ids, closing], dtype=np.int64), np.diff(words, prepend=-2) != 0
