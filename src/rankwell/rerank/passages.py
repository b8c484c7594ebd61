"""Long documents in pieces that a transformer can read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Self

from rankwell.core import ParameterError

LONGEST_TITLE = 50  # a title of so many words is not repeated
UNITS = ("words", "paragraphs")
PARAGRAPHS = re.compile(r"\n\s*\n")
WRITTEN = re.compile(r"(?P<words>\d+)(:(?P<overlap>\d+))?")


@dataclass(frozen=True)
class Passages:
    """Passages of so many words in all, each repeating the last `overlap` words of the one before.

    With `title` the document's title stands in front of every passage, and its words count. One of 50 words or more
    (or of more than a third of the passage) would leave little room: it is read once, as the beginning of the body. The
    last passage is as short as it comes. With `unit="paragraphs"` the body is split at blank lines first, and only
    paragraphs that are too long are split further.

    Dai and Callan (SIGIR 2019) have 150 words with 75 overlapping.
    """

    words: int = 150
    overlap: int = 50
    title: bool = True
    unit: str = "words"

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ParameterError("passages", expected="a number of words, at least 1", found=self.words)
        if not 0 <= self.overlap < self.words:
            expected = f"an overlap from 0 to {self.words - 1}, below the {self.words} words of a passage"
            raise ParameterError("passages", expected=expected, found=self.overlap)
        if self.unit not in UNITS:
            raise ParameterError("passages, unit", expected=" or ".join(UNITS), found=self.unit)

    @classmethod
    def paragraphs(cls, words: int = 150, overlap: int = 50, *, title: bool = True) -> Self:
        """A passage a paragraph."""
        return cls(words, overlap, title, "paragraphs")

    @classmethod
    def parse(cls, text: str) -> Self:
        """`150:50` (words and overlap), `150` (without overlap), or `paragraphs`."""
        if text == "paragraphs":
            return cls.paragraphs()
        found = WRITTEN.fullmatch(text.strip())
        if found is None:
            expected = "words and overlap such as 150:50, words alone, or paragraphs"
            raise ParameterError("passages", expected=expected, found=text)
        return cls(int(found["words"]), int(found["overlap"] or 0))

    def split(self, title: str, body: str) -> list[str]:
        """The passages of a document, in their order; none where it has no text."""
        head = title.split() if self.title else []
        parts = PARAGRAPHS.split(body) if self.unit == "paragraphs" else [body]
        bodies = [words for words in map(str.split, parts) if words]
        if not self._repeats(head):
            bodies, head = [head, *bodies] if self.unit == "paragraphs" else [list(chain(head, *bodies))], []
        windows = [window for words in bodies for window in self._windows(words, self.words - len(head))]
        return [" ".join(head + window) for window in windows or ([[]] if head else [])]

    def _repeats(self, title: list[str]) -> bool:
        """Whether the title is short enough to stand in front of every passage."""
        short = len(title) < LONGEST_TITLE and 3 * len(title) <= self.words
        return short and self.words - len(title) > self.overlap

    def _windows(self, words: list[str], size: int) -> list[list[str]]:
        """Windows of `size` words; the last one ends where the words end."""
        if not words:
            return []
        step = size - self.overlap
        last = max(0, len(words) - size)
        starts = range(0, last + step, step)  # the first start at or after `last` is the last one
        return [words[start : start + size] for start in starts]
