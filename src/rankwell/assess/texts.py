"""Texts as any database takes them."""

from __future__ import annotations

import re

REFUSED = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """The text without what PostgreSQL refuses: NUL and halves of surrogate pairs become U+FFFD."""
    return REFUSED.sub("\ufffd", text)
