"""The jobs of cells: index, vectors, one step of a pipeline, latency, statistics of a collection."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson

from rankwell.collections import read_qrels, read_queries, read_run, unique, write_qrels, write_queries, write_run
from rankwell.collections.reading import Reading
from rankwell.core import Judgments, Queries, RankwellError, Run, Stage, fingerprint_file
from rankwell.index import Index, IndexWriter, with_metadata_names
from rankwell.judging.agreement import measure_agreement
from rankwell.models.base import TextEncoder, TokenCounter, default_tokenizer
from rankwell.studies.file.study import ASSESSORS, PAIRS
from rankwell.studies.plan.cells import CellStore, Job
from rankwell.studies.plan.collections import Chosen, grades_of_people, judged_in
from rankwell.studies.steps import STEPS, Chain, Step, StepContext, stage_of
from rankwell.studies.steps.kinds import FEEDBACK, OF_VECTORS, vectors_name
from rankwell.vectors import embed

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

    def read(self, store: CellStore) -> Run:
        """Read the run, cut to its best documents."""
        run = read_run(store.path(self.key) / RUN)
        return run if self.cut is None else run.top(self.cut)


@dataclass(frozen=True)
class JobContext:
    """The index and the collection's properties that a job needs."""

    index: str  # the key of the index's cell
    data: str
    source: Path | None
    models: tuple[tuple[str, str], ...] = ()  # trained by the study: name, key of the cell

    def open(self, store: CellStore, threads: int, *, scores: bool = True) -> StepContext:
        """The `StepContext` for the steps of a pipeline."""
        folder = store.path(self.index)
        models = {name: str(store.path(key) / "model") for name, key in self.models}
        kept = store.scores if scores else False
        index, judgments = Index.open(folder / INDEX), judgments_of(store, self.index)
        return StepContext(index, judgments, self.source, kept, threads, models)

    def start(self, store: CellStore, context: StepContext) -> Run:
        """A run of the queries without documents."""
        return Run.of_queries(queries_of(store, self.index), context.index.documents)


@dataclass(frozen=True)
class VectorsJob:
    """Encode all documents; the vectors are stored in the index, which resumes after a kill."""

    context: JobContext
    step: Step
    model: str  # its fingerprint
    kind = "vectors"

    def configuration(self) -> dict[str, Any]:
        """The encoder and the encoded text."""
        encoded = {name: self.step[name] for name in OF_VECTORS}
        return {**encoded, "graph": self.step["method"] == "hnsw", "weights": self.model, "data": self.context.data}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- they go elsewhere
        """Encode the documents without a vector."""
        begun = time.perf_counter()
        step, context = self.step, self.context.open(store, threads)
        how = {name: step[name] for name in ("pooling", "layer", "precision")}
        encoder = TextEncoder(context.model(step["model"]), **how, threads=threads)
        name, graph = vectors_name(step, context.models), step["method"] == "hnsw"
        count = embed(context.index, encoder, document=step["document"], name=name, graph=graph).count
        if not count:
            raise RankwellError(f"{step['model']}: expected documents with text to encode, found none")
        return {"documents": count, "encode_seconds": time.perf_counter() - begun}


@dataclass(frozen=True)
class RunJob:
    """One step of a pipeline: it turns the previous step's run (or several) into the next."""

    context: JobContext
    before: Chain
    step: Step
    given: CellRun | None = None
    beside: tuple[CellRun, ...] = ()
    model: str | None = None  # fingerprints of the step's inputs besides the index
    kind = "run"

    def configuration(self) -> dict[str, Any]:
        """The step, and the depth of its input."""
        cuts = [run.cut for run in (*([self.given] if self.given else []), *self.beside)]
        whole: dict[str, Any] = {"data": self.context.data, **self.step.configuration(), "cuts": cuts}
        if self.step.kind == FEEDBACK:  # searches again, as the first step of its line did
            whole["again"] = self.before[0].configuration()
        return whole if self.model is None else whole | {"weights": self.model}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:
        """Apply the step and write the run."""
        context = self.context.open(store, threads)
        kind = STEPS[self.step.kind]
        stage: Stage | None = None
        start = self.context.start(store, context)
        beside = tuple(_with_texts(run.read(store), start) for run in self.beside)
        first = start if self.given is None else _with_texts(self.given.read(store), start)
        begun = time.perf_counter()
        if kind.combine is not None:
            run = kind.combine(self.step, first, beside)
        else:
            stage = kind.stage(self.step, context, self.before)
            stage.check()
            run = stage.apply(first)
        seconds = time.perf_counter() - begun
        write_run(folder / RUN, run)
        facts = {"run": run.fingerprint(), "queries": len(run.qids), "documents": len(run), "stage_seconds": seconds}
        return facts | _counted(stage)


