"""Where Rankwell keeps things, and how much of the machine it may take: read from the environment, once, here."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """The folder for caches and fetched models: RANKWELL_HOME, or the user's cache folder."""
    given = os.environ.get("RANKWELL_HOME")
    if given:
        return Path(given).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rankwell"
