"""The texts of a collection for a masked language model: most to learn from, some held out, document by document."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rankwell.core import Document, RankwellError
from rankwell.core.fingerprint import fingerprint
from rankwell.train.held_out import is_held_out, unit_hash
from rankwell.train.mask_tokenizer import MaskTokenizer
from rankwell.train.mlm_settings import MlmSettings
from rankwell.train.packing import PackedTexts, pack


@dataclass(frozen=True)
class MlmTexts:
    """Rows of tokens to learn from, and held-out texts by document, with their characters as they are."""

    training: PackedTexts
    held_out: dict[str, str]

    @cached_property
    def fingerprint(self) -> str:
        """Over all tokens and texts."""
        held_out = hashlib.sha256("\0".join(self.held_out.values()).encode(errors="surrogatepass"))
        return fingerprint([self.training.fingerprint(), list(self.held_out), held_out.hexdigest()])


def read_mlm_texts(documents: Iterable[Document], vocabulary: MaskTokenizer, settings: MlmSettings) -> MlmTexts:
    """Tokenise and pack what is learnt from, and keep what is measured with.

    Of the held-out documents those with the smallest hashes are measured with: the same ones for every model.
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
    """Rows of held-out texts for the perplexity curve: at most so many."""
    rows = pack(texts.held_out.values(), vocabulary.tokenizer, settings.max_tokens, vocabulary.padding)
    return PackedTexts(rows.ids[:most], rows.starts[:most], rows.texts, rows.tokens, rows.padding)
