"""Find the studies of reviews in PubMed or in an index; people decide ambiguous ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from rankwell.collections import Reading, open_collection
from rankwell.collections.formats.delimited import header, table_rows, write_table
from rankwell.collections.reading import head
from rankwell.core import SILENT, Document, FormatError, Phrase, Progress, RankwellError, fingerprint, home
from rankwell.index import Index, IndexWriter, Scoring, is_index
from rankwell.reviews.matching import MatchingRule, StudyMatch, Verdict, comparable_title
from rankwell.reviews.pubmed import EUtilities, title_term
from rankwell.reviews.review_files import ListedStudy, Review

CANDIDATES = 20
TITLES_ONLY = Scoring(weights={"title": 1.0})


class CandidateSource(Protocol):
    """A search engine that finds candidate articles for studies."""

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """The first articles of a search for each title."""

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """PMID -> article, without missing ones."""

    def described(self) -> dict[str, Any]:
        """The source's description for the manifest."""


@dataclass(frozen=True)
class PubMedSource:
    """PubMed through E-utilities: a search for each title, and the articles of many searches at once."""

    client: EUtilities

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """The first articles for each title, best match first."""
        results = self.client.search_all([title_term(title) for title in titles], most)
        articles = self.client.fetch(list(dict.fromkeys(pmid for result in results for pmid in result.ids)))
        return [[articles[pmid] for pmid in result.ids if pmid in articles] for result in results]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """PMID -> article, without missing ones."""
        return self.client.fetch(ids)

    def described(self) -> dict[str, Any]:
        """The service's address."""
        return {"kind": "E-utilities", "base_url": self.client.transport.base_url}


@dataclass(frozen=True)
class LocalSource:
    """An index of PubMed's articles, searched by BM25 over titles."""

    index: Index

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """The first articles for each title, best match first."""
        hits = self.index.search(list(titles), most, TITLES_ONLY)
        documents, docnos = self.index.documents, hits.docnos.tolist()
        bounds = pairwise(hits.offsets.tolist())
        return [[documents[docno] for docno in docnos[start:end]] for start, end in bounds]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """PMID -> article, without missing ones."""
        return {pmid: self.index.documents[pmid] for pmid in ids if pmid in self.index.documents}

    def described(self) -> dict[str, Any]:
        """The index's path and fingerprint."""
        return {"kind": "index", "path": str(self.index.path), "fingerprint": self.index.fingerprint()}


def open_local(path: Path | str, *, progress: Progress | None = None) -> LocalSource:
    """A source over an index of articles, or over PubMed's XML files, which are indexed once under RANKWELL_HOME."""
    path = Path(path)
    folder = path if is_index(path) else _indexed(path, Reading(progress=progress) if progress else Reading())
    index = Index.open(folder)
    if "title" not in index.fields:
        raise RankwellError(
            f"{path}: expected articles with titles, found the fields {', '.join(index.fields) or 'none'}"
        )
    return LocalSource(index)


def _indexed(path: Path, reading: Reading) -> Path:
    """The index of these files, built if it is missing or the files changed."""
    collection = open_collection(path, "pubmed-xml")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    folder = home() / "pubmed" / "local" / fingerprint([str(path.resolve()), states])[:16]
    if not is_index(folder):
        with IndexWriter(folder, metadata=["year", "date", "authors", "journal", "doi"]) as writer:
            writer.add_all(reading.progress.track(collection.documents(reading)))
    return folder


COLUMNS = (
    *("decision", "review", "label", "title", "year", "authors", "reason"),
    *("pmid", "candidate_title", "candidate_year", "candidate_authors", "title_similarity", "author_similarity"),
)
AMBIGUOUS, DECIDED = "ambiguous.csv", "decisions.csv"
YES, NO = ("yes", "y", "1", "same", "true"), ("no", "n", "0", "other", "false")

Decisions = Mapping[tuple[str, str], str]
"""(review id, title as it is compared) -> the PMID that was chosen, or an empty text where none is the study."""


def study_key(review: str, study: ListedStudy) -> tuple[str, str]:
    """A key that identifies a study in the decisions, independent of its place in the list."""
    return review, comparable_title(study.title)


def write_ambiguous(path: Path | str, matches: Iterable[tuple[str, int, StudyMatch]]) -> None:
    """A row for each candidate of each ambiguous study (with its review and label); `decision` is left empty."""
    rows = (
        (
            *("", review, label, match.study.title, match.study.year or "", match.study.authors, match.reason),
            *(near.candidate.id, near.candidate.fields.get("title", "")),
            *(near.candidate.metadata.get(name, "") for name in ("year", "authors")),
            *(f"{near.title:.4f}", "" if near.authors is None else f"{near.authors:.4f}"),
        )
        for review, label, match in matches
        for near in match.near
    )
    write_table(Path(path), COLUMNS, rows, ",")


