"""What was judged: how many of each grade, how evenly over the topics, and how much of the collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

SHOWN_IDS = 5


@dataclass(frozen=True)
class JudgmentStatistics:
    """The judgments of a collection. `documents` are the different ones judged, `found` those the collection has."""

    judgments: int
    grades: Mapping[int, int]
    per_topic: Mapping[str, Mapping[int, int]]
    documents: int
    found: int
    missing_examples: tuple[str, ...]

    @property
    def missing(self) -> int:
        """How many judged documents are not in the collection."""
        return self.documents - self.found

    def of_grade(self, grade: int) -> list[int]:
        """How many judgments of this grade each topic has."""
        return [grades.get(grade, 0) for grades in self.per_topic.values()]


def judged_documents(judgments: Mapping[str, Mapping[str, int]]) -> dict[str, None]:
    """The ids of all judged documents, each once, in the order in which they were judged."""
    return dict.fromkeys(docno for grades in judgments.values() for docno in grades)


def judgment_statistics(judgments: Mapping[str, Mapping[str, int]], found: AbstractSet[str]) -> JudgmentStatistics:
    """The figures, given which of the judged documents the collection has."""
    judged = judged_documents(judgments)
    per_topic = {qid: dict(sorted(Counter(grades.values()).items())) for qid, grades in judgments.items() if grades}
    balance: Counter[int] = Counter()
    for grades in per_topic.values():
        balance.update(grades)
    missing = (docno for docno in judged if docno not in found)
    return JudgmentStatistics(
        judgments=balance.total(),
        grades=dict(sorted(balance.items())),
        per_topic=per_topic,
        documents=len(judged),
        found=len(found),
        missing_examples=tuple(docno for docno, _ in zip(missing, range(SHOWN_IDS), strict=False)),
    )
