"""Who comes in, and by which key: what a web part tells the sign-in pages about the people it knows."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class NotValidError(Exception):
    """A code or link that opens nothing: wrong, used up, withdrawn, too old. Which of these, nobody is told."""


class TooManyTriesError(Exception):
    """Too many tries from one place or for one address."""


class Entry(NamedTuple):
    """Somebody who was let in: the name for the session, its generation, and perhaps a code for coming back."""

    person: str
    generation: int = 0
    return_code: str | None = None


class Doorkeeper(Protocol):
    """Knows the people of a web part. `place` is the address that a request comes from, for counting tries.

    Every method may raise `TooManyTriesError`; those that let people in raise `NotValidError`.
    """

    def token(self, address: str, place: str, code: str | None) -> str | None:
        """What to mail to an address, or None where there is nothing to mail. The page says the same for both."""

    def by_link(self, token: str, place: str) -> Entry:
        """Let in who has a mailed token; it is good once."""

    def by_code(self, code: str, place: str) -> Entry:
        """Let in who has an invitation's code, or a code for coming back."""
