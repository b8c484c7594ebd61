"""The jobs of cells: index, vectors, one step of a pipeline, latency, statistics of a collection."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import orjson

from rankwell.collections import read_qrels, read_queries, read_run, unique, write_qrels, write_queries, write_run
from rankwell.collections.reading import Reading
from rankwell.core import Judgments, Queries, RankwellError, Run, Stage
from rankwell.core.fingerprint import fingerprint_file
from rankwell.index import Index, IndexWriter, with_metadata_names
from rankwell.studies.file.study import ASSESSORS, PAIRS
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.data import Chosen, judged_in
from rankwell.studies.steps import STEPS, Chain, JoiningKind, Step, StepContext, stage_of
from rankwell.studies.steps.dense import make_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankwell.studies.plan.cells import CellStore, Job


INDEX, QUERIES, QRELS, RUN = "index", "queries.jsonl", "qrels.tsv", "run.trec"
WARM = 2  # warm-up queries
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class IndexJob:
    """Read the collection, sample it if the budget says so, and index it."""

    chosen: Chosen
    kind = "index"

    def configuration(self) -> dict[str, Any]:
        """The data and their sampling."""
        return self.chosen.configuration()

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- it is the first
        """Write the index, queries and judgments for all later cells."""
        queries, judgments = self.chosen.judged()
        write_queries(folder / QUERIES, queries)
        write_qrels(folder / QRELS, judgments)
        names, documents = with_metadata_names(unique(self.chosen.texts(judgments), Reading(), self.chosen.name))
        with IndexWriter(folder / INDEX, metadata=names) as writer:
            writer.add_all(documents)
        index = Index.open(folder / INDEX)
        counts = {"documents": len(index), "queries": len(queries), "judgments": judgments.count}
        return {"collection": self.chosen.name, "source": self.chosen.source, "counts": counts}


@dataclass(frozen=True)
class CellRun:
    """The run of a finished cell, cut to its `cut` best documents."""

    key: str
    cut: int | None = None

    def run(self, store: CellStore) -> Run:
        """Read the run, cut to its best documents."""
        found = read_run(store.path(self.key) / RUN)
        return found if self.cut is None else found.top(self.cut)


@dataclass(frozen=True)
class JobContext:
    """The index and the collection's properties that a job needs."""

    index: str  # the key of the index's cell
    data: str
    source: Path | None
    models: tuple[tuple[str, str], ...] = ()  # trained by the study: name, key of the cell

    def bench(self, store: CellStore, threads: int, *, scores: bool = True) -> StepContext:
        """The `StepContext` for the steps of a pipeline."""
        folder = store.path(self.index)
        models = {name: str(store.path(key) / "model") for name, key in self.models}
        kept = store.scores if scores else False
        return StepContext(
            Index.open(folder / INDEX), judgments_of(store, self.index), self.source, kept, threads, models
        )

    def start(self, store: CellStore, bench: StepContext) -> Run:
        """A run of the queries without documents."""
        return Run.of_queries(queries_of(store, self.index), bench.index.documents)


@dataclass(frozen=True)
class VectorsJob:
    """Encode all documents; the vectors are stored in the index, which resumes after a kill."""

    ground: JobContext
    step: Step
    model: str  # its fingerprint
    kind = "vectors"

    def configuration(self) -> dict[str, Any]:
        """The encoder and the encoded text."""
        encoded = {name: self.step[name] for name in ("model", "pooling", "layer", "document", "precision")}
        return {**encoded, "graph": self.step["method"] == "hnsw", "weights": self.model, "data": self.ground.data}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- they go elsewhere
        """Encode the documents without a vector."""
        begun = time.perf_counter()
        count = make_vectors(self.step, self.ground.bench(store, threads))
        return {"documents": count, "encode_seconds": time.perf_counter() - begun}


@dataclass(frozen=True)
class RunJob:
    """One step of a pipeline: it turns the previous step's run (or several) into the next."""

    ground: JobContext
    before: Chain
    step: Step
    given: CellRun | None = None
    beside: tuple[CellRun, ...] = ()
    model: str | None = None  # fingerprints of the step's inputs besides the index
    kind = "run"

    def configuration(self) -> dict[str, Any]:
        """The step, and the depth of its input."""
        cuts = [place.cut for place in (*([self.given] if self.given else []), *self.beside)]
        told: dict[str, Any] = {"data": self.ground.data, **self.step.configuration(), "cuts": cuts}
        if self.step.kind == "rm3":  # searches again, as the first step of its line did
            told["again"] = self.before[0].configuration()
        return told if self.model is None else told | {"weights": self.model}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Apply the step and write the run."""
        bench = self.ground.bench(store, threads)
        kind = STEPS[self.step.kind]
        stage: Stage | None = None
        start = self.ground.start(store, bench)
        beside = tuple(_travelling(place.run(store), start) for place in self.beside)
        first = start if self.given is None else _travelling(self.given.run(store), start)
        begun = time.perf_counter()
        if isinstance(kind, JoiningKind):
            run = kind.combined(self.step, first, beside)
        else:
            stage = kind.stage(self.step, bench, self.before)
            stage.check()
            run = stage.apply(first)
        seconds = time.perf_counter() - begun
        write_run(folder / RUN, run)
        told = {"run": run.fingerprint(), "queries": len(run.qids), "documents": len(run), "stage_seconds": seconds}
        return told | _counted(stage)


@dataclass(frozen=True)
class LatencyJob:
    """Latency of single queries through the whole pipeline, without caches."""

    ground: JobContext
    chain: Chain
    queries: int
    models: tuple[str, ...] = ()
    cores: int = os.cpu_count() or 1
    kind = "latency"

    def configuration(self) -> dict[str, Any]:
        """The pipeline and the number of cores, because latency depends on the machine."""
        steps = [step.configuration() for step in self.chain]
        return {"steps": steps, "queries": self.queries, "weights": list(self.models), "cores": self.cores}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Time the queries one by one."""
        bench = self.ground.bench(store, threads, scores=False)
        stage = stage_of(self.chain, bench)
        stage.check()
        asked = list(queries_of(store, self.ground.index).values())
        taken = []
        for number, query in enumerate((asked * (WARM + 1))[: WARM + min(self.queries, len(asked))]):
            begun = time.perf_counter()
            stage.apply(Run.of_queries(Queries([query]), bench.index.documents))
            if number >= WARM:
                taken.append((time.perf_counter() - begun) * 1000)
        found = {f"p{share}": float(np.percentile(taken, share)) for share in PERCENTILES}
        return {"milliseconds": found, "timed_queries": len(taken)}


