"""The texts that a re-ranker reads, documents whole or in passages; how passage scores become the document's score."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple, Self

import numpy as np

from rankwell.core import Document, Integers, ParameterError, Queries, RankwellError, Run, Template, Values
from rankwell.index import SearchIndex

log = logging.getLogger(__name__)

Documents = Mapping[str, Document]

TITLE = "title"
SHOWN = 3  # most ids in an error
LOOKED_AT = 1000  # documents to read for the names of the fields
LONGEST_TITLE = 50  # a title of this many words is not repeated
UNITS = ("words", "paragraphs")
PARAGRAPHS = re.compile(r"\n\s*\n")
WRITTEN = re.compile(r"(?P<words>\d+)(:(?P<overlap>\d+))?")


@dataclass(frozen=True)
class Passages:
    """Passages of a fixed number of words, each repeating the last `overlap` words of the one before.

    With `title` each passage begins with the document's title, and its words count. A title of 50 words or more
    (or of more than a third of the passage) would leave little room: it is read once, as the start of the body. The
    last passage may be shorter. With `unit="paragraphs"` the body is split at blank lines first, and only
    paragraphs that are too long are split further.

    Dai and Callan (SIGIR 2019) have 150 words with 75 overlapping.

    >>> CrossEncoder("ms-marco-minilm-l12", passages=Passages(150, 50), aggregate="max")
    """

    words: int = 150
    overlap: int = 50
    title: bool = True
    unit: str = "words"

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ParameterError("passages", expected="a number of words, at least 1", found=self.words)
        if not 0 <= self.overlap < self.words:
            expected = f"an overlap from 0 to {self.words - 1}, below the {self.words} words of a passage"
            raise ParameterError("passages", expected=expected, found=self.overlap)
        if self.unit not in UNITS:
            raise ParameterError("passages, unit", expected=" or ".join(UNITS), found=self.unit)

    @classmethod
    def paragraphs(cls, words: int = 150, overlap: int = 50, *, title: bool = True) -> Self:
        """One passage per paragraph."""
        return cls(words, overlap, title, "paragraphs")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `150:50` (words and overlap), `150` (without overlap), or `paragraphs`."""
        if text == "paragraphs":
            return cls.paragraphs()
        found = WRITTEN.fullmatch(text.strip())
        if found is None:
            expected = "words and overlap such as 150:50, words alone, or paragraphs"
            raise ParameterError("passages", expected=expected, found=text)
        return cls(int(found["words"]), int(found["overlap"] or 0))

    def split(self, title: str, body: str) -> list[str]:
        """The passages of a document in order; none where it has no text."""
        head = title.split() if self.title else []
        parts = PARAGRAPHS.split(body) if self.unit == "paragraphs" else [body]
        bodies = [words for words in map(str.split, parts) if words]
        if not self._repeats(head):
            bodies, head = [head, *bodies] if self.unit == "paragraphs" else [list(chain(head, *bodies))], []
        windows = [window for words in bodies for window in self._windows(words, self.words - len(head))]
        return [" ".join(head + window) for window in windows or ([[]] if head else [])]

    def _repeats(self, title: list[str]) -> bool:
        """Whether the title is short enough to precede every passage."""
        short = len(title) < LONGEST_TITLE and 3 * len(title) <= self.words
        return short and self.words - len(title) > self.overlap

    def _windows(self, words: list[str], size: int) -> list[list[str]]:
        """Windows of `size` words; the last one ends where the words end."""
        if not words:
            return []
        step = size - self.overlap
        last = max(0, len(words) - size)
        starts = range(0, last + step, step)  # the first start at or after `last` is the last one
        return [words[start : start + size] for start in starts]


class Aggregator(NamedTuple):
    """Combines the scores of a document's passages into one, independently of other documents.

    `combine(scores, starts)`: the scores of document i begin at `starts[i]`, and it has at least one. `enough`: how
    many passages it looks at, so that no others are scored; None for all.
    """

    combine: Callable[[Values, Integers], Values]
    enough: int | None = None

    def __call__(self, scores: Values, starts: Integers) -> Values:
        """The score of each document."""
        return self.combine(scores, starts)