@dataclass(frozen=True)
class LatencyJob:
    """Latency of single queries through the whole pipeline, without caches."""

    context: JobContext
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
        context = self.context.open(store, threads, scores=False)
        stage = stage_of(self.chain, context)
        stage.check()
        asked = list(queries_of(store, self.context.index).values())
        taken = []
        for number, query in enumerate((asked * (WARM + 1))[: WARM + min(self.queries, len(asked))]):
            begun = time.perf_counter()
            stage.apply(Run.of_queries(Queries([query]), context.index.documents))
            if number >= WARM:
                taken.append((time.perf_counter() - begun) * 1000)
        times = {f"p{share}": float(np.percentile(taken, share)) for share in PERCENTILES}
        return {"milliseconds": times, "timed_queries": len(taken)}


def queries_of(store: CellStore, index: str) -> Queries:
    """The queries of a collection's cell."""
    return read_queries(store.path(index) / QUERIES)


def judgments_of(store: CellStore, index: str) -> Judgments:
    """The judgments of a collection's cell."""
    return read_qrels(store.path(index) / QRELS)


def _with_texts(run: Run, start: Run) -> Run:
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

    @classmethod
    def of(cls, chosen: Chosen) -> PairsJob:
        """A job that counts tokens of the first installed model."""
        return cls(chosen, default_tokenizer())

    def configuration(self) -> dict[str, Any]:
        """The data and the tokenizer."""
        return {**self.chosen.configuration(), "tokenizer": self.tokenizer, "limit": TOKEN_LIMIT}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Compute the statistics in one pass."""
        from rankwell.reviews import review_statistics

        queries, judgments = self.chosen.judged()
        if self.chosen.can_train:  # both for evaluation and for training
            others, labels = self.chosen.to_train_on()
            new = [qid for qid in labels if qid not in judgments]
            queries = Queries([*queries.values(), *(others[qid] for qid in new)])
            judgments = Judgments([*judgments.rows(), *labels.only(new).rows()])
        count = TokenCounter(self.tokenizer) if self.tokenizer else None
        texts = self.chosen.texts(judgments)
        statistics = review_statistics(texts, queries, judgments, count_tokens=count, token_limit=TOKEN_LIMIT)
        return {"statistics": orjson.loads(statistics.to_json())}


@dataclass(frozen=True)
class AssessorsJob:
    """Statistics of a collection's assessors, and their agreement."""

    chosen: Chosen
    file: Path
    kind = "assessors"

    @classmethod
    def of(cls, chosen: Chosen) -> AssessorsJob:
        """A job for a collection with grades of single people; an error without them."""
        if chosen.entry.grades is None or chosen.folder is None:
            raise RankwellError(f"expected grades of single people for {chosen.name}, found none")
        file = chosen.folder / chosen.entry.grades
        if not file.is_file():
            raise RankwellError(f"{file}: expected grades of single people, found nothing there")
        return cls(chosen, file)

    def configuration(self) -> dict[str, Any]:
        """The grades, the earlier judgments, and the least number of assessors."""
        asked = {"assessors": self.chosen.entry.assessors, "split": self.chosen.entry.split}
        return {"data": self.chosen.facts.fingerprint, "grades": fingerprint_file(self.file), **asked}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Count grades and compute the agreement."""
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
        people_facts = {
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
        return {"people": people_facts}


# The job of a table without rankings; it raises where the collection has nothing for it.
DATA_JOBS: Mapping[str, Callable[[Chosen], Job]] = MappingProxyType({PAIRS: PairsJob.of, ASSESSORS: AssessorsJob.of})


def _histogram(values: Any) -> dict[str, int]:
    """Counts of whole numbers, for JSON."""
    return {str(value): count for value, count in sorted(Counter(values).items())}
