"""The documents that a re-ranker scores: the top of every query, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rankwell.core import Document, Run

BLOCK = 1024  # pairs whose texts are in memory together; or more, because a query stays together


class Candidate(NamedTuple):
    """A document to score: its row in the run, the query, and its texts (whole, or passages)."""

    row: int
    query: str
    texts: Sequence[str]


class Candidates:
    """The k best documents of every query, with their texts. Counts what passes."""

    def __init__(
        self,
        run: Run,
        k: int,
        queries: Mapping[str, str],
        documents: Mapping[str, Document],
        texts: Callable[[Document], Sequence[str]],
    ) -> None:
        self._run, self._k, self._queries, self._texts = run, k, queries, texts
        self.documents = documents
        self.count = int((run.ranks <= k).sum())
        self.done = 0
        self.empty = 0  # documents without a text

    def blocks(self, size: int = BLOCK) -> Iterator[list[Candidate]]:
        """Those that have a text, whole queries together; so many pairs a block, or a few more."""
        block: list[Candidate] = []
        passed = pairs = 0
        for place, qid in enumerate(self._run.qids):
            found = list(self._of_query(place, self._queries.get(qid, "")))
            block += found
            pairs += sum(len(candidate.texts) for candidate in found)
            passed += min(int(self._run.offsets[place + 1] - self._run.offsets[place]), self._k)
            if pairs >= size:
                yield block
                self.done, block, pairs = passed, [], 0
        if block:
            yield block
        self.done = passed

    def _of_query(self, place: int, query: str) -> Iterator[Candidate]:
        """The documents of one query; none where the query is blank."""
        if not query.strip():
            return
        start = int(self._run.offsets[place])
        end = min(int(self._run.offsets[place + 1]), start + self._k)
        for row, docno in enumerate(self._run.docnos[start:end].tolist(), start):
            document = self.documents.get(docno)
            if document is None:
                continue
            texts = self._texts(document)
            if texts:
                yield Candidate(row, query, texts)
            else:
                self.empty += 1
