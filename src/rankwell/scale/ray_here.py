"""Whether this machine is part of a Ray cluster already: `ray start` leaves a note, or RAY_ADDRESS says so."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

NOTE = Path("ray", "ray_current_cluster")
ANSWER = 5.0  # seconds in which a cluster has to answer the telephone


def cluster_is_here() -> bool:
    """Whether Ray would join a cluster without being told its address.

    Only one that answers, and that this user started: Ray itself would also look for anybody's processes, and show them
    this user's token.
    """
    if os.environ.get("RAY_ADDRESS"):
        return True
    note = _temporary() / NOTE
    try:
        host, _, port = note.read_text(encoding="utf-8").strip().rpartition(":")
        own = not hasattr(os, "getuid") or note.stat().st_uid == os.getuid()
        return own and answers(host, int(port)) is None
    except (OSError, ValueError):
        return False


def answers(host: str, port: int) -> OSError | None:
    """Why nobody answers there; None where somebody does."""
    try:
        socket.create_connection((host, port), ANSWER).close()
    except OSError as error:
        return error
    return None


def _temporary() -> Path:
    """Where Ray leaves such things."""
    usual = "TMPDIR" if sys.platform.startswith("linux") else ""
    return Path(os.environ.get("RAY_TMPDIR") or os.environ.get(usual) or "/tmp")  # noqa: S108 -- Ray's choice