def queries_of(store: CellStore, index: str) -> Queries:
    """The queries of a collection's cell."""
    return read_queries(store.path(index) / QUERIES)


def judgments_of(store: CellStore, index: str) -> Judgments:
    """The judgments of a collection's cell."""
    return read_qrels(store.path(index) / QRELS)


def _travelling(run: Run, start: Run) -> Run:
    """A stored run with the texts for the next step and all queries, also those without a document."""
    scores = {qid: dict(run[qid]) if qid in run else {} for qid in start.qids}
    return Run.from_dict(scores, tag=run.tag, queries=start.queries, documents=start.documents)


def _counted(stage: Stage | None) -> dict[str, Any]:
    """Number of pairs and speed of a re-ranker."""
    tally = getattr(stage, "tally", None) or getattr(getattr(stage, "reranker", None), "tally", None)
    if tally is None:
        return {}
    speed = tally.scored / tally.seconds if tally.scored and tally.seconds else None
    return {"pairs": tally.pairs, "scored": tally.scored, "score_seconds": tally.seconds, "pairs_per_second": speed}


TOKEN_LIMIT = 512


@dataclass(frozen=True)
class PairsJob:
    """Statistics of a collection's judged pairs: words, tokens, balance of labels (systematic-review study, 3.1.3)."""

    chosen: Chosen
    tokenizer: str | None
    kind = "pairs"

    def configuration(self) -> dict[str, Any]:
        """The data and the tokenizer."""
        return {**self.chosen.configuration(), "tokenizer": self.tokenizer, "limit": TOKEN_LIMIT}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Compute the statistics in one pass."""
        from rankwell.models.base import TokenCounter
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
    """Statistics of a collection's assessors, and their agreement."""

    chosen: Chosen
    file: Path
    kind = "assessors"

    def configuration(self) -> dict[str, Any]:
        """The grades, the earlier judgments, and the least number of assessors."""
        asked = {"assessors": self.chosen.entry.assessors, "split": self.chosen.entry.split}
        return {"data": self.chosen.facts.fingerprint, "grades": fingerprint_file(self.file), **asked}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Count grades and compute the agreement."""
        from rankwell.judging.agreement import measure_agreement
        from rankwell.studies.file.study import grades_of_people

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
            "grades": _histogram(grade for grade in people.grades.grades if grade is not None),
            "queries_per_assessor": _histogram(by_person.values()),
            "assessors_per_query": _histogram(by_query.values()),
            "assessors_per_kept_query": _histogram(count for qid, count in by_query.items() if qid in kept),
            "english": _histogram(levels.values()),
            "agreement": [asdict(figure) for figure in agreement.figures],
            "seconds": None if agreement.seconds is None else agreement.seconds.median,
            "warnings": list(agreement.warnings()),
        }
        return {"people": told}


class DataJob(Protocol):
    """Makes the job of a kind of table for a collection; raises where the collection has nothing for it."""

    def __call__(self, chosen: Chosen) -> Job:
        """The job for the collection."""


def pairs_job(chosen: Chosen) -> PairsJob:
    """A job that counts tokens of the first installed model."""
    from rankwell.models.base import default_tokenizer

    return PairsJob(chosen, default_tokenizer())


def assessors_job(chosen: Chosen) -> AssessorsJob:
    """A job for a collection with grades of single people; an error without them."""
    if chosen.entry.grades is None or chosen.folder is None:
        raise RankwellError(f"expected grades of single people for {chosen.name}, found none")
    file = chosen.folder / chosen.entry.grades
    if not file.is_file():
        raise RankwellError(f"{file}: expected grades of single people, found nothing there")
    return AssessorsJob(chosen, file)


DATA_JOBS: Mapping[str, DataJob] = MappingProxyType({PAIRS: pairs_job, ASSESSORS: assessors_job})


def _all_judged(chosen: Chosen) -> tuple[Queries, Judgments]:
    """Queries and judgments for both evaluation and training."""
    queries, judgments = chosen.judged()
    if not chosen.can_train:
        return queries, judgments
    others, labels = chosen.to_train_on()
    new = [qid for qid in labels if qid not in judgments]
    both = Queries([*queries.values(), *(others[qid] for qid in new)])
    return both, Judgments([*judgments.rows(), *labels.only(new).rows()])


def _histogram(values: Any) -> dict[str, int]:
    """Counts of whole numbers, for JSON."""
    return {str(value): count for value, count in sorted(Counter(values).items())}
