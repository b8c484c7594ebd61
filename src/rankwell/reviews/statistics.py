"""What a collection of reviews is like, as S3 3.1.2 describes its own: a row is a review with one of its studies."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from rankwell.collections import Collection, Reading
from rankwell.core import Document, Judgments, ParameterError, Query
from rankwell.report.lengths import Lengths
from rankwell.report.pair_statistics import SPECIAL_TOKENS

ABSTRACTS = ("abstract", "text")  # BEIR calls it text
QUERY, TITLE, ABSTRACT = "query", "title", "abstract"
PAIRS = {"query + abstract": (ABSTRACT,), "query + title + abstract": (TITLE, ABSTRACT)}
BATCH = 1000
ALL = "all"

T = TypeVar("T")
CountTokens = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class ReviewStatistics:
    """Figures over rows. `tokens` has what a cross-encoder would read, or is None where no tokenizer was at hand."""

    reviews: int
    rows: int
    relevant: int
    missing: int
    documents: int
    words: Mapping[str, Lengths]
    tokens: Mapping[str, Lengths] | None
    token_limit: int
    studies: Lengths
    relevant_studies: Lengths

    @property
    def percent_relevant(self) -> float | None:
        """The balance of labels."""
        return 100 * self.relevant / self.rows if self.rows else None

    def to_json(self) -> str:
        """Everything, for programs."""
        plain: dict[str, Any] = {
            **{name: getattr(self, name) for name in ("reviews", "rows", "relevant", "missing", "documents")},
            "percent_relevant": self.percent_relevant,
            "words": {name: of.as_dict() for name, of in self.words.items()},
            "tokens": self.tokens and {name: of.as_dict(self.token_limit) for name, of in self.tokens.items()},
            "studies_per_review": self.studies.as_dict(),
            "relevant_studies_per_review": self.relevant_studies.as_dict(),
        }
        return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"


def review_statistics(
    documents: Iterable[Document],
    queries: Mapping[str, Query],
    judgments: Judgments,
    *,
    count_tokens: CountTokens | None = None,
    token_limit: int = 512,
) -> ReviewStatistics:
    """Read the documents once; rows whose review or document is not there are counted as missing."""
    if token_limit < 1:
        raise ParameterError("token_limit", expected="a whole number from 1", found=token_limit)
    judged = {docno for grades in judgments.values() for docno in grades}
    sizes = _document_sizes((document for document in documents if document.id in judged), count_tokens)
    asked = {qid: query.text() for qid, query in queries.items() if qid in judgments}
    query_sizes = {qid: _Size(words, tokens) for qid, words, tokens in _sizes(asked, count_tokens)}
    words: dict[str, Counter[int]] = {name: Counter() for name in (QUERY, TITLE, ABSTRACT)}
    tokens: dict[str, Counter[int]] = {name: Counter() for name in PAIRS}
    rows = relevant = missing = 0
    for qid, grades in judgments.items():
        for docno, grade in grades.items():
            if qid not in query_sizes or docno not in sizes:
                missing += 1
                continue
            rows, relevant = rows + 1, relevant + (grade > 0)
            own, query = sizes[docno], query_sizes[qid]
            words[QUERY][query.words] += 1
            for name, size in own.items():
                words[name][size.words] += 1
            for name, parts in PAIRS.items():
                read = [own[part].tokens for part in parts if part in own]
                if read:
                    tokens[name][query.tokens + sum(read) + SPECIAL_TOKENS] += 1
    return ReviewStatistics(
        reviews=sum(1 for grades in judgments.values() if grades),
        rows=rows,
        relevant=relevant,
        missing=missing,
        documents=len(sizes),
        words={name: Lengths.of(of) for name, of in words.items()},
        tokens={name: Lengths.of(of) for name, of in tokens.items()} if count_tokens else None,
        token_limit=token_limit,
        studies=Lengths.of(Counter(len(grades) for grades in judgments.values() if grades)),
        relevant_studies=Lengths.of(
            Counter(sum(grade > 0 for grade in grades.values()) for grades in judgments.values() if grades)
        ),
    )


def judgments_of(collection: Collection, split: str = ALL, reading: Reading | None = None) -> Judgments:
    """The judgments of one split, or of all together."""
    if split != ALL:
        return collection.judgments(split, reading)
    return Judgments(row for name in collection.splits for row in collection.judgments(name, reading).rows())


@dataclass(frozen=True)
class _Size:
    words: int
    tokens: int


def _document_sizes(documents: Iterable[Document], count_tokens: CountTokens | None) -> dict[str, dict[str, _Size]]:
    """Document -> field -> size; a field without text has none."""
    found: dict[str, dict[str, _Size]] = {}
    rest = iter(documents)
    while batch := list(islice(rest, BATCH)):
        texts: dict[tuple[str, str], str] = {}
        for document in batch:
            found[document.id] = {}
            abstract = next((document.fields[name] for name in ABSTRACTS if name in document.fields), "")
            texts |= {(document.id, TITLE): document.fields.get(TITLE, ""), (document.id, ABSTRACT): abstract}
        filled = {key: text for key, text in texts.items() if text.strip()}
        for (docno, name), words, tokens in _sizes(filled, count_tokens):
            found[docno][name] = _Size(words, tokens)
    return found


def _sizes(texts: Mapping[T, str], count_tokens: CountTokens | None) -> Iterable[tuple[T, int, int]]:
    counted = count_tokens(list(texts.values())) if count_tokens else [0] * len(texts)
    return ((key, len(text.split()), tokens) for (key, text), tokens in zip(texts.items(), counted, strict=True))
