"""Convert files from one format to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwell.collections import any_format
from rankwell.collections.any_format import GUESS, recognised
from rankwell.collections.collection import BUNDLED, IRDS, open_collection
from rankwell.collections.columns import ColumnChoice
from rankwell.collections.formats import json_scores
from rankwell.collections.reading import Reading, unique
from rankwell.collections.sample import SamplePart, write_sub_collections
from rankwell.core import ParameterError, RankwellError

QUERY_NAMES = ("quer", "topic", ".qry")  # in names of files with queries, where the content is ambiguous


@dataclass(frozen=True)
class Conversion:
    """A conversion with its options; None is guessed."""

    source: str
    out: Path
    kind: str | None = None
    read_as: str | None = None
    write_as: str | None = None
    split: str | None = None
    columns: ColumnChoice = GUESS
    drop_negative: bool = False

    def converted(self, reading: Reading) -> str:
        """Convert, and return one line on what was written."""
        kind = self.kind or kind_of(self.source)
        if kind not in KINDS:
            raise ParameterError("--kind", expected=f"one of {', '.join(KINDS)}", found=kind)
        return f"{KINDS[kind](self, reading)} -> {self.out}"

    def sampled(self, parts: Sequence[SamplePart], seed: int, reading: Reading) -> str:
        """Sample sub-collections of a collection, and return a line on each."""
        collection = open_collection(self.source, self.read_as)
        samples = write_sub_collections(collection, parts, self.out, seed=seed, split=self.split, reading=reading)
        sizes = (f"{s.part.name}: {len(s.qids):,} queries, {len(s.docnos):,} documents" for s in samples)
        return f"{'; '.join(sizes)}; seed {seed} -> {self.out}"


def kind_of(source: str) -> str:
    """The kind of a source: collection, documents, queries, judgments or run."""
    if source == BUNDLED or source.startswith(IRDS) or Path(source).is_dir():
        return "collection"
    path = Path(source)
    if "qrel" in path.name.lower() and recognised(path, [json_scores.QRELS]):  # JSON runs look the same
        return "qrels"
    if recognised(path, any_format.RUN_FORMATS):
        return "run"
    if recognised(path, any_format.QRELS_FORMATS):
        return "qrels"
    queries, documents = recognised(path, any_format.QUERY_FORMATS), recognised(path, any_format.DOCUMENT_FORMATS)
    if queries and (not documents or any(part in path.name.lower() for part in QUERY_NAMES)):
        return "queries"
    if documents:
        return "documents"
    raise RankwellError(f"{source}: cannot tell what this holds: say it with --kind ({', '.join(KINDS)})")


def _collection(job: Conversion, reading: Reading) -> str:
    """Write a collection as a BEIR folder, or only its documents into a file."""
    if job.write_as not in (None, "beir") or (job.write_as is None and job.out.suffix):
        return _documents(job, reading)
    if job.out.is_dir() and any(job.out.iterdir()):
        raise RankwellError(f"{job.out}: expected an empty folder or none, found files")
    collection = open_collection(job.source, job.read_as)
    documents = unique(collection.documents(reading, job.columns), reading, job.source)
    any_format.write_documents(job.out, reading.progress.track(documents), "beir")
    said = [f"{reading.progress.count:,} documents"]
    if collection.read_queries:
        queries = collection.queries(job.split, reading)
        any_format.write_queries(job.out / "queries.jsonl", queries, "beir")
        said.append(f"{len(queries):,} queries")
    for split in collection.splits:
        judgments = collection.judgments(split, reading)
        any_format.write_qrels(job.out / "qrels" / f"{split}.tsv", judgments, "beir")
        said.append(f"{judgments.count:,} judgments ({split})")
    return ", ".join(said)


def _documents(job: Conversion, reading: Reading) -> str:
    collection = open_collection(job.source, job.read_as)
    documents = unique(collection.documents(reading, job.columns), reading, job.source)
    write_as = job.write_as or (None if job.out.suffix else "beir")
    any_format.write_documents(job.out, reading.progress.track(documents), write_as)
    return f"{reading.progress.count:,} documents"


def _queries(job: Conversion, reading: Reading) -> str:
    queries = any_format.read_queries(job.source, job.read_as, reading=reading)
    any_format.write_queries(job.out, queries, job.write_as)
    return f"{len(queries):,} queries"


def _qrels(job: Conversion, reading: Reading) -> str:
    judgments = any_format.read_qrels(job.source, job.read_as, drop_negative=job.drop_negative, reading=reading)
    any_format.write_qrels(job.out, judgments, job.write_as)
    return f"{judgments.count:,} judgments of {len(judgments):,} queries"


def _run(job: Conversion, reading: Reading) -> str:
    run = any_format.read_run(job.source, job.read_as, reading=reading)
    any_format.write_run(job.out, run, job.write_as)
    return f"a run of {len(run.qids):,} queries, {len(run):,} documents"


KINDS: dict[str, Callable[[Conversion, Reading], str]] = {
    "collection": _collection,
    "documents": _documents,
    "queries": _queries,
    "qrels": _qrels,
    "run": _run,
}
