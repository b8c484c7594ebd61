"""Find records of the same publication: certain ones, and doubtful ones for a person to check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from rankwell.collections.references import Reference
from rankwell.core.progress import SILENT, Progress
from rankwell.reviews.matching import MatchingRule, comparable_authors, comparable_title, gestalt, kernels

UNLIKE = 0.5  # below this, titles with one DOI may be two parts of a book
FEWEST_WORDS = 4  # a shorter title ("Editorial", "Letter to the editor") says little
WORD = re.compile(r"\w+")
# An "a" is too often an article to count.
COUNTING = frozenset(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "b", "c", "d"))


class Duplicate(NamedTuple):
    """The later and the earlier of two records, the reason, and whether it is certain."""

    copy: int
    original: int
    why: str
    certain: bool


def find_duplicates(
    references: Sequence[Reference], known: int = 0, progress: Progress = SILENT
) -> Iterator[Duplicate]:
    """For each reference from place `known` on, the earlier one that it repeats, if there is one.

    Certain: the same DOI or PubMed number; or titles more similar than 0.98 (Gestalt), where neither year, authors,
    DOI, PubMed number nor a number in the title contradicts. Doubtful: such titles where something contradicts,
    and titles more similar than 0.85 of the same year with authors more similar than 0.75.
    """
    table = _Titles(references)
    numbers: dict[tuple[str, str], int] = {}
    roots = list(range(len(references)))
    for place, reference in enumerate(references):
        same = next((numbers[key] for key in _numbers(reference) if key in numbers), None)
        for key in _numbers(reference):
            numbers.setdefault(key, place)
        if place < known:
            continue
        progress.advance()
        duplicate = table.like(place) if same is None else _same_number(references, table, place, same)
        if duplicate is not None:
            roots[place] = roots[duplicate.original] if duplicate.certain else place
            yield duplicate._replace(original=roots[duplicate.original])


def _numbers(reference: Reference) -> list[tuple[str, str]]:
    pairs = (("DOI", reference.doi.strip().lower()), ("PubMed number", reference.pmid.strip()))
    return [(name, number) for name, number in pairs if number]


def _same_number(references: Sequence[Reference], table: _Titles, place: int, same: int) -> Duplicate:
    shared = next(name for name, number in _numbers(references[place]) if (name, number) in _numbers(references[same]))
    ours, theirs = table.titles[same], table.titles[place]
    unlike = bool(ours) and bool(theirs) and gestalt(ours, theirs) < UNLIKE
    why = f"same {shared}, but other titles" if unlike else f"same {shared}"
    return Duplicate(place, same, why, certain=not unlike)


@dataclass
class _Titles:
    """Finds the most similar earlier title without comparing most of them.

    Compiled code excludes earlier titles that cannot be similar enough; only the others are compared.
    """

    references: Sequence[Reference]
    rule: MatchingRule = field(default_factory=MatchingRule)

    def __post_init__(self) -> None:
        self.titles = [comparable_title(reference.title) for reference in self.references]
        self._authors: dict[int, str] = {}
        self._years = np.array([reference.year or 0 for reference in self.references], dtype=np.int64)
        self._starts = np.cumsum([0, *map(len, self.titles)], dtype=np.int64)
        codes = np.frombuffer("".join(self.titles).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        self._characters = (codes % kernels().BUCKETS).astype(np.uint8)
        self._counts = kernels().counts_of(self._characters, self._starts)

    def like(self, place: int) -> Duplicate | None:
        """The most similar earlier record that may be the same."""
        best: tuple[float, Duplicate] | None = None
        for other in self._candidates(place):
            similarity = gestalt(self.titles[other], self.titles[place])
            if similarity <= self.rule.near_title or (best is not None and similarity <= best[0]):
                continue
            duplicate = self._judged(place, other, similarity)
            if duplicate is not None:
                best = similarity, duplicate
        return best[1] if best else None

    def _candidates(self, place: int) -> list[int]:
        titles = (self._characters, self._starts, self._counts, self._years)
        places: list[int] = kernels().alike(*titles, place, self.rule.near_title, self.rule.same_title).tolist()
        return places

    def _judged(self, place: int, other: int, similarity: float) -> Duplicate | None:
        ours, theirs = self.references[other], self.references[place]
        years = None if ours.year is None or theirs.year is None else ours.year == theirs.year
        alike = self._same_authors(other, place)
        if similarity <= self.rule.same_title:
            why = f"similar title ({similarity:.2f}), same year"
            return Duplicate(place, other, why, certain=False) if years and alike else None
        differences = {
            "year": years is False,
            "authors": alike is False,
            "DOI": _differ(ours.doi.lower(), theirs.doi.lower()),
            "PubMed number": _differ(ours.pmid, theirs.pmid),
            "number in it": _numerals(self.titles[other]) != _numerals(self.titles[place]),
        }
        against = [name for name, differ in differences.items() if differ]
        short = len(self.titles[place].split()) < FEWEST_WORDS and not (years and alike)
        why = f"same title, other {' and '.join(against)}" if against else "same title"
        return Duplicate(place, other, why, certain=not against and not short)

    def _same_authors(self, one: int, other: int) -> bool | None:
        """Whether the authors are the same; None where they are not known."""
        ours, theirs = self._authors_of(one), self._authors_of(other)
        return gestalt(ours, theirs) > self.rule.same_authors if ours and theirs else None

    def _authors_of(self, place: int) -> str:
        if place not in self._authors:
            self._authors[place] = comparable_authors("; ".join(self.references[place].authors))
        return self._authors[place]


def _numerals(title: str) -> list[str]:
    """The numerals in a title: part 1 and part 2 of a study have nearly the same title."""
    return [word for word in WORD.findall(title) if word in COUNTING or any(map(str.isdigit, word))]


def _differ(one: Any, other: Any) -> bool:
    return bool(one) and bool(other) and one != other
