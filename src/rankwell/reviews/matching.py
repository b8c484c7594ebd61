"""Is this article the study that a review lists? Two thresholds, precision first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rankwell.core import Document, ParameterError
from rankwell.reviews.normalise import comparable_authors, comparable_title
from rankwell.reviews.review import Study
from rankwell.reviews.similarity import gestalt


class Verdict(StrEnum):
    """What was found for a study."""

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

    Titles and author lists are compared as `rankwell.reviews.normalise` writes them, with `gestalt(study, candidate)`.
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

    def compare(self, study: Study, candidate: Document) -> Comparison:
        """How alike they are, and what follows from it; where titles are far apart, nothing else is looked at."""
        title = gestalt(comparable_title(study.title), comparable_title(candidate.fields.get("title", "")))
        if title <= self.near_title:
            return Comparison(candidate, title, None, None, agrees=False, same=False)
        ours = comparable_authors(study.authors)
        theirs = comparable_authors(str(candidate.metadata.get("authors", "")))
        authors = gestalt(ours, theirs) if ours and theirs else None
        year = candidate.metadata.get("year")
        same_year = study.year == year if study.year is not None and year is not None else None
        agrees = same_year is True and authors is not None and authors > self.same_authors
        return Comparison(candidate, title, authors, same_year, agrees=agrees, same=agrees or title > self.same_title)

    def decide(self, study: Study, candidates: Sequence[Document]) -> Match:
        """The one candidate that is the study; several or nearly fitting ones are for a person to decide."""
        if not comparable_title(study.title):
            return Match(study, Verdict.MISSING, "the study has no title", ())
        compared = sorted(
            (self.compare(study, candidate) for candidate in candidates),
            key=lambda comparison: (comparison.same, comparison.title, comparison.agrees),
            reverse=True,
        )
        near = tuple(comparison for comparison in compared if comparison.title > self.near_title)
        same = [comparison for comparison in near if comparison.same]
        if same:
            return self._chosen(study, same, near)
        if near:
            return Match(study, Verdict.AMBIGUOUS, self._doubt(near[0]), near)
        if compared:
            best = max(comparison.title for comparison in compared)
            return Match(study, Verdict.MISSING, f"the most similar of {len(compared)} titles has {best:.2f}", ())
        return Match(study, Verdict.MISSING, "the search found nothing", ())

    def _chosen(self, study: Study, same: Sequence[Comparison], near: tuple[Comparison, ...]) -> Match:
        """The most similar one. Of several equally similar ones the one whose year and authors agree, if it is one."""
        best = [comparison for comparison in same if comparison.title == same[0].title]
        if len(best) > 1:
            best = [comparison for comparison in best if comparison.agrees]
        if len(best) != 1:
            count = sum(comparison.title == same[0].title for comparison in same)
            return Match(study, Verdict.AMBIGUOUS, f"{count} articles have equally similar titles", near)
        reason = f"title {best[0].title:.2f}"
        if best[0].title <= self.same_title:
            reason += f", same year, authors {best[0].authors:.2f}"
        return Match(study, Verdict.FOUND, reason, near, best[0].candidate)

    def _doubt(self, nearest: Comparison) -> str:
        """Why the nearest candidate was not taken."""
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
class Comparison:
    """A candidate beside a study. `authors` and `same_year` are None where one of the two does not have them."""

    candidate: Document
    title: float
    authors: float | None
    same_year: bool | None
    agrees: bool
    same: bool


@dataclass(frozen=True)
class Match:
    """What was found for a study, why, and the candidates that came near."""

    study: Study
    verdict: Verdict
    reason: str
    near: tuple[Comparison, ...]
    article: Document | None = None
