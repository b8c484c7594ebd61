"""A real mail server on this machine, and what came in."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.policy import default
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller

from waiting import wait_until


class Letter(NamedTuple):
    to: list[str]
    subject: str
    text: str


class Letters:
    """The inbox. `refuse` counts how many letters are to be turned away first."""

    def __init__(self, port: int) -> None:
        self.found: list[Letter] = []
        self.port, self.refuse = port, 0

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: ARG002, N802 -- aiosmtpd's
        if self.refuse:
            self.refuse -= 1
            return f"451 Try again, {envelope.rcpt_tos[0]}"
        message = message_from_bytes(envelope.content, policy=default)
        self.found.append(Letter(envelope.rcpt_tos, message["Subject"], message.get_content()))
        return "250 OK"

    def wait(self, count: int = 1) -> list[Letter]:
        """The letters, as soon as there are so many."""
        wait_until(lambda: len(self.found) >= count, lambda: f"{len(self.found)} letters came instead of {count}")
        return self.found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def mail_server() -> Iterator[Letters]:
    letters = Letters(free_port())
    controller = Controller(letters, hostname="127.0.0.1", port=letters.port)
    controller.start()
    try:
        yield letters
    finally:
        controller.stop()