def _mean(scores: Values, starts: Integers) -> Values:
    """Divide by the number of passages of this document alone, so that padding does not penalise short documents."""
    mean: Values = np.add.reduceat(scores, starts) / np.diff(np.append(starts, len(scores)))
    return mean


# FirstP, MaxP and SumP (which favours long documents): Dai and Callan, "Deeper text understanding for IR with
# contextual neural language modeling", SIGIR 2019. With `first` the other passages are not scored.
AGGREGATORS: dict[str, Aggregator] = {
    "first": Aggregator(lambda scores, starts: scores[starts], enough=1),
    "max": Aggregator(np.maximum.reduceat),
    "mean": Aggregator(_mean),
    "sum": Aggregator(np.add.reduceat),
}


def aggregator(name: str) -> Aggregator:
    """The aggregator of that name."""
    if name not in AGGREGATORS:
        raise ParameterError("aggregate", expected=" or ".join(AGGREGATORS), found=name)
    return AGGREGATORS[name]


@dataclass(frozen=True)
class DocumentTexts:
    """Gives the texts of a document to score: one, or its passages; none where it has no text.

    The title precedes each passage and is left out of the body; a template without it has none.
    """

    template: Template | None = None
    passages: Passages | None = None

    def __call__(self, document: Document) -> list[str]:
        """The document's texts in order."""
        if self.passages is None:
            text = self._whole(document, ()).strip()
            return [text] if text else []
        has_title = self.passages.title and (self.template is None or TITLE in self.template.fields)
        title = document.fields.get(TITLE, "") if has_title else ""
        return self.passages.split(title, self._whole(document, (TITLE,) if title else ()))

    def _whole(self, document: Document, without: Sequence[str]) -> str:
        if self.template is not None:
            return self.template.fill(document, without)
        between = "\n\n" if self.passages else " "  # a field ends a paragraph
        return between.join(text for name, text in document.fields.items() if name not in without)


def query_texts(run: Run, field: str | None) -> dict[str, str]:
    """The texts of the queries that have documents; warns of queries without text."""
    wanted = [qid for qid, ranking in run.rankings() if len(ranking)]
    if wanted and run.queries is None:
        raise RankwellError("re-ranking: expected a run with its queries, found one without their texts")
    queries = run.queries or Queries()
    missing = [qid for qid in wanted if qid not in queries]
    if missing:
        raise RankwellError(
            f"queries: expected the texts of all {len(wanted):,} queries of the run, "
            f"found none for {len(missing):,}: {few(missing)}"
        )
    texts = {qid: queries[qid].text(field) for qid in wanted}
    blank = [qid for qid, text in texts.items() if not text.strip()]
    if blank:
        log.warning("%d queries have no text, and their documents keep their order: %s", len(blank), few(blank))
    return texts


def document_texts(run: Run, k: int, index: SearchIndex | None, *, allow_missing: bool) -> Documents:
    """The texts of the k best documents, from the index or from the run's own documents."""
    top: list[str] = run.docnos[run.ranks <= k].tolist()
    if not top:
        return {}
    if index is None and run.documents is None:
        raise RankwellError("re-ranking: expected a run with its documents, or an index; found neither")
    documents = run.documents or {} if index is None else index.documents
    missing = [docno for docno in dict.fromkeys(top) if docno not in documents]
    if missing and not allow_missing:
        raise RankwellError(
            f"documents: expected the texts of all documents to re-rank, found none for {len(missing):,} of "
            f"{len(set(top)):,}: {few(missing)}"
        )
    if missing:
        log.warning("%d documents were not found, and stay below the others: %s", len(missing), few(missing))
    return documents


def check_fields(template: Template, run: Run, documents: Documents) -> None:
    """Refuse template fields that neither the run's first documents nor the collection's have."""
    known: dict[str, None] = {}
    for docno in chain(run.docnos[:LOOKED_AT].tolist(), islice(documents, LOOKED_AT)):
        known.update(dict.fromkeys(documents[docno].fields if docno in documents else ()))
        if known.keys() >= set(template.fields):
            return
    if known:
        template.check(known)


def few(names: Sequence[str]) -> str:
    """The first names, with dots where there are more."""
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
