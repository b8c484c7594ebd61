"""Words in another order: the meaning of key words does not depend on it."""

from __future__ import annotations

import random


def shuffled(text: str, chooser: random.Random) -> str:
    """The same words in a random order."""
    words = text.split()
    chooser.shuffle(words)
    return " ".join(words)
