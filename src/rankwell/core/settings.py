"""Where Rankwell keeps things, and how much of the machine it may take: read from the environment, once, here."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home() -> Path:
    """The folder for caches and fetched models: RANKWELL_HOME, the environment's own, or the user's cache folder.

    The environment's own is the folder `rankwell` in a virtual environment, where there is one: `make setup` makes it,
    and its command finds the models there without being told.
    """
    given = os.environ.get("RANKWELL_HOME")
    if given:
        return Path(given).expanduser()
    own = Path(sys.prefix) / "rankwell"
    if sys.prefix != sys.base_prefix and own.is_dir():
        return own
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "rankwell"
