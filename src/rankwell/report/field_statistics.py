"""What a collection's fields hold: how many documents have each, and how long they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from rankwell.report.lengths import Lengths

TITLE = "title"
ABSTRACT = "abstract"


@dataclass(frozen=True)
class FieldStatistics:
    """One field: the documents that have it (a blank text is none), its words and tokens.

    `beside_title` counts the documents that have this field and a title, `shorter_than_title` those of them where it
    is the one with fewer characters: such an abstract says "Reply" or "No abstract available".
    """

    name: str
    documents: int
    judged_documents: int
    words: Lengths
    tokens: Lengths | None
    beside_title: int
    shorter_than_title: int


@dataclass
class FieldTally:
    """The same while documents are still being read."""

    words: Counter[int] = field(default_factory=Counter)
    tokens: Counter[int] = field(default_factory=Counter)
    # Token counts of the judged documents by id (0 without a tokenizer), because these meet their queries later.
    judged: dict[str, int] = field(default_factory=dict)
    # Tokens of the title and this field together, and of those titles alone: what documents are to a cross-encoder.
    with_title: Counter[int] = field(default_factory=Counter)
    titles_beside: Counter[int] = field(default_factory=Counter)
    beside_title: int = 0
    shorter_than_title: int = 0

    def finished(self, name: str, *, with_tokens: bool) -> FieldStatistics:
        """The figures."""
        words = Lengths.of(self.words)
        return FieldStatistics(
            name=name,
            documents=words.count,
            judged_documents=len(self.judged),
            words=words,
            tokens=Lengths.of(self.tokens) if with_tokens else None,
            beside_title=self.beside_title,
            shorter_than_title=self.shorter_than_title,
        )


def main_field(fields: Iterable[FieldStatistics]) -> str | None:
    """The field that a re-ranker would read: the abstract, or else the longest on average that is not the title."""
    texts = [field for field in fields if field.name != TITLE]
    if any(field.name == ABSTRACT for field in texts):
        return ABSTRACT
    longest = max(texts, key=lambda field: field.words.mean or 0, default=None)
    return longest.name if longest else None
