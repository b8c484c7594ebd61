"""Inputs that are nearly right: seeds with some of their bytes, lines, numbers or JSON values changed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import orjson

PIECES = [
    *(
        b"\x00",
        b"\t",
        b"\n",
        b"\r",
        b'"',
        b"'",
        b",",
        b";",
        b"<",
        b">",
        b"&",
        b"%",
        b"%20",
        b"%ff",
        b"\xff",
        b"\xef\xbb\xbf",
    ),
    *(
        b"-",
        b"0",
        b"-1",
        b"1e309",
        b"NaN",
        b"Infinity",
        b"9" * 30,
        b"#",
        b"\\u0000",
        b"\\ud800",
        b"{",
        b"}",
        b"[",
        b"]",
        b"(",
        b")",
    ),
    *(
        b"\x1f\x8b",
        b"PAR1",
        b"PK\x03\x04",
        b"<!ENTITY x 'y'>",
        b"<!--",
        b"]]>",
        b"../",
        b"null",
        b"true",
        b"AND",
        b"NOT",
    ),
    *(b"\xe2\x80\xae", b"\xf0\x9f\x98\x80", b" " * 300, b"a" * 5000, b"\n" * 50, b"{{7*7}}", b"' OR 1=1 --"),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63 - 1, -(2**63), 0.5, 1e308, -0.0),
    *("", " ", "a", "\x00", "\u202e", "😀", "a" * 3000, "1", "NaN", "../x", "<b>"),
    *([], [1], [None], ["a"] * 40, {}, {"a": 1}, {"": {}}, [[[[[[]]]]]]),
]


class Mutator:
    """Makes variants of seeds, the same ones for the same seed of the random numbers."""

    def __init__(self, seed: int) -> None:
        self._lots = random.Random(seed)  # noqa: S311 -- inputs of tests, not secrets
        self._ways: list[Callable[[bytes, Sequence[bytes]], bytes]] = [
            *(self._flip, self._put, self._cut, self._again, self._join, self._end, self._number),
            *(self._json, self._json, self._json),
        ]

    def vary(self, seeds: Sequence[bytes]) -> bytes:
        """A variant of one of the seeds."""
        data = self._lots.choice(seeds)
        for _ in range(self._lots.choice((1, 1, 1, 2, 3, 6))):
            data = self._lots.choice(self._ways)(data, seeds)
        return data[:200_000]

    def shuffled(self, values: Sequence[Any]) -> list[Any]:
        """The values in another order."""
        return self._lots.sample(values, len(values))

    def _place(self, data: bytes) -> int:
        return self._lots.randint(0, len(data))

    def _flip(self, data: bytes, _: Sequence[bytes]) -> bytes:
        if not data:
            return data
        changed = bytearray(data)
        for _ in range(self._lots.choice((1, 1, 2, 8))):
            changed[self._lots.randrange(len(data))] ^= 1 << self._lots.randrange(8)
        return bytes(changed)

    def _put(self, data: bytes, _: Sequence[bytes]) -> bytes:
        place = self._place(data)
        return data[:place] + self._lots.choice(PIECES) + data[place + self._lots.choice((0, 0, 1, 4)) :]

    def _cut(self, data: bytes, _: Sequence[bytes]) -> bytes:
        place = self._place(data)
        return data[:place] + data[place + self._lots.choice((1, 2, 10, 100)) :]

    def _again(self, data: bytes, _: Sequence[bytes]) -> bytes:
        start, end = sorted((self._place(data), self._place(data)))
        return data[:end] + data[start:end] * self._lots.choice((1, 1, 2, 20)) + data[end:]

    def _join(self, data: bytes, seeds: Sequence[bytes]) -> bytes:
        other = self._lots.choice(seeds)
        return data[: self._place(data)] + other[self._place(other) :]

    def _end(self, data: bytes, _: Sequence[bytes]) -> bytes:
        return data[: self._place(data)]

    def _number(self, data: bytes, _: Sequence[bytes]) -> bytes:
        digits = [place for place in range(len(data)) if data[place : place + 1].isdigit()]
        if not digits:
            return data
        place = self._lots.choice(digits)
        return data[:place] + self._lots.choice((b"-1", b"0", b"1e400", b"9" * 25, b"0.5", b"")) + data[place + 1 :]

    def _json(self, data: bytes, seeds: Sequence[bytes]) -> bytes:
        """Another value somewhere in a JSON text (or in its first line)."""
        line, end, rest = data.partition(b"\n") if not data.startswith(b"{\n") else (data, b"", b"")
        try:
            content = orjson.loads(line)
        except ValueError:
            return self._put(data, seeds)
        return orjson.dumps(self._changed(content)) + end + rest

    def _changed(self, content: Any) -> Any:
        if isinstance(content, dict) and content and self._lots.random() < 0.8:
            name = self._lots.choice(list(content))
            if self._lots.random() < 0.1:
                return {**content, self._lots.choice(("", "id", "x", name * 2)): self._lots.choice(VALUES)}
            return {**content, name: self._changed(content[name])}
        if isinstance(content, list) and content and self._lots.random() < 0.8:
            place = self._lots.randrange(len(content))
            return [*content[:place], self._changed(content[place]), *content[place + 1 :]]
        return self._lots.choice(VALUES)
