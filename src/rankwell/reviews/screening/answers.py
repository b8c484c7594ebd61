"""What can be decided about a record, and how long what is written beside it may be."""

from __future__ import annotations

from enum import StrEnum

LONGEST_NOTE = 2000
LONGEST_REASON = 120


class Answer(StrEnum):
    """A reviewer's answer. `maybe` keeps a record for a second look, and teaches the ranking nothing."""

    INCLUDE = "include"
    EXCLUDE = "exclude"
    MAYBE = "maybe"
