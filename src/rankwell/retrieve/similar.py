"""More like this: documents that share the telling words of a document."""

from __future__ import annotations

import math
from collections import Counter

from rankwell.core import ParameterError
from rankwell.index import SearchIndex

TERMS = 25  # the document's terms that are searched for
LONGEST = 20_000  # characters that are read of it


def telling_terms(index: SearchIndex, docno: str, most: int = TERMS) -> dict[str, float]:
    """A document's terms with the highest weight (1 + log tf) * log(1 + N / df), without those that only it has."""
    if docno not in index.documents:
        raise ParameterError("id", expected="the id of a document", found=docno)
    text = "\n".join(index.documents[docno].fields.values())[:LONGEST]
    weights: dict[str, float] = {}
    for term, count in Counter(index.analyzer(text)).items():
        documents = index.statistics(term).documents
        if documents > 1:
            weights[term] = (1 + math.log(count)) * math.log(1 + len(index) / documents)
    best = sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))[:most]
    return dict(best)


def similar_documents(index: SearchIndex, docno: str, k: int = 10) -> list[tuple[str, float]]:
    """The documents most like this one by words, with their scores; never the document itself.

    >>> similar_documents(index, "p1", k=5)
    """
    terms = telling_terms(index, docno)
    if not terms:
        return []
    return [row for row in index.search([terms], k + 1)[0] if row[0] != docno][:k]
