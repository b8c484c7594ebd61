"""What can go wrong between us and the engine, in our words."""

from __future__ import annotations

import re

from rankwell.core import RankwellError

CODE = re.compile(r"Code:\s*(\d+)")
PLACE = re.compile(r"\((?:[^()\s]*?, )?([\w.:\[\]-]+:\d+)")
# Codes of a connection that failed or broke, on the way to another server of the cluster: asking again may help.
BROKEN = frozenset((3, 32, 101, 203, 209, 210, 236, 279, 394, 1000))
NO_ACCESS = frozenset((192, 193, 194, 195, 492, 497, 516))
NO_TABLE = frozenset((60, 81))
BUSY = frozenset((202,))
LONGEST = 400


class EngineError(RankwellError):
    """The engine refused a statement; `code` is its own number for why."""

    def __init__(self, message: str, code: int = 0, places: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code, self.places = code, places

    @property
    def passing(self) -> bool:
        """Whether the same may succeed a moment later, or on another server."""
        return self.code in BROKEN | BUSY


class UnreachableError(RankwellError):
    """No server answered."""


class ShardDownError(RankwellError):
    """No server of a shard answered the others."""


def engine_error(where: str, text: str) -> EngineError:
    """The engine's message as an error: its first line, without what follows for its own developers."""
    found = CODE.search(text)
    code = int(found[1]) if found else 0
    places = tuple(dict.fromkeys(PLACE.findall(text)))
    message = re.sub(r"^Code: \d+[.,]\s*(e\.displayText\(\) = )?(DB::\w+: )*", "", text.strip())
    message = re.split(r", e\.what\(\) =|\. Stack trace|\(version ", message, maxsplit=1)[0]
    message = " ".join(message.split())[:LONGEST]
    if code in NO_ACCESS:
        return EngineError(f"{where}: expected a user and password that the server knows: {message}", code)
    return EngineError(f"{where}: the engine says: {message}", code, places)
