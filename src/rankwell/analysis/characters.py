"""Split any text into lower-case words; Chinese, Japanese and Korean into overlapping pairs of characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from operator import add

ASCII = bytes(range(128))
ZERO_WIDTH_SPACE = "\u200b"
CURLY_APOSTROPHE = "\u2019"
DOTLESS_I = "\u0131"
SIGMA, FINAL_SIGMA = "\u03c3", "\u03c2"
# Replacing one character after the other is faster than a table over all of them up to about this many.
MANY_CHANGES = 64

# An apostrophe separates unless a word stands before it and a letter behind it. After a digit only a possessive is
# joined: "COVID-19's" is 19's, but "5'UTR" is two words. The leading literal lets `re` jump from one to the next.
SEPARATING_APOSTROPHE = re.compile(r"'(?:(?<![^ ']')|(?![^ '0-9])|(?<=[0-9]')(?!s(?![^ '])))")

# A full stop or comma between two digits belongs to the number, as in Unicode's UAX #29 (rules WB11 and WB12). Bytes
# are mapped to three kinds first, because searching one run of bytes is far faster than any pattern.
DIGIT, SIGN, OTHER = b"0. "
KINDS = bytes(DIGIT if code in b"0123456789" else SIGN if code in b".," else OTHER for code in range(256))
SIGN_IN_NUMBER = bytes((DIGIT, SIGN, DIGIT))


def is_word_character(char: str) -> bool:
    """Letters, digits and their combining marks (without which Hindi or Arabic words would break)."""
    return unicodedata.category(char)[0] in "LMN"


def is_invisible(char: str) -> bool:
    """Soft hyphens, joiners, direction marks and variation selectors: a word is the same with and without them."""
    if unicodedata.category(char) == "Cf":
        return char != ZERO_WIDTH_SPACE
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


class Preparation:
    """Turns text into words between spaces, in one pass over bytes however many scripts it mixes.

    Everything here is done character by character, so that `origins` can map back to the text; what depends on
    a whole word (NFC, for example) is done later, once for each distinct word.
    """

    def __init__(self, language: str) -> None:
        self.turkish = language == "turkish"
        self.joins_apostrophes = language == "english"
        self.joins_widths = language == "cjk"
        self.table = bytes(self._ascii(code) if code < len(ASCII) else code for code in range(256))
        self.changes: dict[str, tuple[bytes, bytes] | None] = {}

    def __call__(self, text: str) -> str:
        """The words of a text, lower-cased, with spaces between them (and at both ends)."""
        if text.isascii() and not self.turkish:
            encoded = text.encode()
        else:
            encoded = self._fold(self._lower(text).encode("utf-8", "surrogatepass"))
        kinds = encoded.translate(KINDS)
        if SIGN_IN_NUMBER in kinds:
            prepared = self._with_signs(encoded, kinds).decode()
        else:
            prepared = encoded.translate(self.table).decode()
        if self.joins_apostrophes and "'" in prepared:
            return SEPARATING_APOSTROPHE.sub(" ", prepared)
        return prepared

    def origins(self, text: str, prepared: str) -> list[int] | None:
        """For each prepared character its position in the text; None where both are aligned.

        Only a capital dotted I grows when it is lower-cased, and only invisible characters are removed.
        """
        if len(prepared) == len(text) and "İ" not in text:
            return None
        widths = {char: len(self._folded_text(self._lower(char))) for char in set(text)}
        return [at for at, char in enumerate(text) for _ in range(widths[char])]

    def _with_signs(self, encoded: bytes, kinds: bytes) -> bytearray:
        """The words, with the signs inside numbers restored."""
        words = bytearray(encoded.translate(self.table))
        at = kinds.find(SIGN_IN_NUMBER)
        while at >= 0:
            words[at + 1] = encoded[at + 1]
            at = kinds.find(SIGN_IN_NUMBER, at + 2)  # the digit after one sign may precede the next
        return words

    def _ascii(self, code: int) -> int:
        char = chr(code)
        return ord(char.lower()) if char.isalnum() or (char == "'" and self.joins_apostrophes) else ord(" ")

    def _lower(self, text: str) -> str:
        if self.turkish:
            text = text.replace("I", DOTLESS_I).replace("İ", "i")
        return text.lower()

    def _fold(self, encoded: bytes) -> bytes:
        """Replace the characters beyond ASCII that separate, are removed or have a variant."""
        beyond = set(encoded.translate(None, ASCII).decode("utf-8", "surrogatepass"))
        changes = [change for char in beyond if (change := self._change(char))]
        if len(changes) > MANY_CHANGES:
            return self._folded_text(encoded.decode("utf-8", "surrogatepass")).encode()
        for old, new in changes:
            encoded = encoded.replace(old, new)
        return encoded

    def _change(self, char: str) -> tuple[bytes, bytes] | None:
        try:
            return self.changes[char]
        except KeyError:
            folded = self._folded(char)
            change = None if folded == char else (char.encode("utf-8", "surrogatepass"), folded.encode())
            self.changes[char] = change
            return change

    def _folded_text(self, text: str) -> str:
        return text.translate({ord(char): self._folded(char) for char in set(text) if not char.isascii()})

    def _folded(self, char: str) -> str:
        """The replacement of a lower-case character beyond ASCII."""
        if is_invisible(char):
            return ""
        if char == CURLY_APOSTROPHE and self.joins_apostrophes:
            return "'"
        is_wide_ascii = self.joins_widths and "\uff01" <= char <= "\uff5e"
        if not is_word_character(char) and not is_wide_ascii:
            return " "
        if char == FINAL_SIGMA:  # lower-casing gives either sigma, depending on what follows the word
            return SIGMA
        if self.joins_widths and "\uff00" <= char <= "\uffef":
            return unicodedata.normalize("NFKC", char)
        return char


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
    for match in PIECE.finditer(prepared):
        piece = match[0]
        if IS_CJK(piece):
            run = piece.lstrip(VOICING_MARKS)
            if run:
                yield run, match.end() - len(run), True
        else:
            yield piece, match.start(), False


def bigrams(run: str) -> list[str]:
    """Each pair of neighbours in a run of CJK characters."""
    run = unicodedata.normalize("NFC", run)
    if any(mark in run for mark in VOICING_MARKS):
        return [pair for pair, _, _ in bigram_spans(run)]
    return list(map(add, run, run[1:])) if len(run) > 1 else [run]


def bigram_spans(run: str) -> list[tuple[str, int, int]]:
    """The bigrams of a run, each with the start and end of its characters in the text."""
    characters = composed(run)
    if len(characters) == 1:
        return characters
    return [(a + b, start, end) for (a, start, _), (b, _, end) in pairwise(characters)]


def composed(run: str) -> list[tuple[str, int, int]]:
    """The characters of a run in NFC with their positions: a Korean syllable may be written with three letters.

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
