"""Cells that say something of a collection and rank nothing: how long its texts are, and who graded it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from rankwell.core import Judgments, Queries, RankwellError
from rankwell.core.fingerprint import fingerprint_file
from rankwell.studies.data import Chosen, judged_in
from rankwell.studies.study import ASSESSORS, PAIRS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwell.studies.cells import CellStore, Job

TOKEN_LIMIT = 512


@dataclass(frozen=True)
class PairsJob:
    """The judged pairs of a collection, those to train on too: words, tokens, the balance of labels (S3 3.1.3)."""

    chosen: Chosen
    tokenizer: str | None
    kind = "pairs"

    def configuration(self) -> dict[str, Any]:
        """The data, and whose tokens are counted."""
        return {**self.chosen.configuration(), "tokenizer": self.tokenizer, "limit": TOKEN_LIMIT}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Read all of it once."""
        from rankwell.encode import TokenCounter
        from rankwell.reviews import review_statistics

        queries, judgments = _all_judged(self.chosen)
        found = review_statistics(
            self.chosen.texts(judgments),
            queries,
            judgments,
            count_tokens=TokenCounter(self.tokenizer) if self.tokenizer else None,
            token_limit=TOKEN_LIMIT,
        )
        return {"statistics": orjson.loads(found.to_json())}


@dataclass(frozen=True)
class AssessorsJob:
    """The people who graded a collection: what they did, and how far they agree."""

    chosen: Chosen
    file: Path
    kind = "assessors"

    def configuration(self) -> dict[str, Any]:
        """The grades, the judgments there were, and how many people a query needs."""
        asked = {"assessors": self.chosen.entry.assessors, "split": self.chosen.entry.split}
        return {"data": self.chosen.facts.fingerprint, "grades": fingerprint_file(self.file), **asked}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Count, and measure agreement."""
        from rankwell.assess.agreement import measure_agreement
        from rankwell.studies.label_sets import grades_of_people

        entry = self.chosen.entry
        original = judged_in(self.chosen.open(), entry.split)
        people = grades_of_people(original, self.file, entry.assessors)
        agreement = measure_agreement(people.grades, people.rules.thresholds)
        kept = set(people.labels.kept)
        by_query, by_person = Counter[str](), Counter[str]()
        for qid, person in {(row.qid, row.assessor) for row in people.grades.rows()}:
            by_query[qid] += 1
            by_person[person] += 1
        levels = {row.assessor: row.english for row in people.grades.rows() if row.english is not None}
        told = {
            "given": {
                "assessors": len(by_person),
                "queries": len(by_query),
                "kept": len(kept),
                "answers": len(people.grades),
                "cannot_tell": sum(grade is None for grade in people.grades.grades),
            },
            "fates": dict(Counter(people.labels.fates.values())),
            "grades": _counted(grade for grade in people.grades.grades if grade is not None),
            "queries_per_assessor": _counted(by_person.values()),
            "assessors_per_query": _counted(by_query.values()),
            "assessors_per_kept_query": _counted(count for qid, count in by_query.items() if qid in kept),
            "english": _counted(levels.values()),
            "agreement": [asdict(figure) for figure in agreement.figures],
            "seconds": None if agreement.seconds is None else agreement.seconds.median,
            "warnings": list(agreement.warnings()),
        }
        return {"people": told}


class DataJob(Protocol):
    """Makes the job of a kind of table for a collection; raises where the collection has nothing for it."""

    def __call__(self, chosen: Chosen) -> Job:
        """The job."""


def pairs_job(chosen: Chosen) -> PairsJob:
    """With the tokens of the first model that is here."""
    from rankwell.encode import default_tokenizer

    return PairsJob(chosen, default_tokenizer())


def assessors_job(chosen: Chosen) -> AssessorsJob:
    """Where the collection has grades of single people."""
    if chosen.entry.grades is None or chosen.folder is None:
        raise RankwellError(f"expected grades of single people for {chosen.name}, found none")
    file = chosen.folder / chosen.entry.grades
    if not file.is_file():
        raise RankwellError(f"{file}: expected grades of single people, found nothing there")
    return AssessorsJob(chosen, file)


DATA_JOBS: Mapping[str, DataJob] = MappingProxyType({PAIRS: pairs_job, ASSESSORS: assessors_job})


def _all_judged(chosen: Chosen) -> tuple[Queries, Judgments]:
    """Those that are measured and those that are trained on."""
    queries, judgments = chosen.judged()
    if not chosen.can_train:
        return queries, judgments
    others, labels = chosen.to_train_on()
    new = [qid for qid in labels if qid not in judgments]
    both = Queries([*queries.values(), *(others[qid] for qid in new)])
    return both, Judgments([*judgments.rows(), *labels.only(new).rows()])


def _counted(values: Any) -> dict[str, int]:
    """How often each whole number occurs, for JSON."""
    return {str(value): count for value, count in sorted(Counter(values).items())}
