"""A random piece of a text: queries are shorter than titles, and answers do not wait for an abstract's end."""

from __future__ import annotations

import random
from functools import partial

SHORTEST_TITLE, SHORTEST_ABSTRACT = 2, 20  # words


def piece(text: str, chooser: random.Random, shortest: int = 1) -> str:
    """Neighbouring words: first how many, then where, each as likely as the others.

    At least `shortest` of them and at most all but one; a text that has no more than `shortest` stays as it is.
    """
    words = text.split()
    if len(words) <= shortest:
        return text
    size = chooser.randint(shortest, len(words) - 1)
    start = chooser.randint(0, len(words) - size)
    return " ".join(words[start : start + size])


piece_of_title = partial(piece, shortest=SHORTEST_TITLE)
piece_of_abstract = partial(piece, shortest=SHORTEST_ABSTRACT)
