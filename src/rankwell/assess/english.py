"""How well assessors say they know English: nine levels with their names in the Common European Framework (CEFR)."""

from __future__ import annotations

from typing import NamedTuple


class EnglishLevel(NamedTuple):
    """A level, its name, and the CEFR level it belongs to (none for a beginner)."""

    level: int
    name: str
    cefr: str


# The scale of the London School of English, which asks for 1 (beginner) to 9 (very advanced).
ENGLISH_LEVELS = (
    EnglishLevel(1, "Beginner", ""),
    EnglishLevel(2, "Elementary", "A1"),
    EnglishLevel(3, "Pre-intermediate", "A2"),
    EnglishLevel(4, "Low intermediate", "B1"),
    EnglishLevel(5, "Intermediate", "B1"),
    EnglishLevel(6, "Upper intermediate", "B2"),
    EnglishLevel(7, "Pre-advanced", "B2"),
    EnglishLevel(8, "Advanced", "C1"),
    EnglishLevel(9, "Very advanced", "C2"),
)
