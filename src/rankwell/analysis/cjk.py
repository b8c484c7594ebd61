"""Chinese, Japanese and Korean text, which has no spaces to go by: overlapping pairs of characters.

"東京都" becomes 東京 and 京都; a character that stands alone stays alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from operator import add

# Han, Hiragana, Katakana and Hangul with their marks, by code block: Python knows no scripts.
CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30ff\u3131-\u318e"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U0001aff0-\U0001b167\U00020000-\U0003134f"
)
VOICING_MARKS = "\u3099\u309a"
PIECE = re.compile(f"[{CJK}]+|[^ {CJK}]+")
IS_CJK = re.compile(f"[{CJK}]").match


def pieces(prepared: str) -> Iterator[tuple[str, int, bool]]:
    """Runs of CJK characters and the words of other scripts between them: (text, start, whether it is CJK)."""
    for found in PIECE.finditer(prepared):
        piece = found[0]
        if IS_CJK(piece):
            run = piece.lstrip(VOICING_MARKS)
            if run:
                yield run, found.end() - len(run), True
        else:
            yield piece, found.start(), False


def bigrams(run: str) -> list[str]:
    """Each pair of neighbours in a run of CJK characters."""
    run = unicodedata.normalize("NFC", run)
    if any(mark in run for mark in VOICING_MARKS):
        return [pair for pair, _, _ in bigram_spans(run)]
    return list(map(add, run, run[1:])) if len(run) > 1 else [run]


def bigram_spans(run: str) -> list[tuple[str, int, int]]:
    """The bigrams of a run, each with the start and end of what it was written with."""
    characters = composed(run)
    if len(characters) == 1:
        return characters
    return [(a + b, start, end) for (a, start, _), (b, _, end) in pairwise(characters)]


def composed(run: str) -> list[tuple[str, int, int]]:
    """The characters of a run in NFC and where they stand: a Korean syllable may be written with three letters.

    The few kana that no code point has with their voicing mark (Ainu needs them) are kept together with it.
    """
    characters: list[tuple[str, int, int]] = []
    for at, char in enumerate(run):
        last, start, _ = characters[-1] if characters else ("", at, at)
        joined = unicodedata.normalize("NFC", last + char)
        if len(joined) == 1 or char in VOICING_MARKS:
            characters[-1:] = [(joined, start, at + 1)]
        else:
            characters.append((unicodedata.normalize("NFC", char), at, at + 1))
    return characters
