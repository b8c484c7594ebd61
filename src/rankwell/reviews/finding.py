"""Finding the studies of many reviews: search, decide, and take a person's word where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rankwell.core.progress import SILENT, Progress
from rankwell.reviews.decisions import Decisions, study_key
from rankwell.reviews.matching import Match, MatchingRule, Verdict
from rankwell.reviews.review import Review, Study
from rankwell.reviews.sources import CANDIDATES, CandidateSource

AT_ONCE = 60  # studies that are searched together, so that their candidates are fetched in few requests


@dataclass(frozen=True)
class FoundStudy:
    """A study of a review with its label (1 included, 0 excluded) and what was found for it."""

    review: Review
    label: int
    match: Match


@dataclass(frozen=True)
class StudyFinder:
    """Finds studies in a source by a rule. Answers of the source are kept, so that a second go costs nothing."""

    source: CandidateSource
    rule: MatchingRule = field(default_factory=MatchingRule)
    decisions: Decisions | None = None
    candidates: int = CANDIDATES

    def find(self, reviews: Sequence[Review], progress: Progress = SILENT) -> Iterator[FoundStudy]:
        """Every study of every review, in their order."""
        listed = [(review, study, label) for review in reviews for study, label in review.studies]
        for start in range(0, len(listed), AT_ONCE):
            some = listed[start : start + AT_ONCE]
            searched = [study for review, study, _ in some if self._decided(review, study) is None]
            found = iter(
                self.source.candidates([study.title for study in searched], self.candidates) if searched else []
            )
            for review, study, label in some:
                decided = self._decided(review, study)
                match = self.rule.decide(study, next(found)) if decided is None else self._as_decided(study, decided)
                yield FoundStudy(review, label, match)
            progress.advance(len(some))

    def _decided(self, review: Review, study: Study) -> str | None:
        return (self.decisions or {}).get(study_key(review.id, study))

    def _as_decided(self, study: Study, pmid: str) -> Match:
        if not pmid:
            return Match(study, Verdict.MISSING, "decided by a person: none of the candidates", ())
        article = self.source.fetch([pmid]).get(pmid)
        if article is None:
            return Match(study, Verdict.MISSING, f"decided by a person, but PubMed has no article {pmid}", ())
        return Match(study, Verdict.FOUND, "decided by a person", (), article)
