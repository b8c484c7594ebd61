"""Work that is counted, not timed: calls of functions, and the steps of regular expressions.

Twice the input must take about twice the work on any machine. Calls are counted by Python itself. A regular expression
is one call however long it searches, so its steps are counted by trying it again here, character by character.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Self

PARSER: Any = re._parser  # type: ignore[attr-defined] -- what a pattern consists of is told nowhere else
CATEGORIES = {"CATEGORY_SPACE": r"\s", "CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w"}
Rest = Callable[[int], int | None]


def count_calls(work: Callable[[], object]) -> int:
    """How many functions are called, Python's own ones included."""
    count = 0

    def called(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class CountedPattern:
    """A pattern that gives what the plain one gives, and counts every character it compares, backtracking included."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.plain, self.steps = pattern, 0
        self.parsed = PARSER.parse(pattern.pattern, pattern.flags)

    def search(self, text: str, place: int = 0) -> re.Match[str] | None:
        found = self.plain.search(text, place)
        for start in range(place, (found.start() if found else len(text)) + 1):
            end = self._match(list(self.parsed), text, start, lambda end: end)
            assert end == (found.end() if found and start == found.start() else None), "steps are counted wrongly"
        return found

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        place = 0
        while found := self.search(text, place):
            yield found
            place = max(found.end(), place + 1)

    def sub(self, new: str, text: str) -> str:
        for _ in self.finditer(text):
            pass
        return self.plain.sub(new, text)

    def split(self, text: str) -> list[str]:
        for _ in self.finditer(text):
            pass
        return self.plain.split(text)

    def _match(self, parts: list[Any], text: str, place: int, rest: Rest) -> int | None:
        """Where a match of the parts and of the rest ends that begins at this place."""
        if not parts:
            return rest(place)
        (kind, value), others = parts[0], parts[1:]

        def after(here: int) -> int | None:
            return self._match(others, text, here, rest)

        if kind is PARSER.SUBPATTERN:
            return self._match(list(value[-1]), text, place, after)
        if kind is PARSER.BRANCH:
            ends = (self._match(list(way), text, place, after) for way in value[1])
            return next((end for end in ends if end is not None), None)
        if kind is PARSER.MAX_REPEAT:
            return self._repeat(value, text, place, after)
        return after(place + 1) if self._is(kind, value, text, place) else None

    def _repeat(self, repeat: tuple[int, Any, Any], text: str, place: int, after: Rest) -> int | None:
        """As often as possible, then once less each time until the rest matches too."""
        least, most, parts = repeat
        ends = [place]
        while len(ends) <= most:
            end = self._match(list(parts), text, ends[-1], lambda end: end)
            if end is None:
                break
            ends.append(end)
        tried = (after(end) for end in reversed(ends[least:]))
        return next((end for end in tried if end is not None), None)

    def _is(self, kind: Any, value: Any, text: str, place: int) -> bool:
        self.steps += 1
        if place >= len(text):
            return False
        letter = text[place]
        if self.plain.flags & re.IGNORECASE:
            letter = letter.lower()
        if kind is PARSER.LITERAL:
            return letter in (chr(value), chr(value).lower())
        if kind is PARSER.NOT_LITERAL:
            return letter != chr(value)
        if kind is PARSER.ANY:
            return letter != "\n"
        assert kind is PARSER.IN, f"{kind} is not counted yet"
        negated = value[0][0] is PARSER.NEGATE
        return any(self._holds(one, letter) for one in value[negated:]) != negated

    def _holds(self, one: tuple[Any, Any], letter: str) -> bool:
        kind, value = one
        if kind is PARSER.LITERAL:
            return letter == chr(value)
        if kind is PARSER.RANGE:
            return value[0] <= ord(letter) <= value[1]
        return re.match(CATEGORIES[str(value)], letter) is not None


class CountedText(str):
    """A text that counts how many characters `find` looks at."""

    __slots__ = ("looked_at",)

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.looked_at = 0
        return made

    def find(self, part: str, start: int = 0) -> int:  # type: ignore[override] -- as much as we call it with
        found = super().find(part, start)
        self.looked_at += (found if found >= 0 else len(self)) - start
        return found
