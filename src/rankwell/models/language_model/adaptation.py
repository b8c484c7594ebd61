"""Evaluate a masked language model before and after training: bits per character, and filled masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rankwell.core import FormatError, ParameterError, Progress, atomic_write
from rankwell.models.language_model.cloze import Cloze, HeldOutBits, held_out_bits, make_cloze
from rankwell.models.language_model.masking import MaskTokenizer, masked_logits
from rankwell.models.language_model.texts import PackedTexts
from rankwell.models.learning.run_folder import write_json


class Filling(NamedTuple):
    """A predicted token and its probability."""

    token: str
    probability: float


def fill_mask(model: Any, tokenizer: Any, sentence: str, mask: str, most: int = 5) -> list[list[Filling]]:
    """The most probable tokens for each mask (`[MASK]`) of a sentence."""
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
    """Refuse a sentence without a mask before hours of training."""
    for sentence in sentences:
        if mask not in sentence:
            raise ParameterError("fill", expected=f"a sentence with {mask} in it", found=sentence)


ADAPTATION, HELD_OUT = "adaptation.json", "held_out.jsonl"


@dataclass(frozen=True)
class Answers:
    """The results of a model."""

    bits: HeldOutBits
    fillings: Mapping[str, list[list[Filling]]]


@dataclass(frozen=True)
class Adaptation:
    """The results before and after; `new` names the weights that did not come with the model."""

    new: tuple[str, ...]
    before: Answers
    after: Answers
    training: PackedTexts


@dataclass(frozen=True)
class Examination:
    """The held-out words to predict, and the sentences with masks."""

    held_out: Mapping[str, str]
    vocabulary: MaskTokenizer
    sentences: Sequence[str] = ()
    longest: int = 512
    quiet: bool = False

    @cached_property
    def cloze(self) -> Cloze:
        """The held-out words; the same for every vocabulary with the same word splitter."""
        return make_cloze(
            self.held_out, self.vocabulary.tokenizer, unknown=self.vocabulary.unknown, longest=self.longest
        )

    def take(self, model: Any, when: str) -> Answers:
        """Evaluate a model."""
        tokens, tokenizer = self.vocabulary.tokens, self.vocabulary.tokenizer
        total = len(self.cloze.windows)
        with Progress(f"measuring {when} training", unit="windows", total=total, quiet=self.quiet) as progress:
            bits = held_out_bits(model, self.cloze, tokens.mask, self.vocabulary.padding, progress)
        mask = self.vocabulary.mask
        return Answers(bits, {said: fill_mask(model, tokenizer, said, mask) for said in self.sentences})


def write_adaptation(folder: Path, found: Adaptation) -> None:
    """Write `adaptation.json` with the figures, and `held_out.jsonl` with the bits of each document's words."""
    with atomic_write(folder / HELD_OUT) as file:
        bits = zip(found.before.bits.bits, found.after.bits.bits, strict=True)
        after = found.after.bits
        for document, words, characters, (old, new) in zip(
            after.documents, after.words, after.characters, bits, strict=True
        ):
            line = {"document": document, "words": words, "characters": characters, "before": old, "after": new}
            file.write(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE))
    write_json(
        folder / ADAPTATION,
        {
            "new_weights": list(found.new),
            "texts": found.training.texts,
            "tokens": found.training.tokens,
            "rows": len(found.training),
            "held_out_documents": len(found.after.bits.documents),
            "held_out_words": int(found.after.bits.words.sum()),
            "held_out_characters": int(found.after.bits.characters.sum()),
            "bits_per_character": {"before": _bits(found.before.bits), "after": _bits(found.after.bits)},
            "fill_mask": [
                {
                    "sentence": sentence,
                    "before": _gaps(found.before.fillings[sentence]),
                    "after": _gaps(found.after.fillings[sentence]),
                }
                for sentence in found.after.fillings
            ],
        },
    )


def read_held_out(run: Path | str, when: str = "after") -> HeldOutBits:
    """The bits that a run measured `before` or `after` its training, for comparison with another run."""
    file = Path(run) / HELD_OUT
    try:
        lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
        columns = [np.array([float(line[name]) for line in lines]) for name in ("words", "characters", when)]
        return HeldOutBits(tuple(line["document"] for line in lines), *columns)
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise FormatError(file, None, expected=f'lines with "{when}"', found=str(error)) from error


def _bits(found: HeldOutBits) -> dict[str, float]:
    low, high = found.interval()
    return {"value": found.per_character, "low": low, "high": high}


def _gaps(gaps: list[list[Filling]]) -> list[list[dict[str, Any]]]:
    return [[filling._asdict() for filling in gap] for gap in gaps]
