"""Runs that need no ranking: a stored one, and all documents that were judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from rankwell.collections import read_run
from rankwell.core import Judgments, RankwellError, Run, Stage
from rankwell.core.fingerprint import fingerprint_file
from rankwell.index import Index
from rankwell.studies.steps.step import REQUIRED, Bench, Chain, Parameter, Step, StepKind


@dataclass(frozen=True)
class Stored(Stage):
    """The documents that a file has for the queries."""

    file: Path
    index: Index = field(repr=False)
    strangers: bool = False  # whether it may have documents that the collection lacks

    def apply(self, run: Run) -> Run:
        """Read the file."""
        found = read_run(self.file)
        known = self.index.documents
        lost = next((docno for qid in run.qids if qid in found for docno, _ in found[qid] if docno not in known), None)
        if lost is not None and not self.strangers:
            raise RankwellError(f"{self.file}: expected documents of the collection, found {lost}, which it lacks")
        scores = {qid: dict(found[qid]) if qid in found else {} for qid in run.qids}
        return replace(Run.from_dict(scores, tag=found.tag), queries=run.queries, documents=known)


class StoredRun(StepKind):
    """For collections that come with runs, and for other systems' runs."""

    name = "run"
    about = "a stored run, which lies in the collection's folder or anywhere else: run('runs/BM25.trec')"
    parameters = (Parameter("file", "the file", str, REQUIRED),)
    main = "file"
    begins = True

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """Read when it is asked for."""
        return Stored(file_of(step, bench.source), bench.index)


class SystemRun(StoredRun):
    """S3 ranks with PubMed itself, which finds more than the records of a review: these were never relevant to it."""

    name = "system"
    about = "a stored run of a whole search engine: documents that the collection lacks stay in it, and nothing follows"

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """Read when it is asked for."""
        return Stored(file_of(step, bench.source), bench.index, strangers=True)


STORED = (StoredRun.name, SystemRun.name)


def file_of(step: Step, source: Path | None) -> Path:
    """The file of a stored run, which must be there."""
    file = (source or Path()) / Path(step["file"]).expanduser()
    if not file.is_file():
        raise RankwellError(f"{file}: expected a stored run, found nothing there")
    return file


def fingerprint_of_run(step: Step, source: Path | None) -> str:
    """A name for the file's content."""
    return fingerprint_file(file_of(step, source))


@dataclass(frozen=True)
class Pool(Stage):
    """Every judged document of each query, all with the same score: what re-rankers tell apart by AUC."""

    judgments: Judgments = field(repr=False)
    index: Index = field(repr=False)

    def apply(self, run: Run) -> Run:
        """The documents that are in the index."""
        known = self.index.documents
        scores = {qid: {docno: 0.0 for docno in self.judgments.get(qid, {}) if docno in known} for qid in run.qids}
        return replace(Run.from_dict(scores, tag="judged"), queries=run.queries, documents=known)


class JudgedDocuments(StepKind):
    """S0 measures AUC over judged pairs."""

    name = "judged"
    about = "all judged documents of each query in no order, for a re-ranker to tell apart"
    begins = True

    def stage(self, step: Step, bench: Bench, before: Chain) -> Stage:  # noqa: ARG002 -- it begins
        """Over the judgments of the collection."""
        return Pool(bench.judgments, bench.index)
