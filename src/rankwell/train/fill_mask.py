"""What a model puts into a gap: a look at what it has learnt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rankwell.core import ParameterError
from rankwell.train.mlm_head import masked_logits


class Filling(NamedTuple):
    """A token for a gap, and how probable the model finds it."""

    token: str
    probability: float


def fill_mask(model: Any, tokenizer: Any, sentence: str, mask: str, most: int = 5) -> list[list[Filling]]:
    """The most probable tokens for each gap of a sentence, in which `mask` ([MASK]) stands for a token."""
    import torch

    encoding, number = tokenizer.encode(sentence), tokenizer.token_to_id(mask)
    ids = torch.tensor([encoding.ids])
    if number not in encoding.ids:
        raise ParameterError("fill", expected=f"a sentence with {mask} in it", found=sentence)
    training = model.training
    model.eval()
    with torch.inference_mode():
        logits = masked_logits(model, {"input_ids": ids.to(model.device)}, ids.to(model.device) == number)
        best = logits.float().softmax(dim=-1).topk(most)
    model.train(training)
    return [
        [Filling(tokenizer.id_to_token(token), probability) for token, probability in zip(*gap, strict=True)]
        for gap in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def check_sentences(sentences: Sequence[str], mask: str) -> None:
    """Refuse a sentence without a gap before hours of training, not after."""
    for sentence in sentences:
        if mask not in sentence:
            raise ParameterError("fill", expected=f"a sentence with {mask} in it", found=sentence)
