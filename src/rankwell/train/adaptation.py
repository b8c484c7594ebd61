"""What a masked language model could do before training and can do after it: bits per character, and gaps to fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rankwell.core import FormatError, Progress, atomic_write
from rankwell.train.bits_per_character import HeldOutBits, held_out_bits
from rankwell.train.cloze import Cloze, make_cloze
from rankwell.train.fill_mask import Filling, fill_mask
from rankwell.train.mask_tokenizer import MaskTokenizer
from rankwell.train.packing import PackedTexts
from rankwell.train.run_folder import write_json

ADAPTATION, HELD_OUT = "adaptation.json", "held_out.jsonl"


@dataclass(frozen=True)
class Answers:
    """What a model said."""

    bits: HeldOutBits
    fillings: Mapping[str, list[list[Filling]]]


@dataclass(frozen=True)
class Adaptation:
    """The same examination before and after; `new` names the weights that did not come with the model."""

    new: tuple[str, ...]
    before: Answers
    after: Answers
    training: PackedTexts


@dataclass(frozen=True)
class Examination:
    """The held-out words to guess and the sentences to fill."""

    held_out: Mapping[str, str]
    vocabulary: MaskTokenizer
    sentences: Sequence[str] = ()
    longest: int = 512
    quiet: bool = False

    @cached_property
    def cloze(self) -> Cloze:
        """The words; the same for every vocabulary with the same splitter."""
        return make_cloze(
            self.held_out, self.vocabulary.tokenizer, unknown=self.vocabulary.unknown, longest=self.longest
        )

    def take(self, model: Any, when: str) -> Answers:
        """Let a model answer."""
        tokens, tokenizer = self.vocabulary.tokens, self.vocabulary.tokenizer
        total = len(self.cloze.windows)
        with Progress(f"measuring {when} training", unit="windows", total=total, quiet=self.quiet) as progress:
            bits = held_out_bits(model, self.cloze, tokens.mask, self.vocabulary.padding, progress)
        mask = self.vocabulary.mask
        return Answers(bits, {said: fill_mask(model, tokenizer, said, mask) for said in self.sentences})


def write_adaptation(folder: Path, found: Adaptation) -> None:
    """`adaptation.json` with the figures, and `held_out.jsonl` with what each document's words cost."""
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
    """What a run measured (`before` or `after` its training), to be compared with another run's."""
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
