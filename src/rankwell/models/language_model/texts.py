"""The texts of a collection as token rows of equal length, some of them held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwell.core import Document, Integers, ParameterError, RankwellError, fingerprint
from rankwell.models.language_model.masking import Flags, Masker, MaskTokenizer
from rankwell.models.language_model.settings import MlmSettings, is_held_out, unit_hash

TEXTS = 512  # texts tokenised at once
SHORTEST = 8  # tokens of a row, with the two special ones
SMALL = np.iinfo(np.uint16).max


@dataclass(frozen=True, eq=False)
class PackedTexts:
    """Rows that begin and end with the tokenizer's special tokens; the closing one separates texts.

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
        """A fingerprint of all tokens."""
        content = np.ascontiguousarray(self.ids, dtype=np.int32)
        return fingerprint([self.ids.shape, hashlib.sha256(content.data).hexdigest()])

    def frequencies(self, size: int) -> npt.NDArray[np.float64]:
        """The frequency of each entry of the vocabulary."""
        return np.bincount(self.ids.ravel(), minlength=size).astype(np.float64)


def pack(texts: Iterable[str], tokenizer: Any, max_tokens: int, padding: int) -> PackedTexts:
    """Tokenise texts with a tokenizer of `tokenizers` and pack them into rows of `max_tokens`."""
    if max_tokens < SHORTEST:
        raise ParameterError("max_tokens", expected=f"a number from {SHORTEST}", found=max_tokens)
    opening, closing = frame(tokenizer)
    counted, ids_of_texts, starts = 0, [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.bool_)]
    for ids, firsts in _tokenised(texts, tokenizer, closing):
        small = np.uint16 if tokenizer.get_vocab_size(with_added_tokens=True) <= SMALL else np.int32
        ids_of_texts.append(ids.astype(small))
        starts.append(firsts)
        counted += 1
    tokens = sum(map(len, ids_of_texts)) - counted
    if not tokens:
        raise RankwellError(f"texts: expected texts to learn from, found {counted:,} with nothing in them")
    # There is no separator after the last text.
    joined, begun = np.concatenate(ids_of_texts[1:])[:-1], np.concatenate(starts)[:-1]
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
    """The special tokens at the beginning and the end of a sequence."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:  # noqa: PLR2004 -- one at each end
        raise RankwellError(f"tokenizer: expected one special token at each end of a text, found {len(ids)} in all")
    return int(ids[0]), int(ids[1])


def _tokenised(texts: Iterable[str], tokenizer: Any, closing: int) -> Iterator[tuple[Integers, Flags]]:
    """Each text's tokens with the separator at the end, and a mask of word starts."""
    rest = iter(texts)
    while some := list(islice(rest, TEXTS)):
        for encoding in tokenizer.encode_batch(some, add_special_tokens=False):
            words = np.array([-1 if word is None else word for word in [*encoding.word_ids, None]], dtype=np.int64)
            if len(words) > 1:  # an empty text has only its end
                yield np.array([*encoding.ids, closing], dtype=np.int64), np.diff(words, prepend=-2) != 0


@dataclass(frozen=True)
class MlmTexts:
    """Token rows for training, and held-out texts by document."""

    training: PackedTexts
    held_out: dict[str, str]

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint of all tokens and texts."""
        held_out = hashlib.sha256("\0".join(self.held_out.values()).encode(errors="surrogatepass"))
        return fingerprint([self.training.fingerprint(), list(self.held_out), held_out.hexdigest()])


def read_mlm_texts(documents: Iterable[Document], vocabulary: MaskTokenizer, settings: MlmSettings) -> MlmTexts:
    """Tokenise and pack the training texts, and keep the held-out texts to evaluate.

    Of the held-out documents those with the smallest hashes are evaluated: the same ones for every model.
    """
    held_out: dict[str, str] = {}

    def learnt() -> Iterator[str]:
        for document in documents:
            text = document.text()
            if not is_held_out(document.id, settings.held_out, settings.held_out_seed):
                yield text
            elif text.strip():
                held_out[document.id] = text

    training = pack(learnt(), vocabulary.tokenizer, settings.max_tokens, vocabulary.padding)
    if not held_out:
        raise RankwellError(
            f"documents: expected some among the held-out share ({settings.held_out:g}), found none: hold out more"
        )
    order = sorted(held_out, key=lambda document: unit_hash("measured", settings.held_out_seed, document))
    return MlmTexts(training, {document: held_out[document] for document in order[: settings.measured]})


def pack_held_out(texts: MlmTexts, vocabulary: MaskTokenizer, settings: MlmSettings, most: int) -> Any:
    """Rows of held-out texts for the perplexity curve, at most `most`."""
    rows = pack(texts.held_out.values(), vocabulary.tokenizer, settings.max_tokens, vocabulary.padding)
    return PackedTexts(rows.ids[:most], rows.starts[:most], rows.texts, rows.tokens, rows.padding)


FIXED = (1 << 32) - 1  # an epoch that no training reaches: its masks are for validation


class MaskedRow(NamedTuple):
    """The masked input, and the labels to predict."""

    inputs: Integers
    labels: Integers


class MaskedRows:
    """Rows with masks that depend only on the seed, the epoch and the row: a resumed run gets the same ones."""

    def __init__(self, rows: PackedTexts, masker: Masker, seed: int, epoch: int = 0) -> None:
        self.rows, self.masker, self.seed, self.epoch = rows, masker, seed, epoch

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which changes the masks."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> MaskedRow:
        generator = np.random.default_rng([self.seed, self.epoch, place])
        return MaskedRow(*self.masker(self.rows.ids[place], generator, self.rows.starts[place]))

    def collate(self, examples: Sequence[MaskedRow]) -> dict[str, Any]:
        """A batch; it has an attention mask only where there is padding, because attention is faster without."""
        import torch

        inputs, labels = (torch.from_numpy(np.stack(part)) for part in zip(*examples, strict=True))
        batch = {"input_ids": inputs, "labels": labels}
        present = inputs != self.rows.padding
        return batch if bool(present.all()) else {**batch, "attention_mask": present.long()}
