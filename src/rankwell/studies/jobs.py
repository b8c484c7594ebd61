"""The kinds of work that cells do: an index, vectors, one step of a pipeline, and how long a query takes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankwell.collections import read_qrels, read_queries, read_run, unique, write_qrels, write_queries, write_run
from rankwell.collections.reading import Reading
from rankwell.core import Judgments, Queries, Run, Stage
from rankwell.index import Index, IndexWriter, with_metadata_names
from rankwell.studies.cells import CellStore
from rankwell.studies.data import Chosen
from rankwell.studies.steps import STEPS, Bench, Chain, JoiningKind, Step, stage_of
from rankwell.studies.steps.dense import make_vectors

INDEX, QUERIES, QRELS, RUN = "index", "queries.jsonl", "qrels.tsv", "run.trec"
WARM = 2  # queries before the clock counts
PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class IndexJob:
    """Read the collection, draw from it where the budget says so, and index it."""

    chosen: Chosen
    kind = "index"

    def configuration(self) -> dict[str, Any]:
        """The data and how they are cut."""
        return self.chosen.configuration()

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- it is the first
        """Index, queries and judgments, as all later cells take them."""
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
class Place:
    """The run of a finished cell, cut to its best documents where `cut` says so."""

    key: str
    cut: int | None = None

    def run(self, store: CellStore) -> Run:
        """Read it."""
        found = read_run(store.path(self.key) / RUN)
        return found if self.cut is None else found.top(self.cut)


@dataclass(frozen=True)
class Ground:
    """The index that a job works on, and what else it needs to know of the collection."""

    index: str  # the key of the index's cell
    data: str
    source: Path | None
    models: tuple[tuple[str, str], ...] = ()  # trained by the study: name, key of the cell

    def bench(self, store: CellStore, threads: int, *, scores: bool = True) -> Bench:
        """The bench for steps."""
        folder = store.path(self.index)
        models = {name: str(store.path(key) / "model") for name, key in self.models}
        kept = store.scores if scores else False
        return Bench(Index.open(folder / INDEX), judgments_of(store, self.index), self.source, kept, threads, models)

    def start(self, store: CellStore, bench: Bench) -> Run:
        """The queries, and no documents yet."""
        return Run.of_queries(queries_of(store, self.index), bench.index.documents)


@dataclass(frozen=True)
class VectorsJob:
    """Vectors of all documents; they lie in the index, whose writer keeps what was done before a kill."""

    ground: Ground
    step: Step
    model: str  # its fingerprint
    kind = "vectors"

    def configuration(self) -> dict[str, Any]:
        """The encoder, and what is encoded."""
        encoded = {name: self.step[name] for name in ("model", "pooling", "layer", "document", "precision")}
        return {**encoded, "graph": self.step["method"] == "hnsw", "weights": self.model, "data": self.ground.data}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- they go elsewhere
        """Encode what has no vector yet."""
        begun = time.perf_counter()
        count = make_vectors(self.step, self.ground.bench(store, threads))
        return {"documents": count, "encode_seconds": time.perf_counter() - begun}


@dataclass(frozen=True)
class RunJob:
    """One step of a pipeline: from the run of the step before (or of several) to the next."""

    ground: Ground
    before: Chain
    step: Step
    given: Place | None = None
    beside: tuple[Place, ...] = ()
    model: str | None = None  # fingerprints of what the step reads besides the index
    kind = "run"

    def configuration(self) -> dict[str, Any]:
        """The step, and how deep it looked into what it was given."""
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
    """How long a query takes from its words to its ranking, one after the other, with nothing remembered."""

    ground: Ground
    chain: Chain
    queries: int
    models: tuple[str, ...] = ()
    cores: int = os.cpu_count() or 1
    kind = "latency"

    def configuration(self) -> dict[str, Any]:
        """The whole line; and the machine's cores, because another machine has other latencies."""
        steps = [step.configuration() for step in self.chain]
        return {"steps": steps, "queries": self.queries, "weights": list(self.models), "cores": self.cores}

    def work(self, store: CellStore, folder: Path, threads: int) -> dict[str, Any]:  # noqa: ARG002 -- figures only
        """Ask queries one by one."""
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
    """A stored run with the texts that the next step reads, and all queries, those without a document too."""
    scores = {qid: dict(run[qid]) if qid in run else {} for qid in start.qids}
    return Run.from_dict(scores, tag=run.tag, queries=start.queries, documents=start.documents)


def _counted(stage: Stage | None) -> dict[str, Any]:
    """What a re-ranker counted."""
    tally = getattr(stage, "tally", None) or getattr(getattr(stage, "reranker", None), "tally", None)
    if tally is None:
        return {}
    speed = tally.scored / tally.seconds if tally.scored and tally.seconds else None
    return {"pairs": tally.pairs, "scored": tally.scored, "score_seconds": tally.seconds, "pairs_per_second": speed}
