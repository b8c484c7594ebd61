"""Plain text as a search term for PubMed, in which brackets, quotes and capitals would mean something."""

from __future__ import annotations

import re

OPERATORS = re.compile(r"\b(AND|OR|NOT)\b")
# Field tags, phrases, truncation, groups, ranges and dates: all of PubMed's syntax that plain text can contain.
SYNTAX = re.compile(r"[\[\]\"“”(){}*:/\\&|#=<>+~^!?;,]+")


def title_term(text: str) -> str:
    """The words of a text, without anything that PubMed would take for a command.

    PubMed looks for all of them, in any field, and knows other words for some: a title finds its own article even
    where the two sources write it a little differently.
    """
    words = SYNTAX.sub(" ", text).split()
    plain = (word.strip(".'`-_") for word in words)
    return " ".join(OPERATORS.sub(lambda found: found[0].lower(), word) for word in plain if word)
