"""From any text to its words in lower case, with a space wherever a character separates."""

from __future__ import annotations

import re
import unicodedata

ASCII = bytes(range(128))
ZERO_WIDTH_SPACE = "\u200b"
CURLY_APOSTROPHE = "\u2019"
DOTLESS_I = "\u0131"
SIGMA, FINAL_SIGMA = "\u03c3", "\u03c2"
# Replacing one character after the other is quicker than a table over all of them up to about this many.
MANY_CHANGES = 64

# An apostrophe separates unless a word stands before it and a letter behind it. After a digit only a possessive is
# joined: "COVID-19's" is 19's, but "5'UTR" is two words. The leading literal lets `re` jump from one to the next.
SEPARATING_APOSTROPHE = re.compile(r"'(?:(?<![^ ']')|(?![^ '0-9])|(?<=[0-9]')(?!s(?![^ '])))")

# A full stop or comma between two digits belongs to the number, as in Unicode's UAX #29 (rules WB11 and WB12). Bytes
# are brought to three kinds first, because looking for one run of bytes is far quicker than any pattern.
DIGIT, SIGN, OTHER = b"0. "
KINDS = bytes(DIGIT if code in b"0123456789" else SIGN if code in b".," else OTHER for code in range(256))
SIGN_IN_NUMBER = bytes((DIGIT, SIGN, DIGIT))


def is_word_character(char: str) -> bool:
    """Letters, digits and the marks that combine with them (without which Hindi or Arabic words would break)."""
    return unicodedata.category(char)[0] in "LMN"


def is_invisible(char: str) -> bool:
    """Soft hyphens, joiners, direction marks and variation selectors: a word is the same with and without them."""
    if unicodedata.category(char) == "Cf":
        return char != ZERO_WIDTH_SPACE
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


class Preparation:
    """Brings text to words between spaces, in one pass over bytes however many scripts it mixes.

    Whatever is done here is done character by character, so that `origins` can lead back to the text; what depends on
    a whole word (NFC, for one) waits until the words are apart and is then done once for each distinct word.
    """

    def __init__(self, language: str) -> None:
        self.turkish = language == "turkish"
        self.joins_apostrophes = language == "english"
        self.joins_widths = language == "cjk"
        self.table = bytes(self._ascii(code) if code < len(ASCII) else code for code in range(256))
        self.changes: dict[str, tuple[bytes, bytes] | None] = {}

    def __call__(self, text: str) -> str:
        """The words of a text, lower-cased, with spaces between them (and at either end)."""
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
        """For each prepared character the place in the text that it came from; None where both run in step.

        Only a capital dotted I grows when it is lower-cased, and only invisible characters vanish.
        """
        if len(prepared) == len(text) and "İ" not in text:
            return None
        widths = {char: len(self._folded_text(self._lower(char))) for char in set(text)}
        return [at for at, char in enumerate(text) for _ in range(widths[char])]

    def _with_signs(self, encoded: bytes, kinds: bytes) -> bytearray:
        """The words, with the signs that stand inside numbers."""
        words = bytearray(encoded.translate(self.table))
        at = kinds.find(SIGN_IN_NUMBER)
        while at >= 0:
            words[at + 1] = encoded[at + 1]
            at = kinds.find(SIGN_IN_NUMBER, at + 2)  # the digit behind one sign may stand before the next
        return words

    def _ascii(self, code: int) -> int:
        char = chr(code)
        return ord(char.lower()) if char.isalnum() or (char == "'" and self.joins_apostrophes) else ord(" ")

    def _lower(self, text: str) -> str:
        if self.turkish:
            text = text.replace("I", DOTLESS_I).replace("İ", "i")
        return text.lower()

    def _fold(self, encoded: bytes) -> bytes:
        """Replace those characters beyond ASCII that separate, vanish or have a twin."""
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
        """What a lower-case character beyond ASCII becomes."""
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
