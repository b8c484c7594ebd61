"""Runs without ranking: a stored run, and all judged documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from rankwell.collections import read_run
from rankwell.core import Judgments, RankwellError, Run, Stage
from rankwell.core.fingerprint import fingerprint_file
from rankwell.index import Index
from rankwell.studies.steps.step import REQUIRED, Chain, Step, StepContext, StepKind, setting


@dataclass(frozen=True)
class Stored(Stage):
    """A run file as a stage: its documents for the queries."""

    file: Path
    index: Index = field(repr=False)
    strangers: bool = False  # whether it may have documents that the collection lacks

    def apply(self, run: Run) -> Run:
        """Read the run of these queries from the file."""
        found = read_run(self.file)
        known = self.index.documents
        lost = next((docno for qid in run.qids if qid in found for docno, _ in found[qid] if docno not in known), None)
        if lost is not None and not self.strangers:
            raise RankwellError(f"{self.file}: expected documents of the collection, found {lost}, which it lacks")
        scores = {qid: dict(found[qid]) if qid in found else {} for qid in run.qids}
        return replace(Run.from_dict(scores, tag=found.tag), queries=run.queries, documents=known)


class StoredRun(StepKind):
    """A stored run, for collections that come with runs and for other systems' runs."""

    name = "run"
    about = "a stored run, which lies in the collection's folder or anywhere else: run('runs/BM25.trec')"
    parameters = (setting("file", "The run's file.", default=REQUIRED),)
    main = "file"
    begins = True

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The stage that reads the file when it is run."""
        return Stored(file_of(step, bench.source), bench.index)


class SystemRun(StoredRun):
    """PubMed's own run (systematic-review study); records outside the reviews in it count as not relevant."""

    name = "system"
    about = "a stored run of a whole search engine: documents that the collection lacks stay in it, and nothing follows"

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The stage that reads the file when it is run."""
        return Stored(file_of(step, bench.source), bench.index, strangers=True)


STORED = (StoredRun.name, SystemRun.name)


def file_of(step: Step, source: Path | None) -> Path:
    """The file of a stored run; raises where it is missing."""
    file = (source or Path()) / Path(step["file"]).expanduser()
    if not file.is_file():
        raise RankwellError(f"{file}: expected a stored run, found nothing there")
    return file


def fingerprint_of_run(step: Step, source: Path | None) -> str:
    """A fingerprint of the file's content."""
    return fingerprint_file(file_of(step, source))


@dataclass(frozen=True)
class Pool(Stage):
    """All judged documents of each query with the same score, for measuring re-rankers by AUC."""

    judgments: Judgments = field(repr=False)
    index: Index = field(repr=False)

    def apply(self, run: Run) -> Run:
        """The judged documents that are in the index."""
        known = self.index.documents
        scores = {qid: {docno: 0.0 for docno in self.judgments.get(qid, {}) if docno in known} for qid in run.qids}
        return replace(Run.from_dict(scores, tag="judged"), queries=run.queries, documents=known)


class JudgedDocuments(StepKind):
    """All judged documents; the COVID-19 study measures AUC over judged pairs."""

    name = "judged"
    about = "all judged documents of each query in no order, for a re-ranker to tell apart"
    begins = True

    def stage(self, step: Step, bench: StepContext, before: Chain) -> Stage:  # noqa: ARG002 -- a first stage
        """The stage over the collection's judgments."""
        return Pool(bench.judgments, bench.index)