def write_decisions(path: Path | str, decisions: Decisions) -> None:
    """Write decisions in the format of `read_decisions`."""
    rows = (("yes" if pmid else "no", review, title, pmid) for (review, title), pmid in decisions.items())
    write_table(Path(path), ("decision", "review", "title", "pmid"), rows, ",")


def decisions_in(folder: Path, given: Path | None = None) -> dict[tuple[str, str], str]:
    """All decisions: earlier ones, those in the build's own table of ambiguous studies, and the given file's.

    The build overwrites that table, so its decisions are read first. Later ones win.
    """
    decisions: dict[tuple[str, str], str] = {}
    for file in (folder / DECIDED, folder / AMBIGUOUS):
        decisions |= read_decisions(file) if file.is_file() else {}
    return decisions | (read_decisions(given) if given else {})


def read_decisions(path: Path | str) -> dict[tuple[str, str], str]:
    """Read a filled-in table: `yes` beside the candidate that is the study, `no` beside the others.

    Rows without a decision stay open; a study whose candidates all have `no` is not found.
    """
    path = Path(path)
    decisions: dict[tuple[str, str], str] = {}
    open_studies: set[tuple[str, str]] = set()
    start = head(path)
    delimiter = max(",;\t", key=lambda mark: len(header(start, mark)))  # spreadsheets may write semicolons or tabs
    for number, row in table_rows(path, Reading(), delimiter):
        missing = [name for name in ("decision", "review", "title", "pmid") if name not in row]
        if missing:
            raise FormatError(path, 1, expected=f"a column {missing[0]}", found=Phrase(", ".join(row)))
        decision, key = row["decision"].strip().lower(), study_key(row["review"], ListedStudy(row["title"]))
        if decision in YES:
            if decisions.get(key):
                raise FormatError(
                    path, number, expected="one yes for a study", found=Phrase(f"another: {row['title']}")
                )
            decisions[key] = row["pmid"].strip()
        elif decision in NO:
            decisions.setdefault(key, "")
        elif decision:
            raise FormatError(path, number, expected="yes, no or nothing as a decision", found=row["decision"])
        else:
            open_studies.add(key)
    return {key: pmid for key, pmid in decisions.items() if pmid or key not in open_studies}


AT_ONCE = 60  # studies that are searched together, so that their candidates are fetched in few requests


@dataclass(frozen=True)
class FoundStudy:
    """A study of a review with its label (1 included, 0 excluded) and its match."""

    review: Review
    label: int
    match: StudyMatch


@dataclass(frozen=True)
class StudyFinder:
    """Finds studies in a source by a rule. The source caches its answers, so a second run costs nothing."""

    source: CandidateSource
    rule: MatchingRule = field(default_factory=MatchingRule)
    decisions: Decisions | None = None
    candidates: int = CANDIDATES

    def find(self, reviews: Sequence[Review], progress: Progress = SILENT) -> Iterator[FoundStudy]:
        """Every study of every review, in their order."""
        listed = [(review, study, label) for review in reviews for study, label in review.studies]
        for start in range(0, len(listed), AT_ONCE):
            some = listed[start : start + AT_ONCE]
            numbers = [study.pmid for _, study, _ in some if study.pmid]
            articles = self.source.fetch(numbers) if numbers else {}
            matches = [self._known(review, study, articles.get(study.pmid)) for review, study, _ in some]
            titles = [study.title for (_, study, _), match in zip(some, matches, strict=True) if match is None]
            candidates = iter(self.source.candidates(titles, self.candidates) if titles else [])
            for (review, study, label), match in zip(some, matches, strict=True):
                yield FoundStudy(review, label, match or self.rule.decide(study, next(candidates)))
            progress.advance(len(some))

    def _known(self, review: Review, study: ListedStudy, article: Document | None) -> StudyMatch | None:
        """The match that needs no search: as a person decided, or by the PMID in the list; else None."""
        pmid = (self.decisions or {}).get(study_key(review.id, study))
        if pmid is not None:
            return self._as_decided(study, pmid)
        if article is None or self.rule.decide(study, [article]).verdict is Verdict.MISSING:
            return None  # a misprinted number leads to another article
        return StudyMatch(study, Verdict.FOUND, "by the PMID in the list", (), article)

    def _as_decided(self, study: ListedStudy, pmid: str) -> StudyMatch:
        if not pmid:
            return StudyMatch(study, Verdict.MISSING, "decided by a person: none of the candidates", ())
        article = self.source.fetch([pmid]).get(pmid)
        if article is None:
            return StudyMatch(study, Verdict.MISSING, f"decided by a person, but PubMed has no article {pmid}", ())
        return StudyMatch(study, Verdict.FOUND, "decided by a person", (), article)
