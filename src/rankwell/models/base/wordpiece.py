"""BERT's tokenizer in Python: the same token ids as the library `tokenizers`, without its 50 MB of dependencies.

A word is looked up in a dictionary once it has been seen, so that this takes no longer than the library on one core
(`benchmarks/tokens.py`). The rules are those of Devlin et al., "BERT" (2019), as `tokenizers` has them: control
characters are dropped, Chinese characters and punctuation stand alone, accents go with the capitals, and each word is
split into the longest pieces that the vocabulary has, from left to right.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

PLAIN = re.compile(r"[\t\n\r -~]*")  # texts without a character that needs a closer look
WORDS = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")
REMEMBERED = 500_000  # words whose pieces are kept


@dataclass(frozen=True)
class Frame:
    """The special tokens around one text or two, as in the tokenizer: `before` first `between` second `after`."""

    before: list[int]
    between: list[int]
    after: list[int]
    second: int  # the segment of the second text: 1 for BERT, 0 for models without segments
    between_types: list[int]

    def __len__(self) -> int:
        return len(self.before) + len(self.between) + len(self.after)


@cache
def special_characters() -> dict[str, list[int]]:
    """The ranges of each kind of character (dropped, marks, punctuation, chinese): begin, end, begin, end, ..."""
    text = resources.files("rankwell.models.base").joinpath("characters.toml").read_text(encoding="utf-8")
    return {kind: [at for item in told.split() for at in _range(item)] for kind, told in tomllib.loads(text).items()}


def _range(item: str) -> tuple[int, int]:
    first, _, last = item.partition("-")
    return int(first, 16), int(last or first, 16) + 1


def is_a(kind: str, char: str) -> bool:
    """Whether a character is of a kind."""
    return bisect_right(special_characters()[kind], ord(char)) % 2 == 1


class Characters(dict[int, str]):
    """What becomes of each character; filled as characters are seen (`str.translate`)."""

    def __init__(self, *, lowercase: bool, strip_accents: bool, chinese: bool) -> None:
        super().__init__()
        self.lowercase, self.strip_accents, self.chinese = lowercase, strip_accents, chinese

    def __missing__(self, code: int) -> str:
        self[code] = self._become(chr(code))
        return self[code]

    def _become(self, char: str) -> str:
        if is_a("dropped", char):
            return ""
        if char.isspace():
            return " "
        alone = self.chinese and is_a("chinese", char)
        if self.strip_accents:
            char = "".join(part for part in unicodedata.normalize("NFD", char) if not is_a("marks", part))
        if self.lowercase:
            char = "".join(part.lower() for part in char)
        split = "".join(f" {part} " if is_a("punctuation", part) else part for part in char)
        return f" {split} " if alone else split


@dataclass
class WordPiece:
    """A `tokenizer.json` of BERT's kind."""

    pieces: Mapping[str, int]
    special: Mapping[str, int]  # tokens that are recognised in a text as they stand
    unknown: int
    prefix: str
    longest: int
    characters: Characters
    single: Frame
    pair: Frame
    _known: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        longest_first = sorted(self.special, key=len, reverse=True)
        self._special = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None

    @property
    def vocabulary(self) -> int:
        """The largest id + 1."""
        return max([*self.pieces.values(), *self.special.values()], default=-1) + 1

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, without special tokens around it."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        return [self._ids(text) for text in texts]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = []
        parts = self._special.split(text) if self._special is not None else [text]
        for place, part in enumerate(parts):
            if place % 2:
                ids.append(self.special[part])
                continue
            for word in self._words(part):
                known = self._known.get(word)
                if known is None:
                    known = self._known[word] = self._split(word)
                ids += known
        return ids

    def _words(self, text: str) -> list[str]:
        if PLAIN.fullmatch(text):
            return WORDS.findall(text.lower() if self.characters.lowercase else text)
        return text.translate(self.characters).split()

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > self.longest:
            return (self.unknown,)
        found, start = [], 0
        while start < len(word):
            before = self.prefix if start else ""
            for end in range(len(word), start, -1):
                piece = self.pieces.get(before + word[start:end])
                if piece is not None:
                    break
            else:
                return (self.unknown,)
            found.append(piece)
            start = end
        return tuple(found)

    @classmethod
    def parse(cls, told: Mapping[str, Any]) -> WordPiece | None:
        """The tokenizer of a `tokenizer.json`; None where it is of another kind."""
        model, normalizer = told.get("model") or {}, told.get("normalizer") or {}
        kinds = (_kind(model), _kind(normalizer), _kind(told.get("pre_tokenizer")))
        if kinds != ("WordPiece", "BertNormalizer", "BertPreTokenizer") or normalizer.get("clean_text") is not True:
            return None
        added = told.get("added_tokens") or []
        if any(token.get(flag) for token in added for flag in ("single_word", "lstrip", "rstrip", "normalized")):
            return None
        pieces = model["vocab"]
        special = {token["content"]: token["id"] for token in added}
        frames = _frames(told.get("post_processor") or {})
        unknown = pieces.get(model["unk_token"])
        if frames is None or unknown is None or any(pieces.get(name, at) != at for name, at in special.items()):
            return None
        if not all(type(at) is int and at >= 0 for ids in (pieces, special) for at in ids.values()):
            return None
        lowercase, accents = bool(normalizer["lowercase"]), normalizer.get("strip_accents")
        characters = Characters(
            lowercase=lowercase,
            strip_accents=lowercase if accents is None else bool(accents),
            chinese=bool(normalizer["handle_chinese_chars"]),
        )
        prefix, longest = str(model["continuing_subword_prefix"]), int(model["max_input_chars_per_word"])
        return cls(pieces, special, unknown, prefix, longest, characters, *frames)


def _kind(part: Any) -> str | None:
    return part.get("type") if isinstance(part, Mapping) else None


def _frames(told: Mapping[str, Any]) -> tuple[Frame, Frame] | None:
    """The special tokens around one text and around two; None where the tokenizer puts them in another way."""
    if _kind(told) == "BertProcessing":
        start, end = [int(told["cls"][1])], [int(told["sep"][1])]
        return Frame(start, [], end, 0, []), Frame(start, end, end, 1, [0])
    if _kind(told) != "TemplateProcessing":
        return None
    ids = {name: [int(at) for at in token["ids"]] for name, token in told["special_tokens"].items()}
    single, pair = (_sections(told[name], ids) for name in ("single", "pair"))
    if [name for name, *_ in single] != ["A", ""] or [name for name, *_ in pair] != ["A", "B", ""]:
        return None
    (_, first, before), (_, second, between), (_, _, after) = pair
    types = [segment for segment, _ in between]
    if first != 0 or any(segment for segment, _ in before) or any(segment != second for segment, _ in after):
        return None
    alone = Frame([at for _, at in single[0][2]], [], [at for _, at in single[1][2]], 0, [])
    return alone, Frame([at for _, at in before], [at for _, at in between], [at for _, at in after], second, types)


def _sections(template: Sequence[Mapping[str, Any]], ids: Mapping[str, list[int]]) -> list[tuple[str, int, Any]]:
    """The texts of a template: name, segment, and the special tokens before it; last, those at the end."""
    sections: list[tuple[str, int, Any]] = []
    tokens: list[tuple[int, int]] = []
    for part in template:
        ((kind, piece),) = part.items()
        if kind == "SpecialToken":
            tokens += [(int(piece["type_id"]), at) for at in ids[piece["id"]]]
        else:
            sections.append((str(piece["id"]), int(piece["type_id"]), tokens))
            tokens = []
    return [*sections, ("", 0, tokens)]
