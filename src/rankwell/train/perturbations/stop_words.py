"""Text without its stop words: people type key words."""

from __future__ import annotations

import random
import string
from collections.abc import Collection

from rankwell.analysis import STOPWORDS

AROUND = string.punctuation + "\u201c\u201d\u2018\u2019"  # quotation marks


def without_stop_words(
    text: str,
    chooser: random.Random,  # noqa: ARG001 -- what every perturbation is given
    stopwords: Collection[str] = STOPWORDS["s0"],
) -> str:
    """The words that are not in S0's list (appendix A.3); the text as it is where nothing would be left."""
    kept = [word for word in text.split() if word.strip(AROUND).lower() not in stopwords]
    return " ".join(kept) if kept else text
