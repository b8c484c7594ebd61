"""Where candidates for a study come from: PubMed itself, or a copy of it that Rankwell has indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from rankwell.collections import Reading, open_collection
from rankwell.core import Document, RankwellError, fingerprint, home
from rankwell.core.progress import Progress
from rankwell.index import Index, IndexWriter, Scoring, is_index
from rankwell.reviews.pubmed import EUtilities, title_term

CANDIDATES = 20
TITLES_ONLY = Scoring(weights={"title": 1.0})


class CandidateSource(Protocol):
    """Finds articles that may be a study."""

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """For each title the articles that a search for it finds first."""

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """Articles by PMID."""

    def described(self) -> dict[str, Any]:
        """For the record: what was searched."""


@dataclass(frozen=True)
class PubMedSource:
    """PubMed through E-utilities: a search for each title, and the articles of many searches at once."""

    client: EUtilities

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """The first articles for each title, best match first."""
        found = self.client.search_all([title_term(title) for title in titles], most)
        articles = self.client.fetch(list(dict.fromkeys(pmid for result in found for pmid in result.ids)))
        return [[articles[pmid] for pmid in result.ids if pmid in articles] for result in found]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """Articles by PMID."""
        return self.client.fetch(ids)

    def described(self) -> dict[str, Any]:
        """The service."""
        return {"kind": "E-utilities", "base_url": self.client.transport.base_url}


@dataclass(frozen=True)
class LocalSource:
    """An index of PubMed's articles: BM25 over their titles."""

    index: Index

    def candidates(self, titles: Sequence[str], most: int = CANDIDATES) -> list[list[Document]]:
        """The first articles for each title, best match first."""
        hits = self.index.search(list(titles), most, TITLES_ONLY)
        documents = self.index.documents
        docnos = hits.docnos.tolist()
        bounds = hits.offsets.tolist()
        return [[documents[docno] for docno in docnos[start:end]] for start, end in pairwise(bounds)]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:
        """Articles by PMID."""
        return {pmid: self.index.documents[pmid] for pmid in ids if pmid in self.index.documents}

    def described(self) -> dict[str, Any]:
        """The index and its content."""
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
    """The index of these files, made where it is not there yet; changed files get another one."""
    collection = open_collection(path, "pubmed-xml")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    states = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    folder = home() / "pubmed" / "local" / fingerprint([str(path.resolve()), states])[:16]
    if not is_index(folder):
        metadata = ["year", "date", "authors", "journal", "doi"]
        with IndexWriter(folder, metadata=metadata) as writer:
            writer.add_all(reading.progress.track(collection.documents(reading)))
    return folder
