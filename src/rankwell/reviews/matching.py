"""Decide whether an article is a review's study, by Gestalt similarity of normalised titles and authors."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from rankwell.core import Document, ParameterError
from rankwell.core.kernels import Kernels
from rankwell.reviews.review_files import ListedStudy

# Letters that Unicode does not decompose into a plain letter and an accent.
PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "\u0131": "i", "ħ": "h"}
)
BRACKETS = str.maketrans("", "", "[]")
INITIALS = re.compile(r"(?:[A-Z]\.?[\s-]?){1,4}")  # JC, J.C., J C, J-C
NOT_LETTERS = re.compile(r"[^\w\s]|_")
MOST_INITIALS = 4  # capitals in a row, beyond which it is an acronym of a group


def comparable_title(title: str) -> str:
    """A title case-folded, its white space as single spaces, without square brackets and closing full stops.

    PubMed puts translated titles into brackets and a full stop after every title; reviews vary.
    """
    folded = unicodedata.normalize("NFC", title).casefold().translate(BRACKETS)
    return " ".join(folded.split()).rstrip(". ")


def comparable_authors(authors: str) -> str:
    """An author list as one text: surnames and initials, no dashes, no accents, no full stops.

    `Antonicelli Roberto, Abbatecola Angela M`, `Antonicelli, R.; Abbatecola, A. M.` and `Antonicelli R and
    Abbatecola AM` all become `antonicelli r, abbatecola am`.
    """
    names = author_names(authors)
    # `Abbatecola Angela M` and `Beane Freeman LE` look alike: the rest of the list tells which way names are written.
    several = [words for name in names if "," not in name and len(words := name.split()) > 1]
    full = sum(not _are_initials(words[-1]) for words in several) * 2 > len(several)
    parts = (_parts(name, full_names=full) for name in names)
    # Dashes are removed, so that García-Tabar and Garcia Tabar differ by a space at most.
    return ", ".join(f"{NOT_LETTERS.sub('', _plain(surname))} {initials}".strip() for surname, initials in parts)


def author_names(authors: str) -> list[str]:
    """The single authors of a list that is separated by semicolons, by `and`, or by commas.

    Where commas also stand between surname and initials (`Varma, T. R., Curzen, P.`) the pieces are put together.
    """
    text = re.sub(r"\s*(?:,?\s+\band\b|&|\bet al\b\.?)\s*", "; ", authors)
    parts = [part.strip() for part in text.split(";") if part.strip(" ,.")]
    if len(parts) > 1 and all("," not in part or _is_surname_first(part) for part in parts):
        return parts
    surname = (
        [word for word in parts[0].partition(",")[0].split() if not word.islower()] if parts else []
    )  # no `van der`
    if len(parts) == 1 and _is_surname_first(parts[0]) and len(surname) == 1:
        return parts
    return [name for part in parts for name in _by_commas(part)]


def _by_commas(text: str) -> list[str]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip(" .")]
    names: list[str] = []
    for piece in pieces:
        if names and "," not in names[-1] and INITIALS.fullmatch(piece):
            names[-1] = f"{names[-1]}, {piece}"
        else:
            names.append(piece)
    return names


def _is_surname_first(part: str) -> bool:
    """`Antonicelli, Roberto` is one author; `Varma TR, Curzen P` are two."""
    before, _, after = part.partition(",")
    return bool(after.strip()) and "," not in after and not INITIALS.fullmatch(before.strip().rpartition(" ")[2])


def _parts(name: str, *, full_names: bool) -> tuple[str, str]:
    """Surname and initials. Without a comma the surname comes first, as in all of MEDLINE."""
    before, comma, after = name.partition(",")
    if comma:
        return before.strip(), _initials(after.split())
    words = name.split()
    given = len(words)
    if full_names:
        given = 1 + next((place for place, word in enumerate(words) if not word.islower()), 0)
    else:
        while given > 1 and _are_initials(words[given - 1]):
            given -= 1
    return " ".join(words[:given]), _initials(words[given:])


def _are_initials(word: str) -> bool:
    letters = re.sub(r"[\W_]", "", _without_accents(word))
    return letters.isupper() and len(letters) <= MOST_INITIALS


def _initials(words: list[str]) -> str:
    """The first letters of names; initials stay as they are."""
    parts = [part for word in words for part in re.split(r"[-.]", _without_accents(word))]
    return _plain("".join(part if _are_initials(part) else part[:1] for part in parts))


def _plain(text: str) -> str:
    return _without_accents(" ".join(text.split()).casefold()).translate(PLAIN)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(character for character in parts if not unicodedata.combining(character))


kernels = Kernels("rankwell.reviews.kernels")


def gestalt(a: str, b: str) -> float:
    """2 M / T: the share of characters in matching blocks, from 0 to 1; 1 for two empty texts.

    Blocks are found as in J. W. Ratcliff and D. E. Metzener, "Pattern matching: the Gestalt approach" (Dr. Dobb's
    Journal, 1988): the longest common block, and the same again left and right of it. The value is exactly that of
    `difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()`. The order matters where several blocks are equally
    long: the earliest in `a` is taken. Rankwell always puts the review's text first and the candidate's second.
    """
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    matching: int = kernels().matching_characters(_characters(a), _characters(b))
    return 2.0 * matching / (len(a) + len(b))


def _characters(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


class Verdict(StrEnum):
    """The result of matching a study."""

    FOUND = "found"
    AMBIGUOUS = "ambiguous"
    MISSING = "not found"


@dataclass(frozen=True)
class MatchingRule:
    """When a candidate is the same publication as a study.

    - title similarity above `same_title`: the same;
    - above `near_title`, with the same year and an author similarity above `same_authors`: the same. Where the year or
      the authors of either are not known, this cannot hold;
    - else it is another one.

    Titles and author lists are compared as this module normalises them, with `gestalt(study, candidate)`.
    """

    same_title: float = 0.98
    near_title: float = 0.85
    same_authors: float = 0.75

    def __post_init__(self) -> None:
        for name in ("same_title", "near_title", "same_authors"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, expected="a number from 0 to 1", found=getattr(self, name))
        if self.near_title > self.same_title:
            raise ParameterError("near_title", expected=f"at most {self.same_title}", found=self.near_title)

    def compare(self, study: ListedStudy, candidate: Document) -> StudyComparison:
        """Compare title, year and authors, and decide; where titles differ much, nothing else is compared."""
        title = gestalt(comparable_title(study.title), comparable_title(candidate.fields.get("title", "")))
        if title <= self.near_title:
            return StudyComparison(candidate, title, None, None, agrees=False, same=False)
        ours = comparable_authors(study.authors)
        theirs = comparable_authors(str(candidate.metadata.get("authors", "")))
        authors = gestalt(ours, theirs) if ours and theirs else None
        year = candidate.metadata.get("year")
        same_year = study.year == year if study.year is not None and year is not None else None
        agrees = same_year is True and authors is not None and authors > self.same_authors
        return StudyComparison(
            candidate, title, authors, same_year, agrees=agrees, same=agrees or title > self.same_title
        )

    def decide(self, study: ListedStudy, candidates: Sequence[Document]) -> StudyMatch:
        """The candidate that is the study; several or nearly matching ones are ambiguous, for a person to decide."""
        if not comparable_title(study.title):
            return StudyMatch(study, Verdict.MISSING, "the study has no title", ())
        compared = [self.compare(study, candidate) for candidate in candidates]
        compared.sort(key=lambda one: (one.same, one.title, one.agrees), reverse=True)
        near = tuple(one for one in compared if one.title > self.near_title)
        same = [one for one in near if one.same]
        if same:
            return self._chosen(study, same, near)
        if near:
            return StudyMatch(study, Verdict.AMBIGUOUS, self._doubt(near[0]), near)
        if compared:
            best = max(one.title for one in compared)
            return StudyMatch(study, Verdict.MISSING, f"the most similar of {len(compared)} titles has {best:.2f}", ())
        return StudyMatch(study, Verdict.MISSING, "the search found nothing", ())

    def _chosen(
        self, study: ListedStudy, same: Sequence[StudyComparison], near: tuple[StudyComparison, ...]
    ) -> StudyMatch:
        """The most similar one. Of several equally similar ones the one whose year and authors agree, if it is one."""
        equal = [one for one in same if one.title == same[0].title]
        best = [one for one in equal if one.agrees or len(equal) == 1]
        if len(best) != 1:
            return StudyMatch(study, Verdict.AMBIGUOUS, f"{len(equal)} articles have equally similar titles", near)
        reason = f"title {best[0].title:.2f}"
        if best[0].title <= self.same_title:
            reason += f", same year, authors {best[0].authors:.2f}"
        return StudyMatch(study, Verdict.FOUND, reason, near, best[0].candidate)

    def _doubt(self, nearest: StudyComparison) -> str:
        """Why the nearest candidate was not accepted."""
        reasons = [f"title {nearest.title:.2f}"]
        if nearest.same_year is None:
            reasons.append("a year is missing")
        elif not nearest.same_year:
            reasons.append("another year")
        if nearest.authors is None:
            reasons.append("authors are missing")
        elif nearest.authors <= self.same_authors:
            reasons.append(f"authors {nearest.authors:.2f}")
        return ", ".join(reasons)


@dataclass(frozen=True)
class StudyComparison:
    """A candidate compared with a study. `authors` and `same_year` are None where either lacks them."""

    candidate: Document
    title: float
    authors: float | None
    same_year: bool | None
    agrees: bool
    same: bool


@dataclass(frozen=True)
class StudyMatch:
    """The verdict on a study, the reason, and the nearest candidates."""

    study: ListedStudy
    verdict: Verdict
    reason: str
    near: tuple[StudyComparison, ...]
    article: Document | None = None
